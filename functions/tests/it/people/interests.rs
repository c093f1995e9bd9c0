//! `users/mutations/updateUserInterests`, `interests/*`.

use convoke::Code;
use convoke::testing::{TestApp, TestCaller};
use schema::{AuditEntry, Interest, UserInterest};
use serde_json::{Value, json};

use crate::support::{admin, assert_consistent, id_of, member, onboarding, system, with};

const UPDATE: &str = "users/mutations/updateUserInterests";
const LIST: &str = "interests/queries/listCatalog";

fn keys(caller: &TestCaller<'_>) -> Vec<String> {
    let reply = caller.call("interests/queries/getUserInterests", json!({}));
    reply.value().as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap().to_owned()).collect()
}

fn uses(app: &TestApp, key: &str) -> i64 {
    let row = app.read(|db| Ok(db.query(Interest::by_key).eq(key).unique()?));
    row.unwrap().usage_count
}

#[test]
fn a_set_of_interests_replaces_the_old_one() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let reply = ada.call(UPDATE, json!({"userId": "ada", "interests": ["chess", "rust", "chess"]}));
    assert_eq!(reply.value(), &Value::Null);
    assert_eq!(keys(&ada), ["chess", "rust"]);
    app.user("bob").call(UPDATE, json!({"userId": "bob", "interests": ["rust"]})).value();
    assert_eq!((uses(&app, "chess"), uses(&app, "rust")), (1, 2));
    ada.call(UPDATE, json!({"userId": "ada", "interests": ["rust", "law"]})).value();
    assert_eq!(keys(&ada), ["rust", "law"]);
    assert_eq!((uses(&app, "chess"), uses(&app, "rust"), uses(&app, "law")), (0, 2, 1));
    ada.call(UPDATE, json!({"userId": "ada", "interests": []})).value();
    assert_eq!(app.count::<UserInterest>(), 1);
    assert_consistent(&app);
}

#[test]
fn a_key_that_the_catalog_does_not_have_refuses_the_whole_set() {
    let app = TestApp::new();
    let ada = app.user("ada");
    ada.call(UPDATE, json!({"userId": "ada", "interests": ["chess"]})).value();
    let sent = json!(["rust", "nope", "Not A Key", "nope", "custom:nope"]);
    let reply = ada.call(UPDATE, json!({"userId": "ada", "interests": sent}));
    reply.assert_refused(Code::InvalidArgument, "Invalid interests: nope, Not A Key, custom:nope");
    assert_eq!(reply.field(), Some("interests"));
    assert_eq!(reply.data()["invalid"], json!(["nope", "Not A Key", "custom:nope"]));
    assert_eq!(keys(&ada), ["chess"]);
    assert_eq!(uses(&app, "rust"), 0);
    for (sent, field) in
        [(json!([""]), "interests[0]"), (json!(["x".repeat(65)]), "interests[0]"), (json!(vec!["x"; 101]), "interests")]
    {
        let reply = ada.call(UPDATE, json!({"userId": "ada", "interests": sent}));
        assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some(field)));
    }
    ada.call(UPDATE, json!({"userId": "ada", "interests": vec!["rust"; 100]})).value();
    assert_consistent(&app);
}

#[test]
fn only_owner_organization_admin_and_deploy_key_change_interests() {
    let app = TestApp::new();
    let ada = member(&app, "ada", "north");
    let id = id_of(&ada);
    for caller in [member(&app, "col", "north"), admin(&app, "other", "south"), app.user("eve")] {
        let reply = caller.call(UPDATE, json!({"userId": id, "interests": ["chess"]}));
        reply.assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
    }
    // Rights are checked before the existence of a key.
    let reply = app.user("eve").call(UPDATE, json!({"userId": id, "interests": ["nope"]}));
    reply.assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
    admin(&app, "root", "north").call(UPDATE, json!({"userId": id, "interests": ["chess"]})).value();
    app.deploy_key(&["admin"]).call(UPDATE, json!({"userId": id, "interests": ["law"]})).value();
    assert_eq!(keys(&ada), ["law"]);
    assert_eq!(app.count::<AuditEntry>(), 2);
}

#[test]
fn two_replacements_at_once_end_as_one_of_the_two() {
    let app = TestApp::new();
    let ada = app.user("ada");
    id_of(&ada);
    let (one, other) = (["chess", "rust", "law"], ["art", "film", "rust"]);
    for _ in 0..50 {
        app.block_on(async {
            let replace = |set: [&str; 3]| ada.call_async(UPDATE, json!({"userId": "ada", "interests": set}));
            let (a, b) = tokio::join!(replace(one), replace(other));
            assert!(a.is_success() && b.is_success());
        });
        let mut now = keys(&ada);
        now.sort();
        assert!(now == ["chess", "law", "rust"] || now == ["art", "film", "rust"], "{now:?}");
    }
    assert_consistent(&app);
}

