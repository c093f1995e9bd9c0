#![allow(unused)]

use convoke::prelude::*;

struct Service;

impl Service {
    #[query]
    pub fn list(ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }

    #[mutation]
    pub fn add(&self, ctx: &mut MutationCtx) -> Result<()> {
        Ok(())
    }
}

mod inner {
    use convoke::prelude::*;

    /// It is indented, but a function of a module.
    #[query]
    pub fn count(ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }
}

fn main() {}
