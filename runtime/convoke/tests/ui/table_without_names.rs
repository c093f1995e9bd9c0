#![allow(unused)]

use convoke::prelude::*;

#[table]
pub struct User {
    pub name: String,
}

fn main() {}
