#![allow(unused)]

use convoke::prelude::*;

#[value(integer, min = 1)]
pub struct Name(String);

#[value(text)]
pub struct Flag(bool);

#[value]
pub struct Pair(String, String);

fn main() {}
