#![allow(unused)]

use convoke::prelude::*;

#[table(name = "tasks", prefix = "task")]
#[index(by_title(title))]
pub struct Task {
    pub title: String,
    pub is_done: bool,
}

fn open(ctx: &QueryCtx) -> Result<Vec<Doc<Task>>> {
    Ok(ctx.db().scan::<Task>().filter(|task| !task.is_done).take(10)?)
}

fn all(ctx: &QueryCtx) -> Result<Vec<Doc<Task>>> {
    Ok(ctx.db().query(Task::by_title).eq("a").collect::<Vec<_>>()?)
}

fn some(ctx: &QueryCtx) -> Result<Vec<Doc<Task>>> {
    Ok(ctx.db().query(Task::by_title).limit(10).take(10)?)
}

fn main() {}
