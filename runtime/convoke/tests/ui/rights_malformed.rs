#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    pub limit: i64,
}

fn user(ctx: &impl Read) -> Result<String> {
    Err(Error::unauthenticated("Sign in first"))
}

#[query(rights)]
pub fn without(ctx: &QueryCtx) -> Result<i64> {
    Ok(0)
}

#[query(rights = "user")]
pub fn quoted(ctx: &QueryCtx) -> Result<i64> {
    Ok(0)
}

#[query(rights = user)]
pub fn borrowed(ctx: &QueryCtx, user: &str, args: Take) -> Result<i64> {
    Ok(0)
}

#[query(rights = user)]
pub fn taken_apart(ctx: &QueryCtx, (user, role): (String, String), args: Take) -> Result<i64> {
    Ok(0)
}

#[query(rights = user)]
pub fn surplus(ctx: &QueryCtx, user: String, args: Take, more: i64) -> Result<i64> {
    Ok(0)
}

fn main() {}
