#![allow(unused)]

use convoke::prelude::*;

#[mutation(intrenal)]
pub fn save(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

fn main() {}
