#![allow(unused)]

use convoke::prelude::*;

struct Service;

impl Service {
    #[query]
    pub fn list(ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }
}

fn main() {}
