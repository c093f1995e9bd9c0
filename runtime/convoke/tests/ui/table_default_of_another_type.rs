#![allow(unused)]

use convoke::prelude::*;

#[table(name = "users", prefix = "user")]
pub struct User {
    #[default(0)]
    pub share: f64,
}

#[table(name = "members", prefix = "member")]
pub struct Member {
    #[default("x")]
    pub count: i64,
}

fn main() {}
