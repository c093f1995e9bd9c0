#![allow(unused)]

use convoke::prelude::*;

#[query]
pub struct List;

fn main() {}
