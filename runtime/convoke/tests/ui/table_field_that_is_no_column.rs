#![allow(unused)]

use convoke::prelude::*;

pub struct Place;

#[table(name = "users", prefix = "user")]
pub struct User {
    pub place: Place,
}

fn main() {}
