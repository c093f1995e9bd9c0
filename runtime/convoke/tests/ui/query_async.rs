#![allow(unused)]

use convoke::prelude::*;

#[query]
pub async fn list(ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

fn main() {}
