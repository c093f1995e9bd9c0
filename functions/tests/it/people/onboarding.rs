//! `users/mutations/saveOnboarding`.

use convoke::testing::TestApp;
use schema::{Interest, Profile, User, UserInterest};
use serde_json::json;

use crate::support::{onboarding, with};

const SAVE: &str = "users/mutations/saveOnboarding";

#[test]
fn onboarding_stores_profile_interests_and_flag() {
    let app = TestApp::new();
    let ada = app.user("ada");

    let saved = ada.call(SAVE, with(onboarding(), json!({"linkedinUrl": "https://linkedin.example/ada"})));

    let me = ada.call("users/queries/getCurrentUser", json!({}));
    assert_eq!(saved.value()["userId"], me.value()["_id"]);
    assert_eq!(saved.value()["interestsCount"], 2);
    assert_eq!(saved.value()["onboardingCompleted"], true);
    assert_eq!(me.value()["onboardingComplete"], true);
    assert_eq!((app.count::<User>(), app.count::<Profile>(), app.count::<UserInterest>()), (1, 1, 2));
    assert_eq!(app.count::<Interest>(), 77);
}
