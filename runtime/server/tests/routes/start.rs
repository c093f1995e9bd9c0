//! A route that cannot check signatures keeps the program from starting.

use std::panic::catch_unwind;

use convoke::testing::TestApp;
use serde_json::json;

fn mistake(secrets: &[(&str, &str)]) -> String {
    let panic = catch_unwind(|| drop(TestApp::with_secrets(secrets))).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

#[test]
fn missing_secret_and_a_secret_that_is_no_key_are_reported_with_the_place_of_the_route() {
    let missing = mistake(&[("SHOP_PLAIN", "x")]);
    assert!(missing.contains("shop.rs:"), "{missing}");
    assert!(missing.contains("the route POST /hooks/payments cannot check signatures"), "{missing}");
    assert!(missing.contains("CONVOKE_SECRET_SHOP_WEBHOOKS"), "{missing}");
    let wrong = mistake(&[("SHOP_PLAIN", "x"), ("SHOP_WEBHOOKS", "not base64!")]);
    assert!(wrong.contains("the secret SHOP_WEBHOOKS: a secret of Standard Webhooks is base64"), "{wrong}");
}

#[test]
fn command_without_routes_starts_before_the_secret_of_a_route_is_set() {
    let app = TestApp::with(|options| options.requires_secrets = false);
    let refused = app.request("POST", "/hooks/payments").json(&json!({})).send();
    assert_eq!(refused.status, 500);
}
