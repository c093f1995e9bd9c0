//! `users/mutations/beginAvatarUpload` and `setAvatar`.

use convoke::testing::TestApp;
use convoke_calls::transfers;
use serde_json::json;

use crate::support::{id_of, meeting, upload};

const BEGIN: &str = "users/mutations/beginAvatarUpload";
const SET: &str = "users/mutations/setAvatar";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

#[test]
fn uploaded_picture_is_a_link_in_every_list_until_it_is_removed() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let meeting = meeting(&ada, &["bob"]);
    let id = upload(&app, &ada, BEGIN, json!({}), PNG);
    ada.call(SET, json!({"upload": id})).value();

    let list = bob.call("meetings/queries/listMeetingParticipants", json!({"meetingId": meeting}));
    let link = list.value()[0]["user"]["avatarUrl"].as_str().unwrap().to_owned();
    assert_eq!(ada.call("users/queries/getCurrentUser", json!({})).value()["avatarUrl"], link);
    let profile = ada.call("profiles/queries/getPublicProfile", json!({"userId": id_of(&ada)}));
    assert_eq!(profile.value()["avatarUrl"], link);
    let token = link.rsplit('/').next().unwrap();
    let shown = app.block_on(transfers::download(app.runtime(), token)).ok().unwrap();
    assert_eq!((&*shown.content_type, shown.bytes), ("image/png", PNG.len() as u64));

    ada.call(SET, json!({"upload": null})).value();
    assert_eq!(ada.call("users/queries/getCurrentUser", json!({})).value()["avatarUrl"], "");
    let ended = app.block_on(transfers::download(app.runtime(), token)).err().unwrap();
    assert_eq!(ended.code().as_str(), "NOT_FOUND");
}

#[test]
fn upload_of_another_user_is_not_found() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let id = upload(&app, &ada, BEGIN, json!({}), PNG);
    assert_eq!(bob.call(SET, json!({"upload": id})).code(), "NOT_FOUND");
    ada.call(SET, json!({"upload": id})).value();
    assert_eq!(ada.call(SET, json!({"upload": id})).code(), "NOT_FOUND", "an upload is used once");
}

#[test]
fn picture_of_a_meeting_file_is_no_avatar() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let meeting = meeting(&ada, &[]);
    let begin = "meetings/attachments/beginUpload";
    let id = upload(&app, &ada, begin, json!({"meetingId": meeting}), b"%PDF-1.7");
    let refused = ada.call(SET, json!({"upload": id}));
    assert_eq!((refused.code(), refused.field()), ("INVALID_ARGUMENT", Some("avatar")));
}
