#![allow(unused)]

use convoke::prelude::*;

#[value(text)]
pub struct Name(pub String);

fn main() {}