#[test]
fn the_catalog_is_there_for_the_first_user_and_lists_by_key() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let reply = ada.call(LIST, json!({"limit": 500}));
    let items = reply.value()["items"].as_array().unwrap();
    assert_eq!(items.len(), 77);
    let keys: Vec<&str> = items.iter().map(|item| item["key"].as_str().unwrap()).collect();
    assert!(keys.is_sorted());
    assert_eq!(items[0], json!({"key": "ai", "label": "AI", "category": "personal", "usageCount": 0}));
    let skills = ada.call(LIST, json!({"category": "skill"}));
    assert_eq!(skills.value()["items"].as_array().unwrap().len(), 18);
    assert_eq!(skills.value().get("cursor"), None);
}

#[test]
fn the_catalog_comes_in_pages() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let mut seen = Vec::new();
    let mut cursor = Value::Null;
    loop {
        let reply = ada.call(LIST, json!({"limit": 10, "cursor": cursor}));
        seen.extend(reply.value()["items"].as_array().unwrap().iter().map(|item| item["key"].to_string()));
        cursor = reply.value().get("cursor").cloned().unwrap_or_default();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!(seen.len(), 77);
    seen.dedup();
    assert_eq!(seen.len(), 77);
    let reply = ada.call(LIST, json!({"cursor": "not a cursor"}));
    assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some("cursor")));
    for limit in [0, 501] {
        assert_eq!(ada.call(LIST, json!({"limit": limit})).field(), Some("limit"));
    }
}

#[test]
fn an_interest_of_a_user_is_listed_to_others_once_five_have_it() {
    let app = TestApp::new();
    let own = json!([{"id": "1", "name": "Bee keeping", "category": "personal"}]);
    let args = with(onboarding(), json!({"interests": own}));
    let is_listed = |caller: &TestCaller<'_>| {
        let reply = caller.call(LIST, json!({"limit": 500}));
        reply.value()["items"].as_array().unwrap().iter().any(|item| item["key"] == "custom:bee-keeping")
    };
    let eve = app.user("eve");
    for (count, name) in ["a", "b", "c", "d", "e"].iter().enumerate() {
        assert!(!is_listed(&eve), "{count} users have it");
        app.user(name).call("users/mutations/saveOnboarding", args.clone()).value();
        assert!(is_listed(&app.user("a")), "its maker sees it");
    }
    assert!(is_listed(&eve));
    app.user("b").call(UPDATE, json!({"userId": "b", "interests": []})).value();
    assert!(!is_listed(&eve));
}

#[test]
fn a_deploy_key_keeps_the_catalog() {
    let app = TestApp::new();
    let key = app.deploy_key(&["admin"]);
    let entry = json!({"key": "bee-keeping", "label": "Bee keeping", "category": "personal", "iconName": "bee"});
    key.call("interests/mutations/upsertCatalogEntry", entry.clone()).value();
    assert_eq!(app.count::<Interest>(), 78, "the built-in ones are made before the first own one");
    key.call("interests/mutations/upsertCatalogEntry", with(entry, json!({"label": "Bees", "iconName": null}))).value();
    let row = app.read(|db| Ok(db.query(Interest::by_key).eq("bee-keeping").unique()?)).unwrap();
    assert_eq!((row.label.as_str(), row.icon_name.clone()), ("Bees", None));

    let ada = app.user("ada");
    ada.call(UPDATE, json!({"userId": "ada", "interests": ["bee-keeping"]})).value();
    let reply = key.call("interests/mutations/removeCatalogEntry", json!({"key": "bee-keeping"}));
    assert_eq!(reply.code(), "FAILED_PRECONDITION");
    assert_eq!(reply.data()["usageCount"], 1);
    ada.call(UPDATE, json!({"userId": "ada", "interests": []})).value();
    key.call("interests/mutations/removeCatalogEntry", json!({"key": "bee-keeping"})).value();
    key.call("interests/mutations/removeCatalogEntry", json!({"key": "bee-keeping"}))
        .assert_refused(Code::NotFound, "Interest not found");
    let reply = key
        .call("interests/mutations/upsertCatalogEntry", json!({"key": "Not A Key", "label": "x", "category": "skill"}));
    assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some("key")));
    let actions: Vec<String> =
        app.read(|db| Ok(db.scan::<AuditEntry>().take(10)?)).iter().map(|row| row.action.clone()).collect();
    assert_eq!(actions, ["interest.saved", "interest.saved", "interest.removed"]);
    admin(&app, "root", "north")
        .call("interests/mutations/removeCatalogEntry", json!({"key": "chess"}))
        .assert_refused(Code::Forbidden, "Access denied: Insufficient permissions");
}

