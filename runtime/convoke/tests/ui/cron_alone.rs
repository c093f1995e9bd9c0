#![allow(unused)]

use convoke::prelude::*;

#[cron("* * * * *")]
pub fn save(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

fn main() {}
