#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn list(ctx: &impl Read) -> Result<()> {
    Ok(())
}

fn main() {}
