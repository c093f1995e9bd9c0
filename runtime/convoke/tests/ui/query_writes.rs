#![allow(unused)]

use convoke::prelude::*;
use convoke::store::Table as _;

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


#[query]
pub fn add(ctx: &QueryCtx) -> Result<Id<User>> {
    Ok(ctx.db_mut().insert(User { name: String::new() })?)
}

#[query]
pub fn add_too(ctx: &QueryCtx) -> Result<Id<User>> {
    Ok(ctx.db().insert(User { name: String::new() })?)
}

#[query]
pub fn rename(ctx: &QueryCtx) -> Result<()> {
    let member = ctx.db().query(Member::by_name).eq("ada").unique()?.unwrap();
    ctx.db().patch(member.id(), |member| member.name = String::new())?;
    Ok(())
}

#[query]
pub fn change_beneath_the_types(ctx: &QueryCtx) -> Result<bool> {
    Ok(ctx.db().reader().update(User::DEF, 1, &[], &[])?)
}

fn main() {}
