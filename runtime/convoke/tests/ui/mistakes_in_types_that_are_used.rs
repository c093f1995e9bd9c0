#![allow(unused)]

use convoke::prelude::*;

// Each mistake has one message: functions that use the types are not rejected too.
#[table(name = "members", prefix = "member", color = "red")]
#[index(by_name(nane))]
#[index(by_count(count), unique, when(nickname is nul))]
pub struct Member {
    pub name: String,
    #[default(one two)]
    pub count: i64,
    #[serde(default)]
    pub nickname: Option<String>,
}

#[args(deny)]
pub struct Named {
    pub name: Name,
    pub role: Role,
}

#[value(max = 20, longest = 20)]
pub struct Name(String);

#[value(upper)]
#[derive(Copy)]
pub enum Role {
    Host,
    Guest,
}

#[query]
pub fn named(ctx: &QueryCtx, args: Named) -> Result<Vec<Doc<Member>>> {
    Ok(ctx.db().query(Member::by_name).eq(args.name.as_str()).take(10)?)
}

#[query]
pub fn counted(ctx: &QueryCtx) -> Result<Option<Id<Member>>> {
    Ok(ctx.db().query(Member::by_count).eq(1).unique()?.map(|member| member.id()))
}

#[mutation(rights = anybody)]
pub fn join(ctx: &mut MutationCtx, _: (), args: Named) -> Result<Id<Member>> {
    Ok(ctx.db_mut().insert(Member { name: args.name.to_string(), count: 1, nickname: None })?)
}

fn anybody(_: &impl Read) -> Result<()> {
    Ok(())
}

fn main() {}