#[test]
fn removed_catalog_entry_stays_removed() {
    let app = TestApp::new();
    let key = app.deploy_key(&["admin"]);
    key.call("interests/mutations/removeCatalogEntry", json!({"key": "chess"})).value();
    id_of(&app.user("ada"));
    key.call("interests/mutations/upsertCatalogEntry", json!({"key": "go", "label": "Go", "category": "personal"}))
        .value();
    assert_eq!(app.count::<Interest>(), 77);
}

const LABELS: &str = "interests/migrations/labelInterests";
const KEYS: &str = "interests/migrations/rekeyInterests";

/// Stores an entry of a former release, whose key is a client's id, chosen by these users.
fn put_former(app: &TestApp, key: &str, label: &str, maker: Option<&str>, users: &[&str]) {
    let ids = |names: &[&str]| names.iter().map(|name| id_of(&app.user(name))).collect::<Vec<_>>();
    let maker = maker.map(|name| id_of(&app.user(name)));
    let args = json!({"key": key, "label": label, "createdBy": maker, "users": ids(users)});
    system(app).call("probes/putFormerInterest", args).value();
}

#[test]
fn interests_of_a_former_release_move_to_the_keys_of_their_names() {
    for order in [[LABELS, KEYS], [KEYS, LABELS]] {
        let app = TestApp::new();
        let names = ["ada", "bob", "cleo"];
        let [ada, bob, cleo] = names.map(|name| app.user(name));
        // The first call of a user creates the catalog.
        id_of(&ada);
        put_former(&app, "1", "Sailing", Some("ada"), &["ada", "bob"]);
        put_former(&app, "2", "machine LEARNING", Some("bob"), &["ada", "bob"]);
        put_former(&app, "machine-learning-2", "Machine learning", Some("ada"), &["ada", "cleo"]);
        put_former(&app, "custom:knitting", "Knitting", Some("bob"), &["bob"]);
        put_former(&app, "sailing-2", "SAILING", Some("cleo"), &["bob", "cleo"]);
        put_former(&app, "unused", "Sailing", Some("cleo"), &[]);
        put_former(&app, "unused-2", "Rowing", Some("cleo"), &[]);
        put_former(&app, "apiculture", "Bees", None, &["cleo"]);
        put_former(&app, "3", "bees", Some("cleo"), &["ada"]);
        // Catalog entries had no label key either.
        system(&app).call("probes/forgetLabels", json!({})).value();

        let key = app.deploy_key(&["admin"]);
        for path in order {
            let mut parts = 0;
            loop {
                let part = key.call(path, json!({"limit": 3})).value().clone();
                parts += 1;
                if part["finished"] == true {
                    break;
                }
            }
            assert!(parts > 2, "{path} works in parts");
        }

        assert_eq!(keys(&ada), ["custom:sailing", "machine-learning", "apiculture"]);
        assert_eq!(keys(&bob), ["custom:sailing", "machine-learning", "custom:knitting"]);
        assert_eq!(keys(&cleo), ["machine-learning", "custom:sailing", "apiculture"]);
        assert_consistent(&app);
        let rows = app.read(|db| Ok(db.scan::<Interest>().take(1_000)?));
        let own: Vec<&str> = rows.iter().filter(|row| row.created_by.is_some()).map(|row| row.key.as_str()).collect();
        assert!(own.iter().all(|key| key.starts_with("custom:")), "{own:?}");
        assert_eq!(own.len(), 3, "{own:?}");
        assert_eq!(uses(&app, "custom:rowing"), 0, "an entry that nobody has keeps its maker's name");
        assert!(rows.iter().all(|row| row.label_key.is_some()));
        let sent = json!([{"id": "9", "name": "rowing", "category": "personal"}]);
        ada.call("users/mutations/saveOnboarding", with(onboarding(), json!({"interests": sent}))).value();
        assert_eq!(keys(&ada), ["custom:rowing"]);
    }
}

#[test]
fn interests_are_resolved_by_name_before_a_former_release_is_migrated() {
    let app = TestApp::new();
    let ada = app.user("ada");
    id_of(&ada);
    put_former(&app, "1", "Sailing", Some("bob"), &["bob"]);
    let sent = json!([{"id": "1", "name": "Knitting", "category": "personal"}]);
    ada.call("users/mutations/saveOnboarding", with(onboarding(), json!({"interests": sent}))).value();
    assert_eq!(keys(&ada), ["custom:knitting"]);
}
