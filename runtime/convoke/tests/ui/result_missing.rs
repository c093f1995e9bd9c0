#![allow(unused)]

use convoke::prelude::*;

#[mutation]
pub fn save(ctx: &mut MutationCtx) {}

fn main() {}
