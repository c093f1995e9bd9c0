//! Readers and the writer are shared out among identities: one that floods keeps no one else waiting for long.
//!
//! The calls of the one who floods are kept where they are until everything is lined up, so that what is compared is an
//! order and never a time. The clock stands still: a call costs its flow the least that any call does, and some of a
//! flow's calls fit in its turn.

use std::thread::{self, Scope, ScopedJoinHandle};

use convoke::embed::Limits;
use convoke::store::Stats;
use convoke::testing::{HttpReply, TestApp, TestServer};
use serde_json::json;

use super::functions::Kept;

/// More calls than any turn has, and far fewer than those that flood.
const A_TURN: u64 = 10;
const FLOOD: usize = 60;

fn app(limits: impl FnOnce(&mut Limits)) -> TestApp {
    TestApp::with(|options| {
        // A kept call is no slow one.
        options.limits.query_timeout = std::time::Duration::from_secs(600);
        options.limits.mutation_timeout = std::time::Duration::from_secs(600);
        limits(&mut options.limits);
    })
}

/// Waits until the store's figures are as they should be.
#[track_caller]
fn until(app: &TestApp, what: impl Fn(&Stats) -> bool) {
    for _ in 0..60_000 {
        if what(&app.runtime().store().stats()) {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("it never came to that: {:?}", app.runtime().store().stats());
}

/// Lets all calls go when the test ends, also one that fails.
struct ReleaseAll<'a>(&'a Kept);

impl Drop for ReleaseAll<'_> {
    fn drop(&mut self) {
        ["first", "flood", "alone", "more", "adas"].into_iter().for_each(|name| self.0.release(name));
    }
}

/// Calls over connections of their own, each on a thread.
fn calls<'scope>(
    scope: &'scope Scope<'scope, '_>,
    server: &'scope TestServer<'_>,
    token: Option<&'scope str>,
    path: &'static str,
    names: impl IntoIterator<Item = &'static str>,
) -> Vec<ScopedJoinHandle<'scope, HttpReply>> {
    let call = |name: &'static str| {
        scope.spawn(move || server.call(token, &format!("call/functions/{path}"), &json!({ "name": name })))
    };
    names.into_iter().map(call).collect()
}

/// A call that has no arguments.
fn asks<'scope>(
    scope: &'scope Scope<'scope, '_>,
    server: &'scope TestServer<'_>,
    token: Option<&'scope str>,
    path: &'static str,
) -> ScopedJoinHandle<'scope, HttpReply> {
    scope.spawn(move || server.call(token, &format!("call/functions/{path}"), &json!({})))
}

#[track_caller]
fn succeed(replies: Vec<ScopedJoinHandle<'_, HttpReply>>) {
    for reply in replies {
        reply.join().unwrap().value();
    }
}

#[track_caller]
fn number(reply: ScopedJoinHandle<'_, HttpReply>) -> u64 {
    reply.join().unwrap().value().as_u64().unwrap()
}

#[test]
fn read_waits_for_one_read_of_a_flooding_caller() {
    let app = app(|limits| limits.readers = 1);
    let (server, kept) = (app.serve(), app.runtime().memory::<Kept>());
    let (hog, ada) = (server.token("hog"), server.token("ada"));
    for token in [&hog, &ada] {
        server.call(Some(token), "call/functions/nothing", &json!({})).value();
    }
    thread::scope(|scope| {
        let _at_the_end = ReleaseAll(&kept);
        let flood = calls(scope, &server, Some(&hog), "keepAReader", ["flood"; FLOOD]);
        until(&app, |figures| figures.reader_queue == FLOOD - 1);
        let adas = asks(scope, &server, Some(&ada), "keptBefore");
        until(&app, |figures| figures.reader_queue == FLOOD);
        let nobodys = asks(scope, &server, None, "keptBefore");
        until(&app, |figures| figures.reader_queue == FLOOD + 1);
        let of_an_action = asks(scope, &server, Some(&ada), "askWhatWasKept");
        until(&app, |figures| figures.reader_queue == FLOOD + 2);
        kept.release("flood");
        let before = [number(adas), number(nobodys), number(of_an_action)];
        assert!(before.iter().all(|before| (1..=1 + A_TURN).contains(before)), "{before:?} of {FLOOD} came before");
        succeed(flood);
    });
}

#[test]
fn flooding_caller_leaves_one_reader_free() {
    let app = app(|limits| limits.readers = 3);
    let (server, kept) = (app.serve(), app.runtime().memory::<Kept>());
    let (hog, ada) = (server.token("hog"), server.token("ada"));
    for token in [&hog, &ada] {
        server.call(Some(token), "call/functions/nothing", &json!({})).value();
    }
    thread::scope(|scope| {
        let _at_the_end = ReleaseAll(&kept);
        let flood = calls(scope, &server, Some(&hog), "keepAReader", ["flood"; FLOOD]);
        // A reader is busy from when it is granted, a moment before its call begins.
        let are_kept = || kept.begun().len() == 2;
        until(&app, |figures| figures.reader_queue == FLOOD - 2 && figures.readers_busy == 2 && are_kept());
        for token in [Some(&ada), None] {
            assert_eq!(number(asks(scope, &server, token.map(String::as_str), "keptBefore")), 2);
        }
        kept.release("flood");
        succeed(flood);
    });
}

