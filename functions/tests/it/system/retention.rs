//! The nightly end of what is not needed any more.

use std::time::Duration;

use convoke::NoArgs;
use convoke::testing::TestApp;
use functions::system::retention;
use schema::{AuditEntry, MediaSession, Meeting, OfflineOperation, Participant, QueueEntry};
use serde_json::json;

use crate::probes::{put_offline_operation, put_queue_entry, put_session};
use crate::support::{id_of, meeting, system};

const DAY: Duration = Duration::from_secs(24 * 3_600);

#[test]
fn each_kind_of_row_is_kept_as_long_as_it_says() {
    let app = TestApp::new();
    let ada = app.user("ada");
    let ada_id = id_of(&ada);
    let id = meeting(&ada, &[]);
    let run = || system(&app);
    for (session, state) in [("open", "connected"), ("closed", "closed"), ("failed", "failed")] {
        let args = json!({"meetingId": id, "userId": ada_id, "sessionId": session, "state": state});
        run().run::<put_session>(serde_json::from_value::<crate::probes::PutSession>(args).unwrap()).unwrap();
    }
    for (operation, status) in [("o1", "pending"), ("o2", "synced"), ("o3", "failed")] {
        let args = json!({"meetingId": id, "userId": ada_id, "operationId": operation, "status": status});
        run()
            .run::<put_offline_operation>(serde_json::from_value::<crate::probes::PutOfflineOperation>(args).unwrap())
            .unwrap();
    }
    for status in ["waiting", "matched", "expired", "cancelled"] {
        let args = json!({"userId": ada_id, "status": status});
        run().run::<put_queue_entry>(serde_json::from_value::<crate::probes::PutWaitingEntry>(args).unwrap()).unwrap();
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
    app.advance(30 * DAY);
    assert_eq!(counts(), (3, 3, 4, 1));
    app.advance(Duration::from_millis(1));
    assert_eq!(counts(), (1, 1, 4, 1));
    app.advance(61 * DAY);
    assert_eq!(counts(), (1, 1, 1, 1));
    app.advance(275 * DAY);
    assert_eq!(counts(), (1, 1, 1, 0));
    assert_eq!((app.count::<Meeting>(), app.count::<Participant>()), (1, 1), "these are kept for good");
}
