#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn list(ctx: &QueryCtx, args: ()) -> Result<()> {
    Ok(())
}

fn main() {}
