#![allow(unused)]

use convoke::prelude::*;

fn is_signed_in(ctx: &impl Read) -> bool {
    ctx.identity().is_some()
}

#[query(rights = is_signed_in)]
pub fn count(ctx: &QueryCtx, is_signed_in: bool) -> Result<i64> {
    Ok(0)
}

fn main() {}
