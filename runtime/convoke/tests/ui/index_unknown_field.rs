#![allow(unused)]

use convoke::prelude::*;

#[table(name = "members", prefix = "member")]
#[index(by_user(usr_id))]
#[index(by_color(color), when(colour = "red"))]
pub struct Member {
    pub user_id: String,
    pub name: String,
}

fn main() {}
