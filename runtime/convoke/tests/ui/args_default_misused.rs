#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    #[default(5)]
    pub limit: Option<i64>,
    #[default]
    pub size: i64,
    #[retired]
    pub offset: i64,
}

fn main() {}
