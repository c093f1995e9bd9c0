#![allow(unused)]

use convoke::prelude::*;

fn signed_in(ctx: &impl Read) -> Result<String> {
    Err(Error::unauthenticated("Sign in first"))
}

#[mutation(rights = signed_in)]
pub fn save(ctx: &mut MutationCtx, user: i64) -> Result<()> {
    Ok(())
}

fn main() {}
