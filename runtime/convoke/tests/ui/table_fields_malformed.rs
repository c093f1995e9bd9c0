#![allow(unused)]

use convoke::prelude::*;

#[table(name = "users", prefix = "user")]
pub struct User {
    pub _id: String,
    pub user_name: String,
    pub username: String,
    #[retired]
    pub old: String,
    #[default(5)]
    pub count: Option<i64>,
    #[default(vec![1])]
    pub list: Vec<i64>,
}

#[table(name = "none", prefix = "none")]
pub struct Nothing {}

fn main() {}
