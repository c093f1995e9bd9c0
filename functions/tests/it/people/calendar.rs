//! The link of a user's calendar.

use convoke::testing::{TestApp, TestCaller};
use schema::CalendarLink;
use serde_json::json;

use crate::support::{create, id_of, scheduled};

fn link(caller: &TestCaller<'_>) -> String {
    caller.call("users/mutations/createCalendarLink", json!({})).value()["url"].as_str().unwrap().to_owned()
}

#[test]
fn calendar_lists_the_coming_meetings_of_its_user() {
    let app = TestApp::new();
    let (ada, grace) = (app.user("ada"), app.user("grace"));
    id_of(&grace);
    let coming = scheduled(&app, &ada, &["grace"]);
    let title = json!({ "title": "Plans; and, breaks", "description": "One\nTwo", "scheduledAt": app.now().get() + 86_400_000 });
    create(&ada, title);
    let cancelled = scheduled(&app, &ada, &["grace"]);
    ada.call("meetings/lifecycle/cancelMeeting", json!({ "meetingId": cancelled })).value();
    let calendar = app.request("GET", &link(&ada)).send();
    assert_eq!((calendar.status, calendar.header("content-type")), (200, Some("text/calendar; charset=utf-8")));
    let text = calendar.text();
    assert!(text.starts_with("BEGIN:VCALENDAR\r\n") && text.ends_with("END:VCALENDAR\r\n"), "{text}");
    assert_eq!(text.matches("BEGIN:VEVENT").count(), 2, "{text}");
    for line in [
        "DTSTART:20260101T010000Z",
        "SUMMARY:Plans\\; and\\, breaks",
        "DESCRIPTION:One\\nTwo",
        &format!("UID:{coming}@convoke"),
        "DTSTAMP:20260101T000000Z",
    ] {
        assert!(text.contains(line), "{line} is not in {text}");
    }
    assert_eq!(app.request("GET", &link(&grace)).send().text().matches("BEGIN:VEVENT").count(), 1);
}

#[test]
fn revoked_replaced_and_invented_links_are_not_found() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let first = link(&ada);
    let second = link(&ada);
    let status = |path: &str| app.request("GET", path).send().status;
    assert_eq!((status(&first), status(&second)), (404, 200));
    let token = second.trim_start_matches("/calendar/").trim_end_matches(".ics");
    assert_eq!(token.len(), 43);
    let stored = app.read(|db| Ok(db.scan::<CalendarLink>().take(10)?));
    assert!(stored.len() == 1 && !stored[0].token_hash.contains(token), "only a hash is stored");
    for _ in 0..2 {
        assert!(ada.call("users/mutations/revokeCalendarLink", json!({})).value().is_null());
        let gone = app.request("GET", &second).send();
        assert_eq!((gone.status, &*gone.code()), (404, "NOT_FOUND"));
    }
    assert_eq!(status("/calendar/x.ics"), 404);
    app.nobody().call("users/mutations/createCalendarLink", json!({})).error();
}

#[test]
fn link_begins_with_the_address_of_the_server() {
    let app = TestApp::new();
    let server = app.serve();
    assert!(link(&app.user("ada")).starts_with(&format!("http://{}/calendar/", server.address())));
}
