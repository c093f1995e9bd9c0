#![allow(unused)]

use convoke::prelude::*;

#[mutation(internal, admin)]
pub fn save(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

fn main() {}
