#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    pub limit: i64,
}


#[query]
pub fn list(ctx: &QueryCtx, args: Take) -> Result<()> {
    Ok(())
}

#[query]
pub fn all(ctx: &QueryCtx) -> Result<()> {
    ctx.run::<list>(NoArgs {})
}

fn main() {}
