//! A disk that fills: users read, the operator and scheduled work go on, and so does everybody once there is room.

use std::sync::Arc;
use std::time::Duration;

use convoke::store::{HeldDisk, Room};
use convoke::testing::TestApp;
use serde_json::json;

use super::functions::Counter;

const MIB: u64 = 1024 * 1024;

/// Waits until the store has looked at its disk, and says what it says of itself then.
fn ready(app: &TestApp, is_ready: bool) -> Result<(), String> {
    for _ in 0..2_000 {
        if app.ready().is_ok() == is_ready {
            break;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    app.ready()
}

#[test]
fn low_disk_space_rejects_writes_of_users_until_it_recovers() {
    let app = TestApp::new();
    let (increment, read) = ("call/functions/increment", "call/functions/read");
    let (ada, args) = (app.user("ada"), json!({ "name": "a" }));
    assert_eq!(ada.call(increment, args.clone()).value(), &json!(1));
    ada.call("scheduler/functions/planAsCaller", json!({ "n": 1, "afterMs": 0 })).value();

    app.disk().set(Room { free_bytes: 1_023 * MIB, total_bytes: 1024 * 1024 * MIB });
    let reason = ready(&app, false).unwrap_err();
    assert_eq!(reason, "the disk has 1023 MiB free, and calls write with 1024 MiB or more only; make room");
    for caller in [ada.clone(), app.nobody(), app.deploy_key(&["functions", "act-as"]).acting_as("ada")] {
        assert_eq!(caller.call(increment, args.clone()).code(), "NOT_READY");
    }
    assert_eq!(ada.call(read, args.clone()).value(), &json!(1));
    assert_eq!(app.deploy_key(&["functions"]).call(increment, args.clone()).value(), &json!(2));
    app.block_on(app.store_performance()).unwrap();
    assert_eq!(app.run_due(), 1, "what was accepted before runs");

    app.disk().set(Room { free_bytes: 1_100 * MIB, total_bytes: 1024 * 1024 * MIB });
    assert!(ready(&app, false).is_err(), "a little more than the least is not enough to go on");
    app.disk().set(Room { free_bytes: 1_127 * MIB, total_bytes: 1024 * 1024 * MIB });
    ready(&app, true).unwrap();
    assert_eq!(ada.call(increment, args).value(), &json!(3));
    assert_eq!(app.count::<Counter>(), 1);
}

#[test]
fn server_on_a_full_disk_starts_not_ready() {
    let disk = Arc::new(HeldDisk::default());
    disk.set(Room { free_bytes: 0, total_bytes: 1024 * 1024 * MIB });
    let app = TestApp::with(|options| options.disk = disk.clone());
    assert!(app.ready().is_err());
    assert_eq!(app.user("ada").call("call/functions/increment", json!({ "name": "a" })).code(), "NOT_READY");
    let off = TestApp::with(|options| {
        options.disk = disk;
        options.limits.disk_free_bytes_min = 0;
    });
    off.ready().unwrap();
}
