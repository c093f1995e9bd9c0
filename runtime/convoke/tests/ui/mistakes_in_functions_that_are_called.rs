#![allow(unused)]

use convoke::prelude::*;

// Each mistake has one message: functions that call the functions are not rejected too.
#[args]
pub struct Named {
    pub name: String,
}

#[query(intern)]
pub fn name(ctx: &QueryCtx, args: Named) -> Result<String> {
    Ok(args.name)
}

#[mutation(rate = "")]
fn rename(ctx: &mut MutationCtx, args: &Named) -> Result<String> {
    ctx.run::<name>(args.clone())
}

#[action(tries = "three")]
pub async fn send(ctx: ActionCtx, args: Named) -> Result<String> {
    ctx.run::<rename>(args).await
}

#[workflow(versoin = 2)]
pub async fn invite(ctx: &WorkflowCtx, args: Named) -> Result<String> {
    ctx.run::<send>(args).await
}

#[cron("* * *")]
#[mutation(internal)]
pub fn begin(ctx: &mut MutationCtx) -> Result<()> {
    ctx.start::<invite>(Named { name: String::new() })?;
    Ok(())
}

fn main() {}
