#![allow(unused)]

use convoke::prelude::*;

#[query]
pub const unsafe extern "C" fn list(ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

fn main() {}
