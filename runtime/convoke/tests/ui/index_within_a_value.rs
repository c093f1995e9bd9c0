#![allow(unused)]

use convoke::prelude::*;

#[value]
pub struct Estimate {
    pub hours: i64,
}

#[table(name = "tasks", prefix = "task")]
#[index(by_hours(estimate.hours))]
#[index(by_both(title, estimate.hours desc))]
pub struct Task {
    pub title: String,
    pub estimate: Estimate,
}

fn main() {}
