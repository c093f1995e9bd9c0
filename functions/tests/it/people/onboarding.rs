//! `users/mutations/saveOnboarding`.

use convoke::Code;
use convoke::testing::{TestApp, TestCaller};
use schema::{Interest, Profile, User, UserInterest};
use serde_json::{Value, json};

use crate::support::{assert_consistent, claims, onboarding, with};

const SAVE: &str = "users/mutations/saveOnboarding";

fn interest(id: &str, name: &str) -> Value {
    json!({"id": id, "name": name, "category": "personal"})
}

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
    assert_eq!(me.value()["onboardingCompletedAt"], app.now().get());
    assert_eq!((app.count::<User>(), app.count::<Profile>(), app.count::<UserInterest>()), (1, 1, 2));
    assert_eq!(app.count::<Interest>(), 77, "both are in the built-in catalog");
    let profile = ada.call("profiles/queries/getCurrentUserProfile", json!({}));
    let profile = profile.value();
    assert_eq!(profile["_id"], saved.value()["profileId"]);
    assert_eq!(
        (&profile["age"], &profile["gender"], &profile["company"]),
        (&json!(36), &json!("female"), &json!("Analytical Engines"))
    );
    assert_eq!(
        (&profile["displayName"], &profile["linkedinUrl"]),
        (&json!("ada"), &json!("https://linkedin.example/ada"))
    );
    let state = ada.call("users/queries/getOnboardingState", json!({}));
    assert_eq!(state.value()["profileId"], profile["_id"]);
    assert_eq!(state.value()["onboardingComplete"], true);
    assert_consistent(&app);
}

#[test]
fn invalid_onboarding_is_rejected_and_not_stored() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let long = |n: usize| "x".repeat(n);
    let many: Vec<Value> = (0..51).map(|i| interest(&format!("i{i}"), &format!("I {i}"))).collect();
    for (change, field, message) in [
        (json!({"age": 12}), "age", "age: must be an integer between 13 and 120 (got 12)"),
        (json!({"age": 121}), "age", "age: must be an integer between 13 and 120 (got 121)"),
        (json!({"age": 30.5}), "age", "age: must be an integer between 13 and 120 (got 30.5)"),
        (json!({"age": "36"}), "age", "age: must be an integer between 13 and 120 (got \"36\")"),
        (
            json!({"gender": "x"}),
            "gender",
            "gender: must be one of male, female, non-binary, prefer-not-to-say (got \"x\")",
        ),
        (json!({"bio": null}), "bio", "Missing required argument: bio"),
        (json!({"bio": long(1001)}), "bio", "Bio cannot exceed 1000 characters"),
        (json!({"surprise": 1}), "surprise", "Unknown argument: surprise"),
        (
            json!({"interests": [{"id": "a", "name": "A", "category": "zzz"}]}),
            "interests[0].category",
            "interests[0].category: must be one of academic, industry, skill, personal (got \"zzz\")",
        ),
    ] {
        let reply = ada.call(SAVE, with(onboarding(), change.clone()));
        assert_eq!(
            (reply.code(), reply.field(), reply.message()),
            ("INVALID_ARGUMENT", Some(field), message),
            "{change}"
        );
    }
    for (change, field) in [
        (json!({"bio": " \u{3000}"}), "bio"),
        (json!({"field": ""}), "field"),
        (json!({"jobTitle": " "}), "jobTitle"),
        (json!({"company": long(121)}), "company"),
        (json!({"interests": many}), "interests"),
        (json!({"interests": [interest("", "x")]}), "interests[0].id"),
        (json!({"interests": [interest("x", " ")]}), "interests[0].name"),
        (
            json!({"interests": [{"id": "a", "name": "A", "category": "skill", "iconName": long(65)}]}),
            "interests[0].iconName",
        ),
        (json!({"interests": [{"id": "a", "name": "A", "category": "skill", "extra": 1}]}), "interests[0].extra"),
        (json!({"linkedinUrl": "linkedin.com/in/ada"}), "linkedinUrl"),
        (json!({"idempotencyKey": ""}), "idempotencyKey"),
        (json!({"company": "a\u{0}b"}), "company"),
    ] {
        let reply = ada.call(SAVE, with(onboarding(), change.clone()));
        assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some(field)), "{change}");
    }
    for name in ["age", "gender", "field", "jobTitle", "company", "bio", "interests"] {
        let reply = ada.call(SAVE, with(onboarding(), json!({ name: null })));
        assert_eq!(reply.message(), format!("Missing required argument: {name}"));
    }
    assert_eq!((app.count::<Profile>(), app.count::<UserInterest>()), (0, 0));
}

