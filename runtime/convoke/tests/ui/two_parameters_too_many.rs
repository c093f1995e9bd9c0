#![allow(unused)]

use convoke::prelude::*;

#[mutation]
pub fn save(ctx: &mut MutationCtx, args: NoArgs, name: String, age: i64) -> Result<()> {
    Ok(())
}

fn main() {}
