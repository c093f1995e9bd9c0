//! Guarantees of the tables' indexes, on a real database.

use convoke::prelude::*;
use convoke::testing::TestApp;
use convoke::{args, mutation};
use schema::*;
use serde_json::json;

/// The user and the state of an entry.
#[args]
pub(crate) struct QueueUp {
    pub user: Id<User>,
    pub status: QueueStatus,
}

/// Inserts a queue entry without a check.
#[mutation]
pub(crate) fn queue_up(ctx: &mut MutationCtx, args: QueueUp) -> Result<Id<QueueEntry>> {
    let entry = QueueEntry {
        user_id: args.user,
        available_from: ctx.now(),
        available_to: ctx.now(),
        constraints: MatchConstraints {
            interests: List::default(),
            roles: List::default(),
            org_constraints: Some(OrgConstraint::new("same").map_err(|why| why.at("orgConstraints"))?),
        },
        status: args.status,
        match_id: None,
        updated_at: ctx.now(),
        ticket: None,
    };
    Ok(ctx.db_mut().insert(entry)?)
}

/// The sequence and the id of an operation.
#[args]
pub(crate) struct LogOperation {
    pub sequence: Natural,
    pub operation_id: Option<ClientToken>,
}

/// Logs an operation without a check.
#[mutation]
pub(crate) fn log_operation(ctx: &mut MutationCtx, args: LogOperation) -> Result<()> {
    let operation = NoteEdit { kind: OperationType::Insert, position: 0, content: "x".to_owned(), length: 1 };
    let row = NoteOperation {
        meeting_id: Id::from_bits(1),
        sequence: args.sequence.get(),
        version: args.sequence.get(),
        author_id: Id::from_bits(2),
        fingerprint: Some(Fingerprint::of(&operation)),
        kind: Some(operation.kind),
        position: Some(operation.position),
        length: Some(operation.length),
        operation,
        conflicts_with: vec![ChangedBy::Entries(1, 2), ChangedBy::Entry(Id::from_bits(3))],
        operation_id: args.operation_id.map(OperationId::online),
        pieces: 1,
    };
    ctx.db_mut().insert(row)?;
    Ok(())
}

#[test]
fn user_has_one_waiting_entry_and_any_number_of_finished_ones() {
    let app = TestApp::new();
    let queue = |user: u128, status: &str| {
        app.nobody().call("store/queueUp", json!({"user": Id::<User>::from_bits(user), "status": status}))
    };
    assert!(queue(1, "waiting").is_success());
    assert_eq!(queue(1, "waiting").code(), "CONFLICT");
    assert!(queue(2, "waiting").is_success());
    for _ in 0..2 {
        assert!(queue(1, "matched").is_success());
        assert!(queue(1, "expired").is_success());
    }
    assert_eq!(app.count::<QueueEntry>(), 6);
}

#[test]
fn operation_id_is_unique_and_operations_without_one_never_conflict() {
    let app = TestApp::new();
    let log = |sequence: i64, id: Option<&str>| {
        app.nobody().call("store/logOperation", json!({"sequence": sequence, "operationId": id}))
    };
    assert!(log(1, Some("a")).is_success());
    assert_eq!(log(2, Some("a")).code(), "CONFLICT");
    assert!(log(2, Some("b")).is_success());
    assert!(log(3, None).is_success());
    assert!(log(4, None).is_success());
    assert_eq!(log(4, None).code(), "CONFLICT");
    assert_eq!(app.count::<NoteOperation>(), 4);
}

#[test]
fn row_is_read_as_it_was_written() {
    let app = TestApp::new();
    let user = Id::<User>::from_bits(7);
    app.nobody().call("store/queueUp", json!({"user": user, "status": "waiting"})).value();
    app.nobody().call("store/logOperation", json!({"sequence": 1, "operationId": "a"})).value();

    let entry = app.read(|db| Ok(db.query(QueueEntry::one_waiting).eq(user).unique()?)).unwrap();
    assert_eq!(entry.status, QueueStatus::Waiting);
    assert_eq!(entry.constraints.org_constraints.as_deref(), Some("same"));

    let operation = app.read(|db| {
        let logged = db.query(NoteOperation::by_meeting_author_operation);
        Ok(logged.eq(Id::<Meeting>::from_bits(1)).eq(Id::<User>::from_bits(2)).eq("a").unique()?)
    });
    let operation = operation.unwrap();
    assert_eq!(operation.operation.content, "x");
    assert_eq!(operation.conflicts_with, [ChangedBy::Entries(1, 2), ChangedBy::Entry(Id::from_bits(3))]);
    assert_eq!(operation.fingerprint, Some(Fingerprint::of(&operation.operation)));
}
