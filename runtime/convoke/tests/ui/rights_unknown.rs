#![allow(unused)]

use convoke::prelude::*;

#[query(rights = singed_in)]
pub fn count(ctx: &QueryCtx, user: String) -> Result<i64> {
    Ok(0)
}

fn main() {}
