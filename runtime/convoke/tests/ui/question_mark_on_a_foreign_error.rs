#![allow(unused)]

use convoke::prelude::*;

#[derive(Debug)]
pub struct Own;

impl From<Own> for Error {
    fn from(_: Own) -> Self {
        Error::conflict("It is taken")
    }
}

fn own() -> Result<(), Own> {
    Err(Own)
}

#[query]
pub fn number(ctx: &QueryCtx) -> Result<i64> {
    own()?;
    Ok("7".parse::<i64>()?)
}

#[query]
pub fn file(ctx: &QueryCtx) -> Result<String> {
    let text = std::fs::read_to_string("a").map_err(Error::internal)?;
    Ok(std::fs::read_to_string(text)?)
}

fn main() {}
