#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    pub limit: i64,
}

fn within(ctx: &impl Read, limit: i64) -> Result<()> {
    Ok(())
}

#[query(rights = within(args.limit))]
pub fn list(ctx: &QueryCtx, args: Take) -> Result<i64> {
    Ok(args.limit)
}

fn main() {}
