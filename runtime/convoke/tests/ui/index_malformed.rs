#![allow(unused)]

use convoke::prelude::*;

#[table(name = "members", prefix = "member")]
#[index]
#[index(by_user)]
#[index(by_none())]
#[index(by_name(name downward))]
#[index(by_old(old))]
#[index(open(name), when(name is null))]
#[index(shut(name), when(name is closed))]
#[index(fast(name), quick)]
pub struct Member {
    pub name: String,
    #[retired]
    pub old: Option<String>,
}

fn main() {}
