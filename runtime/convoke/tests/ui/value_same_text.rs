#![allow(unused)]

use convoke::prelude::*;

#[value(rename_all = "Kebab")]
pub enum Shape {
    Circle,
    #[value(rename = "circle")]
    Round,
}

fn main() {}
