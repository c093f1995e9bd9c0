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


#[mutation]
pub fn clear(ctx: &mut MutationCtx) -> Result<()> {
    let query = ctx.db().scan::<User>();
    ctx.db_mut().insert(User { name: String::new() })?;
    query.take(1)?;
    Ok(())
}

fn main() {}
