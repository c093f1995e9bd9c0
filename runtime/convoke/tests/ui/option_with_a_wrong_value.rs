#![allow(unused)]

use convoke::prelude::*;

#[mutation(internal = true, rate = 5, rate = "x")]
pub fn save(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

fn main() {}
