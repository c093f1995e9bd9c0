//! Reading and deleting the caller's insights.

use convoke::Code;
use convoke::testing::TestApp;
use schema::Insight;
use serde_json::{Value, json};

use super::{OWN, counted, gathering, generate, own, write};
use crate::support::meeting;

const LIST: &str = "insights/queries/listUserInsights";
const DELETE: &str = "insights/mutations/deleteInsight";

#[test]
fn strangers_read_nothing() {
    let app = TestApp::new();
    let id = gathering(&app);
    let args = json!({"meetingId": id});
    app.nobody().call(OWN, args.clone()).assert_refused(Code::Unauthenticated, "Authentication required");
    app.user("eve").call(OWN, args).assert_refused(Code::Forbidden, "Access denied: Not a meeting participant");
    app.nobody().call(LIST, json!({})).assert_refused(Code::Unauthenticated, "Authentication required");
    for limit in [0, 101] {
        assert_eq!(app.user("ada").call(LIST, json!({"limit": limit})).field(), Some("limit"));
    }
    assert_eq!(own(&app.user("ada"), &id), json!(null));
}

#[test]
fn insight_has_exactly_the_documented_members() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let id = gathering(&app);
    write(&ada, &id, "- [ ] Ada: write the plan\n");
    generate(&ada, &id).value();
    let mut insight = own(&ada, &id);
    let members: Vec<String> = insight.as_object_mut().unwrap().keys().cloned().collect();
    let mut expected = [
        "_id",
        "userId",
        "meetingId",
        "summary",
        "actionItems",
        "actionItemDetails",
        "recommendations",
        "links",
        "generator",
        "createdAt",
        "updatedAt",
    ];
    expected.sort_unstable();
    let mut members: Vec<&str> = members.iter().map(String::as_str).collect();
    members.sort_unstable();
    assert_eq!(members, expected);
    assert_eq!((&insight["meetingId"], &insight["updatedAt"]), (&json!(id), &json!(app.now().get())));
    let detail = json!({"ownerId": insight["userId"], "owner": "ada", "task": "write the plan", "evidence": ["Ada: write the plan"]});
    assert_eq!(insight["actionItemDetails"], json!([detail]));
}

#[test]
fn only_ones_own_can_be_deleted_and_comes_again() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = gathering(&app);
    write(&ada, &id, "- [ ] Ada: write the plan\n");
    let (_, ids) = counted(&generate(&ada, &id));
    let hers = json!({"insightId": ids[0]});
    bob.call(DELETE, hers.clone()).assert_refused(Code::NotFound, "Insight not found");
    app.nobody().call(DELETE, hers.clone()).assert_refused(Code::Unauthenticated, "Authentication required");
    assert_eq!(ada.call(DELETE, json!({"insightId": id})).field(), Some("insightId"));
    assert_eq!(ada.call(DELETE, hers.clone()).value(), &json!(null));
    ada.call(DELETE, hers).assert_refused(Code::NotFound, "Insight not found");
    assert_eq!((own(&ada, &id), app.count::<Insight>()), (json!(null), 2));
    let (made, again) = counted(&generate(&bob, &id));
    assert_eq!((made, &again[1..]), (1, &ids[1..]), "the others' were used again");
    assert_ne!(again[0], ids[0]);
}

#[test]
fn a_list_has_all_of_them_page_by_page() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let mut meetings = Vec::new();
    for title in 0..5 {
        let id = meeting(&ada, &["bob"]);
        write(&ada, &id, &format!("- [ ] Ada: write page {title}\n"));
        generate(&ada, &id).value();
        meetings.push(id);
    }
    let mut listed: Vec<Value> = Vec::new();
    let mut args = json!({"limit": 2});
    loop {
        let page = ada.call(LIST, args.clone()).value().clone();
        let items = page["items"].as_array().unwrap();
        assert!(items.len() <= 2);
        listed.extend(items.iter().map(|item| item["meetingId"].clone()));
        match page.get("cursor") {
            Some(cursor) => args["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!(listed, meetings);
    assert_eq!(app.user("bob").call(LIST, json!({})).value()["items"].as_array().unwrap().len(), 0);
}