#[test]
fn ages_of_any_integral_spelling_and_texts_at_their_limit_are_taken() {
    let app = TestApp::new();
    let ada = app.user("ada");
    for args in [r#"{"age":31.0}"#, r#"{"age":3.1e1}"#] {
        let change: Value = serde_json::from_str(args).unwrap();
        ada.call(SAVE, with(onboarding(), change)).value();
    }
    let change = json!({"bio": format!(" {} ", "ä".repeat(1000)), "company": "x".repeat(120), "linkedinUrl": ""});
    ada.call(SAVE, with(onboarding(), change)).value();
    let profile = ada.call("profiles/queries/getCurrentUserProfile", json!({}));
    assert_eq!(profile.value()["bio"].as_str().unwrap().chars().count(), 1000);
    assert_eq!(profile.value().get("linkedinUrl"), None);
}

#[test]
fn a_second_onboarding_replaces_the_first_and_keeps_name_and_time() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let first = ada.call(SAVE, with(onboarding(), json!({"linkedinUrl": "https://a.example"})));
    let completed = app.now().get();
    ada.call("users/mutations/updateUserProfile", json!({"userId": "ada", "displayName": "Countess", "goals": "G"}));
    app.advance(std::time::Duration::from_secs(60));

    let change = json!({"age": 37, "interests": [interest("chess", "Chess"), interest("hiking", "Hiking")]});
    let second = ada.call(SAVE, with(onboarding(), change));

    assert_eq!(first.value()["profileId"], second.value()["profileId"]);
    let profile = ada.call("profiles/queries/getCurrentUserProfile", json!({}));
    let profile = profile.value();
    assert_eq!(
        (&profile["displayName"], &profile["goals"], &profile["age"]),
        (&json!("Countess"), &json!("G"), &json!(37))
    );
    assert_eq!(profile.get("linkedinUrl"), None, "what is not sent is not there afterwards");
    let me = ada.call("users/queries/getCurrentUser", json!({}));
    assert_eq!(me.value()["onboardingCompletedAt"], completed);
    assert_eq!(me.value()["displayName"], "Countess");
    let interests = ada.call("interests/queries/getUserInterests", json!({}));
    let keys: Vec<&str> = interests.value().as_array().unwrap().iter().map(|i| i["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["chess", "hiking"]);
    assert_consistent(&app);
}

fn keys(caller: &TestCaller<'_>) -> Vec<String> {
    let interests = caller.call("interests/queries/getUserInterests", json!({}));
    interests.value().as_array().unwrap().iter().map(|one| one["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn an_interest_is_the_row_of_its_id_else_of_its_name_else_a_new_one() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let sent = json!([
        interest("chess", "Something else"),         // a key of the catalog
        interest("ML", "machine  LEARNING"),         // a label of the catalog
        interest("x", "E-commerce"),                 // a label of the catalog, typed with another hyphen
        interest("Knitting & Co", "Knitting & Co"),  // the first of its name
        interest("beekeeping", "Bees"),              // a valid key that no row has: ignored
        interest("custom:origami", "Paper folding"), // a client must not use custom:
        interest("beekeeping", "bees"),              // by its name the row made above
        interest("whatever", "Knitting... & co"),    // by its slug the row made above
        interest("読書", "読書"),
    ]);

    let saved = ada.call(SAVE, with(onboarding(), json!({"interests": sent})));

    assert_eq!(saved.value()["interestsCount"], 7);
    let own = ["custom:knitting-co", "custom:bees", "custom:paper-folding", "custom:c71b9c3efaaa"];
    assert_eq!(keys(&ada), [&["chess", "machine-learning", "e-commerce"][..], &own].concat());
    assert_eq!(app.count::<Interest>(), 77 + 4);
    let bob = app.user("bob");
    let sent = json!([interest("custom:bees", "Knitting"), interest("2", "KNITTING &Co")]);
    bob.call(SAVE, with(onboarding(), json!({"interests": sent}))).value();
    assert_eq!(keys(&bob), ["custom:knitting", "custom:knitting-co"], "an id is no key of what users made");
    let key = app.deploy_key(&["admin"]);
    let entry = json!({"key": "apiculture", "label": "Bees", "category": "personal"});
    key.call("interests/mutations/upsertCatalogEntry", entry).value();
    for (id, name) in [("apiculture", "Honey"), ("3", "BEES")] {
        bob.call(SAVE, with(onboarding(), json!({"interests": [interest(id, name)]}))).value();
        assert_eq!(
            keys(&bob),
            ["apiculture"],
            "an admin's entry is found by its key, and by its label before a user's"
        );
    }
    assert_consistent(&app);
}

#[test]
fn ids_of_two_clients_that_count_alike_are_two_interests() {
    let app = TestApp::new();
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    ada.call(SAVE, with(onboarding(), json!({"interests": [interest("1", "Sailing")]}))).value();
    bob.call(SAVE, with(onboarding(), json!({"interests": [interest("1", "Knitting")]}))).value();
    assert_eq!((keys(&ada), keys(&bob)), (vec!["custom:sailing".to_owned()], vec!["custom:knitting".to_owned()]));
    let reply = bob.call("users/mutations/updateUserInterests", json!({"userId": "bob", "interests": ["1"]}));
    reply.assert_refused(Code::InvalidArgument, "Invalid interests: 1");
    assert_consistent(&app);
}

#[test]
fn a_user_makes_at_most_a_hundred_interests() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let batch = |from: usize, count: usize| {
        let sent: Vec<Value> =
            (from..from + count).map(|i| interest(&format!("own-{i}"), &format!("Own {i}"))).collect();
        with(onboarding(), json!({"interests": sent}))
    };
    ada.call(SAVE, batch(0, 50)).value();
    ada.call(SAVE, batch(50, 49)).value();
    let reply = ada.call(SAVE, batch(99, 2));
    assert_eq!(reply.code(), "FAILED_PRECONDITION");
    assert_eq!(app.count::<Interest>(), 77 + 99, "nothing of a refused call is stored");
    ada.call(SAVE, batch(99, 1)).value();
    assert_eq!(ada.call(SAVE, batch(100, 1)).code(), "FAILED_PRECONDITION");
    ada.call(SAVE, batch(0, 50)).value();
    app.user("bob").call(SAVE, batch(100, 50)).value();
    assert_consistent(&app);
}

