#![allow(unused)]

use convoke::prelude::*;

#[value]
pub enum Shape {
    Circle(f64),
    Square { side: f64 },
}

#[value(rename_all = "camelCase")]
pub enum Moved {
    To { r#type: String },
    #[value(rename = "to")]
    Twice,
}

#[value(tag = "kind")]
pub enum Kind {
    First,
    Second,
}

#[value(tag = "", name = "move")]
pub enum Move {
    To { place: String },
    #[serde(other)]
    Other,
}

fn main() {}
