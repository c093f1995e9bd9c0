#![allow(unused)]

use convoke::prelude::*;

#[table(name = "tasks", prefix = "task")]
#[index(by_points(points))]
#[index(by_title(title))]
pub struct Task {
    pub points: i64,
    pub title: Option<String>,
}

fn by_points(ctx: &QueryCtx) -> Result<u64> {
    Ok(ctx.db().query(Task::by_points).eq("x").count()?)
}

fn by_title(ctx: &QueryCtx) -> Result<u64> {
    Ok(ctx.db().query(Task::by_title).eq(7).count()?)
}

fn main() {}
