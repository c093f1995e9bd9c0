#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn list(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

fn main() {}
