#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn list(ctx: &QueryCtx) -> Result<()> {
    ctx.run::<String>(NoArgs {})
}

fn main() {}