#[test]
fn the_name_of_a_new_profile_is_the_claims_the_addresss_or_the_job_title() {
    let app = TestApp::new();
    let name = |identity| {
        let caller = app.identity(identity);
        caller.call(SAVE, onboarding()).value();
        caller.call("profiles/queries/getCurrentUserProfile", json!({})).value()["displayName"].clone()
    };
    let named = convoke::Identity { name: Some("Ada L.".to_owned()), ..claims("a") };
    assert_eq!(name(named), "Ada L.");
    assert_eq!(name(claims("bea")), "bea");
    assert_eq!(name(convoke::Identity { name: Some("x@y.example".to_owned()), ..claims("cleo") }), "cleo");
    assert_eq!(name(convoke::Identity { email: None, ..claims("d") }), "Engineer");
    assert_eq!(name(convoke::Identity { name: Some("\u{200b}".to_owned()), ..claims("emil") }), "emil");
    let nameless = app.identity(convoke::Identity { email: None, ..claims("f") });
    let reply = nameless.call(SAVE, with(onboarding(), json!({"jobTitle": "\u{200b}"})));
    reply.assert_refused(Code::InvalidArgument, "Display name cannot be empty");
    assert_eq!(reply.field(), Some("jobTitle"));
}

#[test]
fn the_same_key_and_payload_is_done_once() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let args = with(onboarding(), json!({"idempotencyKey": "k1"}));
    let first = ada.call(SAVE, args.clone());
    app.advance(std::time::Duration::from_secs(3_600));
    ada.call("users/mutations/updateUserInterests", json!({"userId": "ada", "interests": []})).value();

    let again = ada.call(SAVE, args.clone());

    assert_eq!(first.value(), again.value());
    assert_eq!((app.count::<Profile>(), app.count::<UserInterest>()), (1, 0), "nothing was executed again");
    let other = ada.call(SAVE, with(args.clone(), json!({"age": 40})));
    assert_eq!(other.code(), "IDEMPOTENCY_KEY_REUSED");
    let bob = app.user("bob").call(SAVE, with(args.clone(), json!({"age": 40})));
    assert_ne!(bob.value()["userId"], first.value()["userId"], "keys of two users are two keys");
    app.clock().advance(std::time::Duration::from_secs(7 * 24 * 3_600));
    ada.call(SAVE, with(args, json!({"age": 40}))).value();
    assert_consistent(&app);
}

