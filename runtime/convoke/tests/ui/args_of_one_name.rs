#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    pub user_id: String,
    #[args(rename = "userId")]
    pub other: String,
}

fn main() {}
