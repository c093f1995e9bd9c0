//! `meetings/attachments/*`.

use std::time::Duration;

use convoke::testing::{TestApp, TestCaller};
use convoke_calls::transfers;
use serde_json::{Value, json};

use crate::rights::Call;
use crate::support::{id_of, meeting, upload};

inventory::submit!(Call::new("meetings/attachments/remove", |ids| json!({"attachmentId": ids.attachment})));

const LIST: &str = "meetings/attachments/list";
const REMOVE: &str = "meetings/attachments/remove";

fn attach(app: &TestApp, caller: &TestCaller<'_>, meeting: &str, name: &str, bytes: &[u8]) -> Value {
    let id = upload(app, caller, "meetings/attachments/beginUpload", json!({"meetingId": meeting}), bytes);
    let args = json!({"meetingId": meeting, "upload": id, "name": name});
    caller.call("meetings/attachments/add", args).value().clone()
}

fn is_readable(app: &TestApp, link: &str) -> bool {
    app.block_on(transfers::download(app.runtime(), link.rsplit('/').next().unwrap())).is_ok()
}

#[test]
fn attachments_are_listed_with_links_for_the_participants() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let meeting = meeting(&ada, &["bob"]);
    let first = attach(&app, &ada, &meeting, "plan.pdf", b"%PDF-1.7 plan");
    attach(&app, &bob, &meeting, " Notizen \u{e4}.txt ", b"notes");

    let list = bob.call(LIST, json!({"meetingId": meeting})).value().clone();

    let list = list.as_array().unwrap();
    let without_link = |item: &Value| {
        let mut item = item.clone();
        assert!(item.as_object_mut().unwrap().remove("url").unwrap().as_str().unwrap().contains("/files/"));
        item
    };
    let expected = json!({
        "_id": first, "name": "plan.pdf", "contentType": "application/pdf", "size": 13, "uploadedBy": id_of(&ada),
        "createdAt": app.now().get(),
    });
    assert_eq!((list.len(), without_link(&list[0])), (2, expected));
    assert_eq!((&list[1]["name"], &list[1]["contentType"]), (&json!("Notizen ä.txt"), &json!("text/plain")));
    let link = list[0]["url"].as_str().unwrap();
    assert!(is_readable(&app, link));
    app.clock().advance(Duration::from_secs(601));
    assert!(!is_readable(&app, link), "a link ends after ten minutes");
}

#[test]
fn attachment_is_removed_by_its_uploader_or_a_host_and_its_links_end() {
    let app = TestApp::new();
    let (ada, bob, carol) = (app.user("ada"), app.user("bob"), app.user("carol"));
    let meeting = meeting(&ada, &["bob", "carol"]);
    for (owner, remover) in [(&bob, &bob), (&bob, &ada)] {
        let id = attach(&app, owner, &meeting, "a", b"a");
        let list = carol.call(LIST, json!({"meetingId": meeting})).value().clone();
        assert_eq!(carol.call(REMOVE, json!({"attachmentId": id})).code(), "FORBIDDEN");
        remover.call(REMOVE, json!({"attachmentId": id})).value();
        assert!(!is_readable(&app, list[0]["url"].as_str().unwrap()));
        assert_eq!(bob.call(REMOVE, json!({"attachmentId": id})).code(), "FORBIDDEN", "it is unknown now");
    }
    assert_eq!(ada.call(LIST, json!({"meetingId": meeting})).value(), &json!([]));
}

#[test]
fn removed_participant_gets_no_new_link_and_a_meeting_has_at_most_200_files() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let meeting = meeting(&ada, &["bob"]);
    for number in 0..200 {
        attach(&app, &ada, &meeting, &format!("file {number}"), b"the same");
    }
    let full = ada.call("meetings/attachments/beginUpload", json!({"meetingId": meeting}));
    assert_eq!((full.code(), full.message()), ("FAILED_PRECONDITION", "Too many attachments (max 200)"));
    assert_eq!(bob.call(LIST, json!({"meetingId": meeting})).value().as_array().unwrap().len(), 200);
    ada.call("meetings/lifecycle/removeParticipant", json!({"meetingId": meeting, "userId": "bob"})).value();
    assert_eq!(bob.call(LIST, json!({"meetingId": meeting})).code(), "FORBIDDEN");
}
