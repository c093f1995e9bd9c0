#![allow(unused)]

use convoke::prelude::*;

#[args]
pub struct Take {
    pub team_id: String,
}

fn member(ctx: &impl Read, team: i64) -> Result<()> {
    Ok(())
}

#[action(rights = member(args.team_id.as_str()))]
pub async fn invite(ctx: &ActionCtx, member: (), args: Take) -> Result<()> {
    Ok(())
}

fn main() {}