#[test]
fn write_waits_for_one_write_of_a_flooding_caller() {
    let app = app(|_| {});
    let (server, kept) = (app.serve(), app.runtime().memory::<Kept>());
    let (hog, ada) = (server.token("hog"), server.token("ada"));
    for token in [&hog, &ada] {
        server.call(Some(token), "call/functions/nothing", &json!({})).value();
    }
    thread::scope(|scope| {
        let _at_the_end = ReleaseAll(&kept);
        let flood = calls(scope, &server, Some(&hog), "keepTheWriter", ["flood"; FLOOD]);
        until(&app, |figures| figures.writer_queue == FLOOD - 1);
        let adas = asks(scope, &server, Some(&ada), "keptBeforeWriting");
        until(&app, |figures| figures.writer_queue == FLOOD);
        kept.release("flood");
        let before = number(adas);
        assert!((1..=1 + A_TURN).contains(&before), "{before} of {FLOOD} came before");
        succeed(flood);
    });
}

#[test]
fn first_write_of_an_identity_waits_for_one_read_of_a_flooding_caller() {
    let app = app(|limits| limits.readers = 1);
    let (server, kept) = (app.serve(), app.runtime().memory::<Kept>());
    let (hog, ada) = (server.token("hog"), server.token("ada"));
    server.call(Some(&hog), "call/functions/nothing", &json!({})).value();
    thread::scope(|scope| {
        let _at_the_end = ReleaseAll(&kept);
        let first = calls(scope, &server, Some(&hog), "keepAReader", ["first"]);
        until(&app, |figures| figures.readers_busy == 1);
        let flood = calls(scope, &server, Some(&hog), "keepAReader", ["flood"; FLOOD]);
        until(&app, |figures| figures.reader_queue == FLOOD);
        // Before it is written for a person who may be new, it is read whether they are.
        let adas = asks(scope, &server, Some(&ada), "keptBeforeWriting");
        until(&app, |figures| figures.reader_queue == FLOOD + 1);
        kept.release("first");
        until(&app, |_| adas.is_finished());
        assert!(number(adas) <= 2, "it came before all but one of the flood");
        kept.release("flood");
        succeed(first);
        succeed(flood);
    });
}

#[test]
fn contended_identity_gets_half_of_the_readers() {
    let app = app(|limits| limits.readers = 4);
    let (server, kept) = (app.serve(), app.runtime().memory::<Kept>());
    let (hog, ada) = (server.token("hog"), server.token("ada"));
    for token in [&hog, &ada] {
        server.call(Some(token), "call/functions/nothing", &json!({})).value();
    }
    thread::scope(|scope| {
        let _at_the_end = ReleaseAll(&kept);
        let alone = calls(scope, &server, Some(&hog), "keepAReader", ["alone"; 3]);
        until(&app, |figures| figures.readers_busy == 3);
        let more = calls(scope, &server, Some(&hog), "keepAReader", ["more"; 8]);
        until(&app, |figures| figures.reader_queue == 8);
        let adas = calls(scope, &server, Some(&ada), "keepAReader", ["adas"; 8]);
        until(&app, |figures| figures.reader_queue == 15 && figures.readers_busy == 4);
        kept.release("alone");
        until(&app, |figures| figures.reader_queue == 12);
        until(&app, |_| kept.begun().len() == 7);
        let mut begun = kept.begun();
        begun.sort_unstable();
        assert_eq!(begun, ["adas", "adas", "alone", "alone", "alone", "more", "more"]);
        kept.release("more");
        kept.release("adas");
        succeed(alone);
        succeed(more);
        succeed(adas);
    });
}

#[test]
fn contended_identity_gets_an_eighth_of_the_queue() {
    let app = app(|limits| {
        limits.readers = 1;
        limits.reader_queue_max = 16;
    });
    let (server, kept) = (app.serve(), app.runtime().memory::<Kept>());
    let (hog, ada) = (server.token("hog"), server.token("ada"));
    for token in [&hog, &ada] {
        server.call(Some(token), "call/functions/keptBefore", &json!({})).value();
    }
    thread::scope(|scope| {
        let _at_the_end = ReleaseAll(&kept);
        let flood = calls(scope, &server, Some(&hog), "keepAReader", ["flood"; 17]);
        until(&app, |figures| figures.reader_queue == 16);
        let beyond = server.call(Some(&hog), "call/functions/keptBefore", &json!({}));
        assert_eq!((beyond.status, beyond.code()), (503, "OVERLOADED"));

        let adas = calls(scope, &server, Some(&ada), "keepAReader", ["adas"; 2]);
        until(&app, |figures| figures.reader_share_rejections == 2);
        for token in [&hog, &ada] {
            let reply = server.call(Some(token), "call/functions/keptBefore", &json!({}));
            assert_eq!((reply.status, reply.code()), (503, "OVERLOADED"));
            let message = reply.body["errorMessage"].as_str().unwrap();
            assert_eq!(message, "Too many of your calls are waiting while others wait too; send fewer at once");
        }
        kept.release("flood");
        kept.release("adas");
        succeed(adas);
        let (served, pushed_out): (Vec<_>, Vec<_>) =
            flood.into_iter().map(|reply| reply.join().unwrap().status).partition(|status| *status == 200);
        assert_eq!((served.len(), pushed_out), (15, vec![503, 503]));
        until(&app, |stats| (stats.reader_share_rejections, stats.writer_share_rejections) == (4, 0));
    });
}
