#![allow(unused)]

use convoke::prelude::*;

#[table(name = "members", prefix = "member")]
#[index(by_name(name), when(count = "five"))]
pub struct Member {
    pub name: String,
    pub count: i64,
}

fn main() {}
