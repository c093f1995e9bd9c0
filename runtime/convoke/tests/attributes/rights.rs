//! `form = …` and `rights = …`: what runs before a body, in which order, and what the body receives.

use convoke::testing::{Reply, TestApp};
use convoke_calls::function::Function;
use serde_json::{Value, json};

pub(crate) mod team {
    use convoke::Context;
    use convoke::prelude::*;

    #[table(name = "members", prefix = "member")]
    #[index(by_team_subject(team, subject), unique)]
    pub(crate) struct Member {
        pub team: String,
        pub subject: String,
    }

    #[args]
    pub(crate) struct Plan {
        pub team: String,
        pub from: i64,
        pub to: i64,
    }

    fn in_order(_ctx: &impl Context, plan: &Plan) -> Result<()> {
        if plan.from <= plan.to { Ok(()) } else { Err(Error::invalid_argument("to", "to must not be before from")) }
    }

    fn signed_in(ctx: &impl Read) -> Result<String> {
        let identity = ctx.identity().ok_or_else(|| Error::unauthenticated("Sign in first"))?;
        ctx.charge_call()?;
        Ok(identity.subject.clone())
    }

    fn member(ctx: &impl Read, team: &str) -> Result<Doc<Member>> {
        let subject = signed_in(ctx)?;
        let row = ctx.db().query(Member::by_team_subject).eq(team).eq(&subject).unique()?;
        row.ok_or_else(|| Error::forbidden("Not a member"))
    }

    #[args]
    pub(crate) struct Join {
        pub team: String,
    }

    #[mutation(rights = signed_in)]
    pub(crate) fn join(ctx: &mut MutationCtx, subject: String, args: Join) -> Result<Id<Member>> {
        Ok(ctx.db_mut().insert(Member { team: args.team, subject })?)
    }

    #[query(rights = signed_in)]
    pub(crate) fn teams(ctx: &QueryCtx, subject: String) -> Result<usize> {
        Ok(ctx.db().scan::<Member>().take(10)?.iter().filter(|row| row.subject == subject).count())
    }

    #[query(form = in_order(&args), rights = member(&args.team))]
    pub(crate) fn read(_ctx: &QueryCtx, member: Doc<Member>, plan: Plan) -> Result<String> {
        Ok(format!("{} {}", member.subject, plan.to))
    }

    #[mutation(form = in_order(&args), rights = member(&args.team))]
    pub(crate) fn leave(ctx: &mut MutationCtx, member: Doc<Member>, args: Plan) -> Result<String> {
        ctx.db_mut().delete(member.id())?;
        Ok(format!("{} {}", member.subject, args.to))
    }

    #[action(form = in_order(&args), rights = member(&args.team))]
    pub(crate) async fn work(_ctx: &ActionCtx, member: Doc<Member>, args: Plan) -> Result<String> {
        Ok(format!("{} {}", member.subject, args.to))
    }

    /// Calls a function that has rights of its own.
    #[mutation]
    pub(crate) fn leave_for_another(ctx: &mut MutationCtx, args: Plan) -> Result<String> {
        ctx.run::<leave>(args)
    }
}

fn refusal(reply: &Reply) -> (&str, &str) {
    (reply.code(), reply.message())
}

fn plan(team: &str, to: i64) -> Value {
    json!({ "team": team, "from": 2, "to": to })
}

#[test]
fn form_is_checked_before_rights_and_body() {
    for path in ["rights/team/read", "rights/team/work", "rights/team/leave", "rights/team/leaveForAnother"] {
        let app = TestApp::new();
        let (nobody, ada) = (app.nobody(), app.user("ada"));
        ada.call("rights/team/join", json!({ "team": "red" })).value();

        assert_eq!(refusal(&nobody.call(path, plan("red", 1))), ("INVALID_ARGUMENT", "to must not be before from"));
        assert_eq!(refusal(&nobody.call(path, plan("red", 3))), ("UNAUTHENTICATED", "Sign in first"), "{path}");
        assert_eq!(refusal(&app.user("bob").call(path, plan("red", 3))), ("FORBIDDEN", "Not a member"), "{path}");
        assert_eq!(refusal(&ada.call(path, plan("blue", 3))), ("FORBIDDEN", "Not a member"), "{path}");
        assert_eq!(app.count::<team::Member>(), 1, "{path}");
        assert_eq!(ada.call(path, plan("red", 3)).value(), &json!("ada 3"), "{path}");
    }
}

#[test]
fn rights_work_without_arguments() {
    let app = TestApp::new();
    app.user("ada").call("rights/team/join", json!({ "team": "red" })).value();
    assert_eq!(app.user("ada").call("rights/team/teams", json!({})).value(), 1);
    assert_eq!(app.user("bob").call("rights/team/teams", json!({})).value(), 0);
    assert_eq!(app.nobody().call("rights/team/teams", json!({})).code(), "UNAUTHENTICATED");
}

#[test]
fn lost_rights_end_a_live_query() {
    let app = TestApp::new();
    let ada = app.user("ada");
    ada.call("rights/team/join", json!({ "team": "red" })).value();
    let mut seen = ada.watch("rights/team/read", plan("red", 3));
    assert_eq!(seen.next().value(), &json!("ada 3"));
    ada.call("rights/team/leave", plan("red", 3)).value();
    assert_eq!(refusal(&seen.next()), ("FORBIDDEN", "Not a member"));
}

#[test]
fn name_of_the_rights_is_registered() {
    assert_eq!(team::join::DEF.rights, Some("signed_in"));
    assert_eq!(team::work::DEF.rights, Some("member"));
    assert_eq!(team::leave_for_another::DEF.rights, None);
}
