#![allow(unused)]

use convoke::prelude::*;

#[mutation]
async fn save(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

fn main() {}
