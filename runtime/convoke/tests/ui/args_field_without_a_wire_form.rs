#![allow(unused)]

use convoke::prelude::*;

pub struct Place;

#[args]
pub struct Take {
    pub place: Place,
}

fn main() {}
