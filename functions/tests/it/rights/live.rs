//! The table for live queries: subscribers have the same rights as callers, and only as long as they have them.

use convoke::testing::{Reply, TestCaller, Watch};
use convoke_calls::function::Kind;
use serde_json::json;

use super::access::{answer, callable};
use super::fixture::{Fixture, Who};
use super::rows::{Cell, Row};

/// The queries of the table.
fn queries(fixture: &Fixture) -> Vec<Row> {
    let registry = fixture.app.runtime().registry();
    let is_query = |row: &Row| registry.get(row.path).unwrap().kind() == Kind::Query;
    callable(fixture).into_iter().filter(is_query).collect()
}

fn watched<'app>(caller: &TestCaller<'app>, rows: &[Row]) -> Vec<Watch<'app>> {
    rows.iter().map(|row| caller.watch(row.path, row.args.clone())).collect()
}

#[test]
fn live_query_has_the_same_access_as_a_call() {
    let fixture = Fixture::new();
    let mut wrong = Vec::new();
    for row in queries(&fixture) {
        for who in Who::ALL {
            let seen = fixture.caller(who).watch(row.path, row.args.clone()).next();
            if answer(&seen) != row.cell(who).refusal() {
                wrong.push(format!("{} as {who:?}: {:?}", row.path, answer(&seen)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn removed_participant_receives_the_removal_and_no_further_results() {
    let fixture = Fixture::new();
    let (participant, host) = (fixture.caller(Who::Participant), fixture.caller(Who::Host));
    let of_meeting = |row: &Row| row.cell(Who::Participant) == Cell::Yes && row.cell(Who::Removed) == Cell::NoPlace;
    let rows: Vec<Row> = queries(&fixture).into_iter().filter(of_meeting).collect();
    assert!(rows.len() > 8, "the queries of a meeting are among them");
    let mut seen = watched(&participant, &rows);
    for watch in &mut seen {
        assert!(watch.next().is_success());
    }
    for meeting in [&fixture.ids.meeting, &fixture.ids.planned] {
        let removed = json!({"meetingId": meeting, "userId": fixture.ids.participant});
        host.call("meetings/lifecycle/removeParticipant", removed).value();
    }
    let mut wrong = Vec::new();
    let mut check = |row: &Row, told: Option<Reply>, expected| {
        let told = told.as_ref().map(answer);
        if told != expected {
            wrong.push(format!("{}: {told:?} instead of {expected:?}", row.path));
        }
    };
    for (row, watch) in rows.iter().zip(&mut seen) {
        check(row, watch.now(), Some(Cell::NoPlace.refusal()));
    }
    // They no longer receive changes of the meeting.
    let edit = json!({
        "meetingId": fixture.ids.meeting, "clientSequence": 1, "operationId": "after",
        "operation": {"type": "insert", "position": 0, "content": "Among us. "},
    });
    host.call("notes/index/applyNoteOperation", edit).value();
    host.call("meetings/lifecycle/endMeeting", json!({"meetingId": fixture.ids.meeting})).value();
    for (row, watch) in rows.iter().zip(&mut seen) {
        check(row, watch.now(), None);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn deactivated_account_receives_no_further_results() {
    let fixture = Fixture::new();
    let mut wrong = Vec::new();
    for (who, subject) in [(Who::Participant, "participant"), (Who::Host, "host"), (Who::Admin, "admin")] {
        let caller = fixture.caller(who);
        let rows: Vec<Row> = queries(&fixture).into_iter().filter(|row| row.cell(who) == Cell::Yes).collect();
        let mut seen = watched(&caller, &rows);
        for (row, watch) in rows.iter().zip(&mut seen) {
            assert!(watch.next().is_success(), "{} as {who:?}", row.path);
        }
        let id = crate::support::id_of(&fixture.key_as(subject));
        fixture.caller(Who::Key).call("users/mutations/deactivateUser", json!({"userId": id})).value();
        for (row, watch) in rows.iter().zip(&mut seen) {
            let told = watch.now();
            if told.as_ref().and_then(answer) != Some(("FORBIDDEN", "Account is deactivated")) {
                wrong.push(format!("{} as {who:?}: {:?}", row.path, told.as_ref().map(answer)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
