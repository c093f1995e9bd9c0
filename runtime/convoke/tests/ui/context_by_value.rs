#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn list(ctx: QueryCtx) -> Result<()> {
    Ok(())
}

fn main() {}
