#![allow(unused)]

use convoke::prelude::*;

use convoke::MutationCtx as Ctx;

#[query]
pub fn list(ctx: &Ctx) -> Result<()> {
    Ok(())
}

fn main() {}
