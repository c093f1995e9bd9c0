#![allow(unused)]

use convoke::prelude::*;

#[table(name = "users", prefix = "user")]
pub struct User {
    pub name: String,
}

#[table(name = "members", prefix = "member")]
#[index(by_user(user_id, name))]
#[index(by_name(name), unique)]
pub struct Member {
    pub user_id: Id<User>,
    pub name: String,
}


fn find(ctx: &QueryCtx) -> Result<()> {
    ctx.db().query(Member::by_name).unique()?;
    Ok(())
}

fn main() {}
