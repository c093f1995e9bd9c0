#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take<T> {
    pub what: T,
}

fn main() {}
