#![allow(unused)]

use convoke::prelude::*;

#[action]
pub async fn fetch(ctx: &ActionCtx) -> Result<()> {
    Ok(())
}

#[mutation]
pub fn save(ctx: &mut MutationCtx) -> Result<()> {
    ctx.run::<fetch>(NoArgs {})
}

fn main() {}
