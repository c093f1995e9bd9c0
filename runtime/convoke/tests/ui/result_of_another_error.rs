#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn count(ctx: &QueryCtx) -> std::result::Result<i64, String> {
    Ok(0)
}

fn main() {}
