#![allow(unused)]

use convoke::prelude::*;

pub struct Take {
    pub limit: i64,
}

#[query]
pub fn list(ctx: &QueryCtx, args: Take) -> Result<()> {
    Ok(())
}

fn main() {}
