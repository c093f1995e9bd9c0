#![allow(unused)]

use convoke::prelude::*;

#[table(name = "members", prefix = "member")]
#[index(by_user(user_id))]
#[index(by_user(user_id, name))]
#[index(by_both(name, name))]
pub struct Member {
    pub user_id: String,
    pub name: String,
}

fn main() {}
