#![allow(unused)]

use convoke::Context;
use convoke::prelude::*;

#[args]
pub struct Take {
    pub limit: i64,
}

fn within(ctx: &impl Context, args: &Take) -> Result<i64> {
    Ok(args.limit)
}

#[query(form = within(&args))]
pub fn list(ctx: &QueryCtx, args: Take) -> Result<i64> {
    Ok(args.limit)
}

fn main() {}
