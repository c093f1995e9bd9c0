//! `system/audit/listAuditEntries`.

use convoke::testing::{TestApp, TestCaller};
use serde_json::{Value, json};

use crate::support::{admin, id_of, meeting, member, with};

const LIST: &str = "system/audit/listAuditEntries";

const NOTHING: [&str; 0] = [];

fn actions(caller: &TestCaller<'_>, args: Value) -> Vec<String> {
    let (mut seen, mut cursor) = (Vec::new(), Value::Null);
    loop {
        let page = caller.call(LIST, with(args.clone(), json!({"cursor": cursor})));
        let items = page.value()["items"].as_array().unwrap();
        seen.extend(items.iter().map(|item| item["action"].as_str().unwrap().to_owned()));
        cursor = page.value().get("cursor").cloned().unwrap_or_default();
        if cursor.is_null() {
            return seen;
        }
    }
}

#[test]
fn admin_reads_own_organization_audit_and_deploy_key_reads_all() {
    let app = TestApp::new();
    let (north, south) = (admin(&app, "root", "north"), admin(&app, "other", "south"));
    let ada = member(&app, "ada", "north");
    let ada_id = id_of(&ada);
    let id = meeting(&ada, &[]);
    ada.call("meetings/lifecycle/endMeeting", json!({"meetingId": id})).value();
    north.call("users/mutations/updateUserProfile", json!({"userId": "ada", "bio": "x"})).value();
    let foreign = meeting(&member(&app, "sue", "south"), &[]);
    let key = app.deploy_key(&["admin"]);
    let free = meeting(&app.user("free"), &[]);

    assert_eq!(actions(&north, json!({})), ["meeting.created", "meeting.ended", "profile.updated"]);
    assert_eq!(actions(&south, json!({})), ["meeting.created"]);
    assert_eq!(actions(&key, json!({})).len(), 5);
    assert_eq!(actions(&key, json!({"limit": 1})).len(), 5);
    assert_eq!(actions(&north, json!({"resourceType": "meeting"})), ["meeting.created", "meeting.ended"]);
    assert_eq!(actions(&north, json!({"resourceType": "meeting", "resourceId": id, "limit": 1})).len(), 2);
    assert_eq!(actions(&north, json!({"resourceId": ada_id})), ["profile.updated"]);
    assert_eq!(actions(&north, json!({"actor": ada_id})), ["meeting.created", "meeting.ended"]);
    assert_eq!(actions(&north, json!({"actor": ada_id, "resourceType": "user"})), NOTHING);
    for id in [foreign, free] {
        assert_eq!(actions(&north, json!({"resourceType": "meeting", "resourceId": id})), NOTHING);
    }
}

#[test]
fn an_admin_without_an_organization_reads_nothing() {
    let app = TestApp::new();
    meeting(&app.user("free"), &[]);
    let roles = vec!["admin".to_owned()];
    let lone = app.identity(convoke::Identity { roles, ..crate::support::claims("lone") });
    assert_eq!(actions(&lone, json!({})), NOTHING);
}
