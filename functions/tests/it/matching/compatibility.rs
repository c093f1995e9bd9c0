//! `calculateCompatibilityScore`.

use convoke::Code;
use convoke::testing::TestApp;
use serde_json::json;

use crate::rights::Call;
use crate::support::{admin, id_of, member, onboarding, with};

inventory::submit!(Call::new(CALCULATE, |ids| json!({"user1Id": ids.participant, "user2Id": ids.host})));

const CALCULATE: &str = "matching/scoring/calculateCompatibilityScore";

#[test]
fn admin_reads_the_compatibility_of_two_organization_members() {
    let app = TestApp::new();
    let root = admin(&app, "root", "acme");
    let (ada, bob) = (member(&app, "ada", "acme"), member(&app, "bob", "acme"));
    ada.call("users/mutations/saveOnboarding", onboarding()).value();
    bob.call("users/mutations/saveOnboarding", with(onboarding(), json!({"bio": "Chess and engines."}))).value();
    let args = json!({"user1Id": id_of(&ada), "user2Id": "bob"});
    let found = root.call(CALCULATE, args.clone()).value().clone();
    let back = root.call(CALCULATE, json!({"user1Id": "bob", "user2Id": "ada"})).value().clone();
    assert_eq!(found, back);
    assert_eq!(found["features"].as_object().unwrap().len(), 8);
    assert_eq!(
        (&found["features"]["interestOverlap"], &found["features"]["industryMatch"]),
        (&json!(0.85), &json!(1.0))
    );
    assert!(found["explanation"].as_array().unwrap().contains(&json!("The same professional field")));
    let mentor = json!({"interests": [], "roles": ["mentor"], "orgConstraints": "different"});
    let mentee = json!({"interests": [], "roles": ["mentee"]});
    let other = with(args, json!({"user1Constraints": mentor, "user2Constraints": mentee}));
    let other =
        app.deploy_key(&["admin"]).call(CALCULATE, with(other, json!({"user2Id": id_of(&bob)}))).value().clone();
    assert_eq!(other["features"]["roleComplementarity"], 1.0);
    assert_eq!(other["features"]["orgConstraintMatch"], 0.0);
}

#[test]
fn compatibility_is_hidden_from_other_callers() {
    let app = TestApp::new();
    let root = admin(&app, "root", "acme");
    let (ada, eve) = (member(&app, "ada", "acme"), member(&app, "eve", "other"));
    let (ada_id, eve_id) = (id_of(&ada), id_of(&eve));
    let insufficient = "Access denied: Insufficient permissions";
    let args = json!({"user1Id": ada_id, "user2Id": ada_id});
    ada.call(CALCULATE, args.clone()).assert_refused(Code::Forbidden, insufficient);
    assert_eq!(app.nobody().call(CALCULATE, args.clone()).code(), "UNAUTHENTICATED");
    for (one, other) in [(&ada_id, &eve_id), (&eve_id, &ada_id)] {
        root.call(CALCULATE, json!({"user1Id": one, "user2Id": other})).assert_refused(Code::Forbidden, insufficient);
    }
    let unknown = json!({"user1Id": ada_id, "user2Id": "user_00000000000000000000000001"});
    root.call(CALCULATE, unknown).assert_refused(Code::NotFound, "User not found");
}
