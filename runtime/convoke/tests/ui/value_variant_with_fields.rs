#![allow(unused)]

use convoke::prelude::*;

#[value]
pub enum Shape {
    Circle(f64),
    Square { side: f64 },
}

fn main() {}
