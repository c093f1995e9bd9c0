#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    pub limit: i64,
}


#[query]
pub fn list(ctx: &QueryCtx, Take { limit }: Take) -> Result<()> {
    Ok(())
}

fn main() {}
