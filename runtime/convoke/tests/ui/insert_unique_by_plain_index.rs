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


fn add(ctx: &mut MutationCtx, member: Member) -> Result<()> {
    ctx.db_mut().insert_unique(Member::by_user, member)?;
    Ok(())
}

fn main() {}
