#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    pub limit: i64,
}


#[mutation(internal)]
#[cron("* * * * *")]
pub fn save(ctx: &mut MutationCtx, args: Take) -> Result<()> {
    Ok(())
}

#[cron("* * * * *")]
#[query]
pub fn list(ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

fn main() {}
