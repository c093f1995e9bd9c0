//! A function and its test: no port, no sleep, nothing left over.

use convoke::testing::TestApp;
use serde_json::json;

mod guestbook {
    use convoke::prelude::*;
    use convoke::{args, mutation, table};

    #[table(name = "entries", prefix = "entry")]
    #[index(by_name(name), unique)]
    pub(crate) struct Entry {
        pub name: String,
    }

    #[args]
    pub(crate) struct Sign {
        pub name: String,
    }

    /// Signs the guestbook; everybody once.
    #[mutation]
    pub(crate) fn sign(ctx: &mut MutationCtx, args: Sign) -> Result<Id<Entry>> {
        info!("{} signs", args.name);
        Ok(ctx.db_mut().insert(Entry { name: args.name })?)
    }
}

#[test]
fn everybody_signs_once() {
    let app = TestApp::new();
    let ada = app.user("ada");

    assert!(ada.call("guestbook/sign", json!({ "name": "Ada" })).is_success());
    let again = ada.call("guestbook/sign", json!({ "name": "Ada" }));

    assert_eq!(again.code(), "CONFLICT");
    assert_eq!(again.log_lines(), ["[INFO] Ada signs"]);
    assert_eq!(app.count::<guestbook::Entry>(), 1);
}

#[test]
fn an_argument_that_does_not_fit_is_named() {
    let app = TestApp::new();
    let reply = app.nobody().call("guestbook/sign", json!({ "name": 7 }));
    assert_eq!(reply.message(), "name: must be a text (got 7)");
    assert_eq!(reply.field(), Some("name"));
}
