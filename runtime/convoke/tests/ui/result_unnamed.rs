#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn list(ctx: &QueryCtx) -> Result<impl Iterator<Item = i64>> {
    Ok([1].into_iter())
}

fn main() {}
