#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    pub limit: i64,
}


#[query(identity_hook)]
pub fn look(ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

#[mutation(identity_hook)]
pub fn seen(ctx: &mut MutationCtx, args: Take) -> Result<()> {
    Ok(())
}

fn main() {}
