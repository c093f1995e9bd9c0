//! Precision of recorded reads: the fraction of runs caused by commits that have another result.

use std::sync::atomic::Ordering::Relaxed;

use convoke::testing::TestApp;
use serde_json::json;

use super::{add, of, runs_again, subscribe};

const ROOMS: [&str; 3] = ["north", "south", "west"];

/// Steps of a fixed pseudo-random course: of Knuth's linear congruential generator.
fn course() -> impl Iterator<Item = usize> {
    let next =
        |state: &u64| Some(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
    std::iter::successors(Some(7), next).map(|state| (state >> 33) as usize)
}

#[test]
fn most_reruns_change_the_result() {
    let app = TestApp::with(|options| options.limits.live_runs_per_second_max = 1_000_000);
    let ada = app.user("ada");
    let mut queries = Vec::new();
    for room in ROOMS {
        queries.extend((0..10).map(|name| ("live/functions/count", of(room, &format!("{name:02}")))));
        queries.extend((1..5).map(|rows| ("live/functions/top", json!({ "room": room, "rows": rows }))));
        let opts = json!({ "numItems": 4, "cursor": null });
        queries.extend([true, false].map(|by_count| {
            ("live/functions/page", json!({ "room": room, "byCount": by_count, "paginationOpts": opts }))
        }));
    }
    let mut connection = ada.live().unwrap();
    subscribe(&app, &mut connection, &queries);
    assert_eq!(app.block_on(connection.next()).unwrap().results.len(), queries.len());
    let (sent, mut course) = (|| app.live().stats().sent.load(Relaxed), course());
    let (caused, differed) = (runs_again(&app), sent());
    for _ in 0..400 {
        let mut next = |below| course.next().unwrap() % below;
        let (room, name) = (ROOMS[next(ROOMS.len())], format!("{:02}", next(20)));
        match next(5) {
            0 => drop(ada.call("live/functions/forget", of(room, &name)).value().clone()),
            _ => add(&ada, room, &name),
        }
        while app.block_on(connection.catch_up()).unwrap().is_some() {}
    }
    let (caused, differed) = (runs_again(&app) - caused, sent() - differed);
    println!("{caused} runs were caused, {differed} came to another result: {} %", 100 * differed / caused);
    // Kept: a change of these figures is a change of what runs are caused by.
    assert_eq!((caused, differed), (1_368, 1_059));
}
