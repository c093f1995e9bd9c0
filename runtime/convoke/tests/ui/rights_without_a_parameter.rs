#![allow(unused)]

use convoke::prelude::*;

fn signed_in(ctx: &impl Read) -> Result<String> {
    Err(Error::unauthenticated("Sign in first"))
}

#[query(rights = signed_in)]
pub fn count(ctx: &QueryCtx) -> Result<i64> {
    Ok(0)
}

fn main() {}
