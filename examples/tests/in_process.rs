//! README's functions and their test: no port, no sleep.

use convoke::testing::TestApp;
use serde_json::json;

#[allow(unreachable_pub, reason = "the code matches the documentation")]
mod guestbook {
    use convoke::prelude::*;

    /// An entry of the guestbook.
    #[table(name = "entries", prefix = "entry")]
    #[index(by_name(name), unique)]
    pub struct Entry {
        pub name: String,
    }

    #[args]
    pub struct Sign {
        pub name: String,
    }

    /// Signs the guestbook. Each name can sign once.
    #[mutation]
    pub fn sign(ctx: &mut MutationCtx, args: Sign) -> Result<Id<Entry>> {
        info!("{} signs", args.name);
        Ok(ctx.db_mut().insert(Entry { name: args.name })?)
    }

    /// Lists up to 100 names in alphabetical order.
    #[query]
    pub fn names(ctx: &QueryCtx) -> Result<Vec<String>> {
        let entries = ctx.db().query(Entry::by_name).take(100)?;
        Ok(entries.into_iter().map(|entry| entry.name.clone()).collect())
    }
}

#[test]
fn each_name_signs_once() {
    let app = TestApp::new();
    let ada = app.user("ada");
    assert!(ada.call("guestbook/sign", json!({ "name": "Ada" })).is_success());
    let again = ada.call("guestbook/sign", json!({ "name": "Ada" }));
    assert_eq!(again.code(), "CONFLICT");
    assert_eq!(ada.call("guestbook/names", json!({})).value(), &json!(["Ada"]));
}

#[test]
fn call_is_logged_and_its_rows_are_counted() {
    let app = TestApp::new();
    let reply = app.user("ada").call("guestbook/sign", json!({ "name": "Ada" }));
    assert_eq!(reply.log_lines(), ["[INFO] Ada signs"]);
    assert_eq!(app.count::<guestbook::Entry>(), 1);
}

#[test]
fn argument_of_the_wrong_type_is_rejected_with_its_path() {
    let app = TestApp::new();
    let reply = app.nobody().call("guestbook/sign", json!({ "name": 7 }));
    assert_eq!(reply.message(), "name: must be a text (got 7)");
    assert_eq!(reply.field(), Some("name"));
}
