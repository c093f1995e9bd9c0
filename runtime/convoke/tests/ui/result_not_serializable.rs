#![allow(unused)]

use convoke::prelude::*;

pub struct Found {
    pub name: String,
}

#[query]
pub fn find(ctx: &QueryCtx) -> Result<Vec<Found>> {
    Ok(Vec::new())
}

#[query]
pub fn first(ctx: &QueryCtx) -> Result<Found> {
    Ok(Found { name: String::new() })
}

fn main() {}
