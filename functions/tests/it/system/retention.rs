//! The nightly deletion of expired rows.

use std::time::Duration;

use convoke::NoArgs;
use convoke::testing::TestApp;
use functions::system::retention;
use schema::{AuditEntry, MediaSession, Meeting, OfflineOperation, Participant, QueueEntry};
use serde_json::json;

use crate::support::{id_of, meeting, system};

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// Moves the clock without running due jobs.
fn later(app: &TestApp, by: Duration) {
    app.clock().advance(by);
}

#[test]
fn each_kind_of_row_is_kept_as_long_as_it_says() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let ada_id = id_of(&ada);
    let id = meeting(&ada, &[]);
    let run = || system(&app);
    for (session, state) in [("open", "connected"), ("closed", "closed"), ("failed", "failed")] {
        let args = json!({"meetingId": id, "userId": ada_id, "sessionId": session, "state": state});
        run().call("probes/putSession", args).value();
    }
    for (operation, status) in [("o1", "pending"), ("o2", "synced"), ("o3", "failed")] {
        let args = json!({"meetingId": id, "userId": ada_id, "operationId": operation, "status": status});
        run().call("probes/putOfflineOperation", args).value();
    }
    for status in ["waiting", "matched", "expired", "cancelled"] {
        let args = json!({"userId": ada_id, "status": status});
        run().call("probes/putQueueEntry", args).value();
    }
    let counts = || {
        run().run::<retention>(NoArgs {}).unwrap();
        (
            app.count::<MediaSession>(),
            app.count::<OfflineOperation>(),
            app.count::<QueueEntry>(),
            app.count::<AuditEntry>(),
        )
    };
    assert_eq!(counts(), (3, 3, 4, 1));
    later(&app, 30 * DAY);
    assert_eq!(counts(), (3, 3, 4, 1));
    later(&app, Duration::from_millis(1));
    assert_eq!(counts(), (1, 1, 4, 1));
    later(&app, 61 * DAY);
    assert_eq!(counts(), (1, 1, 1, 1));
    later(&app, 275 * DAY);
    assert_eq!(counts(), (1, 1, 1, 0));
    assert_eq!((app.count::<Meeting>(), app.count::<Participant>()), (1, 1), "these are kept for good");
    // There may be more expired rows: the next batch checks.
    app.advance(Duration::from_secs(1));
}

#[test]
fn rows_beyond_one_batch_are_removed_in_later_batches() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let ada_id = id_of(&ada);
    let id = meeting(&ada, &[]);
    for i in 0..400 {
        let args = json!({"meetingId": id, "userId": ada_id, "sessionId": format!("s{i}"), "state": "closed"});
        system(&app).call("probes/putSession", args).value();
    }
    later(&app, 31 * DAY);
    system(&app).run::<retention>(NoArgs {}).unwrap();
    assert_eq!(app.count::<MediaSession>(), 250, "a batch holds the writer for a short time only");
    app.advance(Duration::from_secs(1));
    assert_eq!(app.count::<MediaSession>(), 0);
}

#[test]
fn the_night_comes_by_itself() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let args = json!({"meetingId": meeting(&ada, &[]), "userId": id_of(&ada), "sessionId": "s", "state": "closed"});
    system(&app).call("probes/putSession", args).value();
    app.run_due();
    later(&app, 31 * DAY);
    app.run_due();
    assert_eq!(app.count::<MediaSession>(), 0);
}

#[test]
fn an_entry_of_the_queue_is_kept_from_its_end_and_not_from_its_window() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let now = app.now().get();
    let day = 24 * 3_600_000;
    let window = json!({
        "availableFrom": now + 29 * day, "availableTo": now + 58 * day,
        "constraints": {"interests": [], "roles": []},
    });
    ada.call("matching/index/enterMatchingQueue", window).value();
    ada.call("matching/queue/cancelQueueEntry", json!({})).value();
    let left = || {
        system(&app).run::<retention>(NoArgs {}).unwrap();
        app.count::<QueueEntry>()
    };
    later(&app, 90 * DAY);
    assert_eq!(left(), 1);
    later(&app, Duration::from_millis(1));
    assert_eq!(left(), 0);
    app.run_due();
}
