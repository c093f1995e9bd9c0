#![allow(unused)]

use convoke::prelude::*;

#[mutation]
pub async fn save(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

fn main() {}
