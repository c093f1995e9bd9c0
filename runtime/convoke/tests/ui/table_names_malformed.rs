#![allow(unused)]

use convoke::prelude::*;

#[table(name = "", prefix = "")]
pub struct Empty {
    pub name: String,
}

#[table(name = "user_rows", prefix = "User")]
pub struct User {
    pub name: String,
}

#[table(name = "x", prefix = "user_", color = "red")]
pub struct Tail {
    pub name: String,
}

fn main() {}
