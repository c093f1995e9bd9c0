#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn list(ctx: &mut QueryCtx) -> Result<()> {
    Ok(())
}

fn main() {}
