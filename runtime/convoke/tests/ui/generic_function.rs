#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn list<T>(ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

fn main() {}
