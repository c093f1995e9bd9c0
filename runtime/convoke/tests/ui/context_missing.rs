#![allow(unused)]

use convoke::prelude::*;

#[query]
pub fn list() -> Result<()> {
    Ok(())
}

fn main() {}
