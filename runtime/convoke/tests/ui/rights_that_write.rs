#![allow(unused)]

use convoke::prelude::*;

fn seen(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

#[mutation(rights = seen)]
pub fn save(ctx: &mut MutationCtx, seen: ()) -> Result<()> {
    Ok(())
}

fn main() {}
