//! Tests of the functions, called like by clients.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::Duration;

use convoke::NoArgs;
use convoke::serde_json::{Value, json};
use convoke::testing::TestApp;

use crate::loans::Loan;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn add(app: &TestApp, title: &str) -> Value {
    app.user("ada").call("books/add", json!({ "title": title })).value().clone()
}

#[test]
fn added_book_is_visible_without_identity() {
    let app = TestApp::new();
    let refused = app.nobody().call("books/add", json!({ "title": "SICP" }));
    assert_eq!((refused.code(), refused.message()), ("UNAUTHENTICATED", "Sign in first"));

    let book = add(&app, "  SICP ");

    let page = app.nobody().call("books/list", json!({}));
    assert_eq!(page.value()["items"][0]["_id"], book);
    assert_eq!(page.value()["items"][0]["title"], "SICP");
}

#[test]
fn invalid_argument_is_named() {
    let app = TestApp::new();
    let reply = app.user("ada").call("books/add", json!({ "title": " " }));
    assert_eq!((reply.code(), reply.field()), ("INVALID_ARGUMENT", Some("title")));
    assert_eq!(reply.message(), "A book has a title");
}

#[test]
fn repeated_call_borrows_once() {
    let app = TestApp::new();
    let book = add(&app, "SICP");
    let ada = app.user("ada");
    let call = json!({ "book": book, "idempotencyKey": "a1" });

    let first = ada.call("loans/borrowBook", call.clone());
    let again = ada.call("loans/borrowBook", call);
    assert_eq!(first.value(), again.value());
    assert_eq!(app.count::<Loan>(), 1);

    let other = app.user("grace").call("loans/borrowBook", json!({ "book": book }));
    assert_eq!(other.code(), "CONFLICT");
}

#[test]
fn overdue_loan_is_reminded_then_given_up() {
    let app = TestApp::new();
    let book = add(&app, "SICP");
    app.user("ada").call("loans/borrowBook", json!({ "book": book })).value();
    assert_eq!(app.pending_jobs().len(), 1);

    // Only the test moves the clock; due jobs run then.
    app.advance(14 * DAY);
    assert_eq!((app.pending_jobs().len(), app.count::<Loan>()), (0, 1));

    app.advance(91 * DAY);
    assert_eq!(app.count::<Loan>(), 0);
}

mod before {
    use convoke::prelude::*;

    use crate::books::{Book, Title};

    /// Adds a book in the form of the former release.
    #[mutation(internal)]
    pub fn add_old(ctx: &mut MutationCtx) -> Result<Id<Book>> {
        let title = Title::new("Gödel, Escher, Bach").map_err(Error::internal)?;
        Ok(ctx.db_mut().insert(Book { title, isbn: None, mark: None, times_borrowed: 0 })?)
    }
}

#[test]
fn migration_adds_marks() {
    let app = TestApp::new();
    app.nobody().run::<before::add_old>(NoArgs {}).unwrap();
    let migrated = app.deploy_key(&["*"]).call("migrations/markBooks", json!({}));
    assert_eq!(migrated.value(), &json!({ "done": 1, "total": 1, "finished": true }));
    assert_eq!(app.nobody().call("books/list", json!({})).value()["items"][0]["mark"], "GÖD");
}

#[test]
fn settings_apply() {
    let app = TestApp::configured("[shelf]\nloans_per_person = 1");
    let (first, second) = (add(&app, "SICP"), add(&app, "TAOCP"));
    let ada = app.user("ada");
    assert!(ada.call("loans/borrowBook", json!({ "book": first })).is_success());
    assert_eq!(ada.call("loans/borrowBook", json!({ "book": second })).code(), "FAILED_PRECONDITION");
    assert_eq!(app.deploy_key(&["*"]).call("upkeep/booksOut", json!({})).value(), 1);
}

#[test]
fn lookup_sends_the_key_of_the_catalog() {
    let (url, asked) = catalog("HTTP/1.1 200 OK", r#"{"title": "The C Programming Language"}"#);
    let app = TestApp::configured(&format!("[catalog]\nurl = '{url}'"));
    app.set_secret("CATALOG_KEY", "hush");

    let added = app.user("ada").call("catalog/addByIsbn", json!({ "isbn": "9780131103627" }));
    assert!(added.is_success(), "{:?}", added.error());
    let asked = asked.join().unwrap();
    assert!(asked.contains("GET /books/9780131103627") && asked.contains("Bearer hush"), "{asked}");
    assert_eq!(app.nobody().call("books/list", json!({})).value()["items"][0]["title"], "The C Programming Language");

    let wrong = app.user("ada").call("catalog/addByIsbn", json!({ "isbn": "123" }));
    assert_eq!(wrong.field(), Some("isbn"));
}

/// A catalog that responds to one request and returns it.
fn catalog(status: &'static str, body: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let lines = BufReader::new(socket.try_clone().unwrap()).lines().map(Result::unwrap);
        let asked: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        write!(socket, "{status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).unwrap();
        asked.join("\n").replace("authorization: bearer", "authorization: Bearer")
    });
    (url, asked)
}
