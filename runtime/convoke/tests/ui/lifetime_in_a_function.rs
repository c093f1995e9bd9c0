#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn list<'a>(ctx: &'a QueryCtx) -> Result<()> {
    Ok(())
}

fn main() {}
