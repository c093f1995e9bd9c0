//! Pages of a list beside each other: nothing falls between two of them, and nothing is in both.

use std::cell::Cell;
use std::collections::BTreeMap;

use convoke::testing::{TestApp, TestCaller};
use convoke_calls::live::{AskedQuery, LiveConnection, Update};
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use super::{add, of};

const PAGE: &str = "live/functions/page";

fn opts(rows: usize, cursor: &Value, end: Option<&Value>) -> Value {
    json!({ "numItems": rows, "cursor": cursor, "endCursor": end, "id": 1 })
}

fn args(by_count: bool, opts: Value) -> Value {
    json!({ "room": "r", "byCount": by_count, "paginationOpts": opts })
}

fn names(page: &Value) -> Vec<String> {
    serde_json::from_value(page["page"].clone()).unwrap()
}

/// A client that shows a list as `usePaginatedQuery` does: it splits what has grown long, and comes again with what it
/// was told.
struct Reader<'app> {
    app: &'app TestApp,
    caller: TestCaller<'app>,
    connection: LiveConnection,
    by_count: bool,
    rows: usize,
    /// The numbers of its pages, in their order.
    pages: Vec<u32>,
    /// Live queries by number: arguments, journal, newest result.
    watched: BTreeMap<u32, (Value, Option<String>, Value)>,
    next: u32,
}

impl<'app> Reader<'app> {
    fn new(app: &'app TestApp, by_count: bool, rows: usize) -> Self {
        let caller = app.user("ada");
        let connection = caller.live().unwrap();
        let mut reader =
            Self { app, caller, connection, by_count, rows, pages: Vec::new(), watched: BTreeMap::new(), next: 0 };
        let first = reader.watch(opts(rows, &Value::Null, None));
        reader.pages.push(first);
        reader.catch_up();
        reader
    }

    fn watch(&mut self, opts: Value) -> u32 {
        let (number, args) = (self.next, args(self.by_count, opts));
        self.next += 1;
        self.watched.insert(number, (args, None, Value::Null));
        self.subscribe(number);
        number
    }

    fn subscribe(&mut self, number: u32) {
        let (args, journal, _) = &self.watched[&number];
        let (args, journal) = (args.to_string(), journal.clone());
        let asked = AskedQuery { path: PAGE.to_owned(), args, format: Default::default(), journal };
        self.app.block_on(self.connection.subscribe(number, asked));
    }

    fn take(&mut self, update: &Update) {
        for told in &update.results {
            let json: Value = serde_json::from_slice(&[b"{", &*told.json].concat()).unwrap();
            assert_eq!(json["status"], "success", "{json}");
            let watched = self.watched.get_mut(&told.query).unwrap();
            watched.1 = told.journal.as_deref().map(str::to_owned);
            watched.2 = json["value"].clone();
        }
    }

    fn catch_up(&mut self) {
        loop {
            while let Some(update) = self.app.block_on(self.connection.catch_up()).unwrap() {
                self.take(&update);
            }
            let long = self.pages.iter().position(|page| {
                let result = &self.watched[page].2;
                result["splitCursor"].is_string() && names(result).len() > 2 * self.rows
            });
            let Some(place) = long else { return };
            let page = self.pages[place];
            let (args, _, result) = self.watched.remove(&page).unwrap();
            let (start, end) = (&args["paginationOpts"]["cursor"], &result["continueCursor"]);
            let split = &result["splitCursor"];
            let first = self.watch(opts(self.rows, start, Some(split)));
            let second = self.watch(opts(self.rows, split, Some(end)));
            self.pages.splice(place..=place, [first, second]);
            self.connection.unsubscribe(page);
        }
    }

    fn last(&self) -> &Value {
        &self.watched[self.pages.last().unwrap()].2
    }

    fn load_more(&mut self) {
        if self.last()["isDone"] == false {
            let cursor = self.last()["continueCursor"].clone();
            let page = self.watch(opts(self.rows, &cursor, None));
            self.pages.push(page);
            self.catch_up();
        }
    }

    /// The wire is cut, and the client connects again.
    fn come_again(&mut self) {
        self.connection = self.caller.live().unwrap();
        let numbers: Vec<u32> = self.watched.keys().copied().collect();
        for number in numbers {
            self.subscribe(number);
        }
        self.catch_up();
    }

    fn shown(&self) -> Vec<String> {
        self.pages.iter().flat_map(|page| names(&self.watched[page].2)).collect()
    }

    fn check(&self) {
        let whole = opts(10_000, &Value::Null, None);
        let whole = names(self.caller.call(PAGE, args(self.by_count, whole)).value());
        let shown = self.shown();
        match self.last()["isDone"].as_bool().unwrap() {
            true => assert_eq!(shown, whole),
            false => assert!(whole.starts_with(&shown), "{shown:?} is not how {whole:?} begins"),
        }
    }
}

/// An event: its kind, and a name.
type Step = (u8, u8);

#[test]
fn pages_stay_adjacent_during_changes() {
    let longest = Cell::new(0);
    let run = |steps: Vec<Step>| {
        let app = TestApp::with(|options| options.limits.live_runs_per_second_max = 100_000);
        let ada = app.user("ada");
        let mut readers = [Reader::new(&app, false, 3), Reader::new(&app, true, 4)];
        for (kind, name) in steps {
            let name = format!("{name:02}");
            match kind {
                0..6 => add(&ada, "r", &name),
                6..8 => drop(ada.call("live/functions/forget", of("r", &name)).value().clone()),
                8 => readers.iter_mut().for_each(Reader::load_more),
                _ => readers.iter_mut().for_each(Reader::come_again),
            }
            for reader in &mut readers {
                reader.catch_up();
                reader.check();
                longest.set(longest.get().max(reader.pages.len()));
            }
        }
        Ok(())
    };
    let config = Config { cases: 6, max_shrink_iters: 50, failure_persistence: None, ..Config::default() };
    TestRunner::new(config).run(&proptest::collection::vec((0u8..10, 0u8..60), 100..150), run).unwrap();
    assert!(longest.get() > 3, "pages were loaded and split");
}