#[test]
fn the_order_of_members_does_not_make_another_payload() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let one = r#"{"idempotencyKey":"k","age":36,"gender":"female","field":"a","jobTitle":"b","company":"c","bio":"d","interests":[]}"#;
    let other = r#"{"interests":[],"bio":"d","company":"c","jobTitle":"b","field":"a","gender":"female","age":36.0,"idempotencyKey":"k"}"#;
    let run = |text: &str| ada.call(SAVE, serde_json::from_str(text).unwrap());
    assert_eq!(run(one).value(), run(other).value());
}

#[test]
fn a_corrected_retry_with_the_same_key_works() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let many =
        |count: usize| -> Vec<Value> { (0..count).map(|i| interest(&format!("z{i}"), &format!("Z {i}"))).collect() };
    ada.call(SAVE, with(onboarding(), json!({"interests": many(50)}))).value();
    ada.call(SAVE, with(onboarding(), json!({"interests": many(50)}))).value();
    let fresh = |from: usize| -> Vec<Value> {
        (from..from + 50).map(|i| interest(&format!("y{i}"), &format!("Y {i}"))).collect()
    };
    ada.call(SAVE, with(onboarding(), json!({"interests": fresh(0)}))).value();
    let refused = ada.call(SAVE, with(onboarding(), json!({"interests": fresh(50), "idempotencyKey": "k"})));
    assert_eq!(refused.code(), "FAILED_PRECONDITION");
    ada.call(SAVE, with(onboarding(), json!({"interests": [], "idempotencyKey": "k"}))).value();
}

#[test]
fn concurrent_first_uses_of_a_key_are_one_execution() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let args = with(onboarding(), json!({"idempotencyKey": "k", "interests": [interest("new-one", "New one")]}));
    let replies = app.block_on(async {
        let calls = (0..20).map(|_| ada.call_async(SAVE, args.clone()));
        futures_util::future::join_all(calls).await
    });
    for reply in &replies {
        assert_eq!(reply.value(), replies[0].value());
    }
    assert_eq!((app.count::<User>(), app.count::<Profile>(), app.count::<UserInterest>()), (1, 1, 1));
    assert_consistent(&app);
}

#[test]
fn without_a_key_even_concurrent_onboardings_make_one_profile() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let replies = app.block_on(async {
        let calls = (0..20).map(|i| {
            let sent = json!([interest("chess", "Chess"), interest(&format!("own-{}", i % 3), "Own")]);
            ada.call_async(SAVE, with(onboarding(), json!({"interests": sent, "age": 20 + i})))
        });
        futures_util::future::join_all(calls).await
    });
    assert!(replies.iter().all(|reply| reply.value()["interestsCount"] == 2));
    assert_eq!((app.count::<Profile>(), app.count::<UserInterest>()), (1, 2));
    assert_consistent(&app);
}

#[test]
fn a_key_of_onboarding_is_no_key_of_another_function() {
    let app = TestApp::new();
    let ada = app.user("ada");
    ada.call(SAVE, with(onboarding(), json!({"idempotencyKey": "k"}))).value();
    ada.call("meetings/lifecycle/createMeeting", json!({"title": "x", "idempotencyKey": "k"})).value();
}

#[test]
fn onboarding_by_a_deploy_key_is_audited() {
    let app = TestApp::new();
    let ada = app.user("ada");
    ada.call(SAVE, onboarding()).value();
    assert_eq!(app.count::<schema::AuditEntry>(), 0);
    let key = app.deploy_key(&["act-as"]);
    key.acting_as("ada").call(SAVE, onboarding()).value();
    let entries = app.read(|db| Ok(db.scan::<schema::AuditEntry>().take(10)?));
    assert_eq!(entries.len(), 1);
    assert_eq!((entries[0].actor.as_str(), entries[0].action.as_str()), ("deploy-key:test", SAVE));
}

#[test]
fn a_reused_key_names_itself() {
    let app = TestApp::new();
    let ada = app.user("ada");
    ada.call(SAVE, with(onboarding(), json!({"idempotencyKey": "k"}))).value();
    let reply = ada.call(SAVE, with(onboarding(), json!({"idempotencyKey": "k", "bio": "other"})));
    assert_eq!((reply.error().code(), reply.field()), (Code::IdempotencyKeyReused, Some("idempotencyKey")));
}
