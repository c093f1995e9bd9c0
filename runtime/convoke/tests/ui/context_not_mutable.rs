#![allow(unused)]

use convoke::prelude::*;

#[mutation]
pub fn save(ctx: &MutationCtx) -> Result<()> {
    Ok(())
}

fn main() {}
