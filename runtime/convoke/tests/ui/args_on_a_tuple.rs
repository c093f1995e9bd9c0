#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take(i64);

fn main() {}
