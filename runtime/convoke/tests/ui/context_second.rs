#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    pub limit: i64,
}


#[query]
pub fn list(args: Take, ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

fn main() {}
