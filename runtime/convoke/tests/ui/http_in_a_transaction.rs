#![allow(unused)]

use convoke::prelude::*;

#[mutation]
pub fn notify(ctx: &mut MutationCtx) -> Result<()> {
    let client = ctx.http()?;
    Ok(())
}

#[query]
pub fn fetch(ctx: &QueryCtx) -> Result<()> {
    let client = ctx.http()?;
    Ok(())
}

fn main() {}
