#![allow(unused)]

use convoke::prelude::*;

#[table(name = "tasks", prefix = "task")]
pub struct Task {
    pub title: String,
}

#[action]
pub async fn read(ctx: &ActionCtx) -> Result<usize> {
    Ok(ctx.db().scan::<Task>().take(10)?.len())
}

#[action]
pub async fn write(ctx: &ActionCtx) -> Result<Id<Task>> {
    Ok(ctx.db_mut().insert(Task { title: String::new() })?)
}

fn titles(ctx: &impl Read) -> Result<Vec<String>> {
    Ok(ctx.db().scan::<Task>().take(10)?.into_iter().map(|task| task.title.clone()).collect())
}

#[action]
pub async fn list(ctx: &ActionCtx) -> Result<Vec<String>> {
    titles(ctx)
}

fn main() {}