#[test]
fn one_time_page_has_a_cursor() {
    let app = TestApp::new();
    let ada = app.user("ada");
    add(&ada, "r", "a,b,c,d,e");
    let page = |opts: Value| ada.call(PAGE, args(false, opts)).value().clone();
    let first = page(opts(2, &Value::Null, None));
    assert_eq!((names(&first), &first["isDone"]), (vec!["a".into(), "b".into()], &json!(false)));
    let second = page(opts(3, &first["continueCursor"], None));
    assert_eq!((names(&second), &second["isDone"]), (vec!["c".into(), "d".into(), "e".into()], &json!(true)));
    let beyond = page(opts(3, &second["continueCursor"], None));
    assert_eq!((names(&beyond), &beyond["isDone"]), (Vec::new(), &json!(true)));
    add(&ada, "r", "aa,ab,ac,f");
    let again = page(opts(2, &Value::Null, Some(&first["continueCursor"])));
    assert_eq!(names(&again), ["a", "aa", "ab", "ac", "b"], "between two cursors is all that is there");
    assert_eq!(again["continueCursor"], first["continueCursor"]);
    let half = page(opts(2, &Value::Null, Some(&again["splitCursor"])));
    assert_eq!(names(&half), ["a", "aa"]);
    let rest = page(opts(9, &first["continueCursor"], Some(&second["continueCursor"])));
    assert_eq!((names(&rest), &rest["isDone"]), (["c", "d", "e", "f"].map(String::from).to_vec(), &json!(true)));
}

#[test]
fn too_long_page_requests_a_split() {
    let app = TestApp::new();
    let ada = app.user("ada");
    add(&ada, "r", "a,b,c,d,e,f,g,h");
    let page = |opts: Value| ada.call(PAGE, args(false, opts)).value().clone();
    let all = page(opts(8, &Value::Null, None));
    for (limit, cut) in [("maximumRowsRead", 4), ("maximumBytesRead", 1)] {
        let mut opts = opts(8, &Value::Null, Some(&all["continueCursor"]));
        opts[limit] = json!(cut);
        let page = page(opts);
        assert_eq!((names(&page).len(), &page["pageStatus"]), (cut, &json!("SplitRequired")));
        assert!(page["splitCursor"].is_string() && page["splitCursor"] != all["continueCursor"]);
        assert_eq!(page["continueCursor"], all["continueCursor"]);
    }
    let mut few = opts(8, &Value::Null, None);
    few["maximumRowsRead"] = json!(3);
    let page = page(few);
    assert_eq!((names(&page).len(), &page["isDone"], &page["pageStatus"]), (3, &json!(false), &Value::Null));
}

#[test]
fn foreign_cursor_is_an_error_that_restarts_clients() {
    let app = TestApp::new();
    let ada = app.user("ada");
    add(&ada, "r", "a,b,c");
    let by_name = ada.call(PAGE, args(false, opts(1, &Value::Null, None))).value()["continueCursor"].clone();
    let wrong = [
        args(true, opts(1, &by_name, None)),
        args(true, opts(1, &Value::Null, Some(&by_name))),
        args(false, opts(1, &json!("nonsense"), None)),
        args(false, opts(1, &json!(""), None)),
    ];
    for args in wrong {
        let error = ada.call(PAGE, args).error().message().to_owned();
        assert!(error.contains("InvalidCursor"), "{error}");
    }
    for rows in [json!(0), json!(-1), json!(1.5), json!("1")] {
        let error =
            ada.call(PAGE, args(false, json!({ "numItems": rows, "cursor": null }))).error().message().to_owned();
        assert!(error.contains("numItems"), "{error}");
    }
    for journal in ["nonsense", "[1]", r#"["x"]"#, &format!("[{by_name}]")] {
        let mut connection = ada.live().unwrap();
        let args = args(true, opts(1, &Value::Null, None)).to_string();
        let asked =
            AskedQuery { path: PAGE.to_owned(), args, format: Default::default(), journal: Some(journal.to_owned()) };
        app.block_on(connection.subscribe(0, asked));
        let update = app.block_on(connection.next()).unwrap();
        assert!(String::from_utf8_lossy(&update.results[0].json).contains("InvalidCursor"), "{journal}");
    }
}

#[test]
fn pages_with_the_same_end_share_a_run() {
    let app = TestApp::with(|options| options.limits.live_runs_per_second_max = 100_000);
    let ada = app.user("ada");
    add(&ada, "r", "a,c,e,g");
    let mut seen: Vec<_> = (0..5).map(|_| ada.watch(PAGE, args(false, opts(2, &Value::Null, None)))).collect();
    for watch in &mut seen {
        assert_eq!(names(watch.next().value()), ["a", "c"]);
    }
    let before = super::runs_again(&app);
    add(&ada, "r", "b");
    for watch in &mut seen {
        assert_eq!(names(watch.next().value()), ["a", "b", "c"]);
    }
    assert_eq!(super::runs_again(&app) - before, 1);
}
