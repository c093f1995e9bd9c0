//! The queries of runs: who sees them, and what they show.

use convoke::Identity;
use convoke::prelude::*;
use convoke::testing::{ISSUER, TestApp};
use serde_json::{Value, json};

use super::functions::{note, refuse, text};

#[workflow]
pub(super) async fn shown(ctx: &WorkflowCtx) -> Result<()> {
    ctx.run::<note>(text("a")).await?;
    ctx.sleep(hours(1)).await?;
    ctx.run::<refuse>(text("b")).await
}

#[mutation]
pub(super) fn start_shown(ctx: &mut MutationCtx) -> Result<Id<Run>> {
    Ok(ctx.start::<shown>(NoArgs {})?.id())
}

#[test]
fn starter_and_admins_see_a_run() {
    let app = TestApp::new();
    let run: Value = app.user("ada").call("workflow/status/startShown", json!({})).into_value();
    app.run_due();
    let status = |caller: &convoke::testing::TestCaller<'_>| caller.call("workflows/status", json!({ "run": run }));
    let seen = status(&app.user("ada"));
    assert_eq!((seen.value()["state"].as_str(), seen.value()["stepsDone"].as_i64()), (Some("active"), Some(1)));
    assert_eq!(seen.value()["workflow"], "workflow/status/shown");
    let admin = Identity { issuer: ISSUER.to_owned(), subject: "root".to_owned(), ..Identity::default() };
    let admin = app.identity(Identity { roles: vec!["admin".to_owned()], ..admin });
    assert!(status(&admin).is_success() && status(&app.deploy_key(&["functions"])).is_success());
    for other in [app.user("bob"), app.nobody()] {
        status(&other).assert_refused(Code::NotFound, "No run has this id");
        let steps = other.call("workflows/steps", json!({ "run": run }));
        steps.assert_refused(Code::NotFound, "No run has this id");
    }
    app.advance(hours(2));
    let steps = app.user("ada").call("workflows/steps", json!({ "run": run })).value().clone();
    let kinds: Vec<_> = steps.as_array().unwrap().iter().map(|step| [&step["kind"], &step["state"]]).collect();
    assert_eq!(json!(kinds), json!([["run", "done"], ["sleep", "done"], ["run", "failed"]]));
    assert_eq!(steps[2]["error"], json!({ "code": "NOT_FOUND", "message": "There is no such thing" }));
    assert_eq!(status(&app.user("ada")).value()["error"]["code"], "NOT_FOUND");
}
