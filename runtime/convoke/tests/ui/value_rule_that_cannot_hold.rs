#![allow(unused)]

use convoke::prelude::*;

#[value(min = 5, max = 1, pattern = "[", check = "f")]
pub struct Name(String);

#[value(too_long = "too long", length = 5)]
pub struct Bio(String);

#[value(trim)]
pub struct Age(i64);

fn main() {}
