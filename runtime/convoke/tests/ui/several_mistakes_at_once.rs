#![allow(unused)]

use convoke::prelude::*;

#[mutation(internal, admin, loud)]
pub async fn save<T>(ctx: &QueryCtx, args: &T, more: i64) {}

fn main() {}
