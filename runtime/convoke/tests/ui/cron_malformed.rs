#![allow(unused)]

use convoke::prelude::*;

#[mutation(internal)]
#[cron("* * * *")]
#[cron("61 * * * *")]
#[cron]
pub fn save(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

fn main() {}
