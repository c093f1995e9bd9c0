#![allow(unused)]

use convoke::prelude::*;

fn check(text: &str) -> bool {
    text.is_empty()
}

#[value(text, check = check)]
pub struct Name(String);

fn main() {}
