#![allow(unused)]

use convoke::prelude::*;

#[mutation]
pub fn save(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

#[query]
pub fn list(ctx: &QueryCtx) -> Result<()> {
    ctx.run::<save>(NoArgs {})
}

fn main() {}
