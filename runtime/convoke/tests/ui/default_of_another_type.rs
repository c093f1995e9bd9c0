#![allow(unused)]

use convoke::prelude::*;

#[value(min = 13, max = 120)]
pub struct Age(i64);

#[value]
pub enum State {
    Open,
    Done,
}

#[table(name = "users", prefix = "user")]
pub struct User {
    #[default("x")]
    pub count: i64,
    #[default("old")]
    pub age: Age,
    #[default(vec![])]
    pub points: f64,
}

#[args]
pub struct Take {
    #[default("x")]
    pub count: i64,
    #[default(1.5)]
    pub age: Age,
    #[default(7)]
    pub tags: Vec<String>,
}

#[table(name = "tasks", prefix = "task")]
pub struct Task {
    #[default(vec![])]
    pub tags: Vec<String>,
    #[default(20)]
    pub age: Age,
    #[default(1)]
    pub share: f64,
    #[default("open")]
    pub state: State,
    #[default(State::Done)]
    pub other: State,
    #[default("none")]
    pub name: String,
    #[default(-5)]
    pub count: i64,
    #[default(1_767_225_600_000)]
    pub at: Millis,
}

#[args]
pub struct Add {
    #[default(vec![])]
    pub tags: Vec<String>,
    #[default(20)]
    pub age: Age,
    #[default(1)]
    pub share: f64,
    #[default("open")]
    pub state: State,
    #[default(State::Done)]
    pub other: State,
    #[default("none")]
    pub name: String,
    #[default(-5)]
    pub count: i64,
    #[default(1_767_225_600_000)]
    pub at: Millis,
}

fn main() {}
