#![allow(unused)]

use convoke::prelude::*;

fn helper(ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

#[query]
pub fn list(ctx: &QueryCtx) -> Result<()> {
    ctx.run::<helper>(NoArgs {})
}

fn main() {}
