#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    #[serde(rename = "type")]
    pub kind: String,
    #[cfg(unix)]
    pub unix: bool,
}

fn main() {}
