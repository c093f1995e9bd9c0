#![allow(unused)]

use convoke::prelude::*;

#[action]
pub fn fetch(ctx: &ActionCtx) -> Result<()> {
    Ok(())
}

fn main() {}
