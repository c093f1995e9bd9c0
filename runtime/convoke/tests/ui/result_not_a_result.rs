#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn count(ctx: &QueryCtx) -> i64 {
    0
}

fn main() {}
