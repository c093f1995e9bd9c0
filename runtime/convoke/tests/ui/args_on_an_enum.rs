#![allow(unused)]

use convoke::prelude::*;

#[args]
pub enum Take {
    All,
}

fn main() {}
