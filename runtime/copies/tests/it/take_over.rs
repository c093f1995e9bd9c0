//! A second server that continues the copies of a lost one.

use std::fs;

use convoke_copies::restore::{Moment, restore};
use convoke_copies::take_over;
use convoke_store::conformance::support::clock;
use convoke_store::{EngineFactory as _, StoreError};

use crate::support::{COPIED, Copied, engine, open_place, restored, rows, settings, until};

#[test]
fn former_server_can_no_longer_copy_or_acknowledge() {
    let folder = tempfile::tempdir().unwrap();
    let (place, second) = (folder.path().join("place"), folder.path().join("second"));
    fs::create_dir(&place).unwrap();
    let former = Copied::open(&folder.path().join("first"), &settings(&place, COPIED));
    former.insert("acknowledged", 1).unwrap();

    // The second server is made of the copies, while the former one still runs.
    let file = folder.path().join("restored.db");
    let (note, generation) = take_over(&open_place(&place), clock().now()).unwrap();
    let source = restore(&open_place(&place), None, Moment::Newest, &file, &mut |_, _| {}).unwrap();
    assert_eq!((generation, source.generation), (2, 1));
    let installation = engine().lock(&second, clock()).unwrap();
    installation.take_in(&file, &mut |_| {}).unwrap();
    installation.replace().unwrap();
    installation.set_feed_note(&note).unwrap();
    drop(installation);
    let next = Copied::open(&second, &settings(&place, COPIED));
    next.insert("continued", 2).unwrap();

    let late = former.insert("late", 3);
    assert!(matches!(late, Err(StoreError::CommitUnknown(_))), "{late:?}");
    until("the refusal", || {
        former.shipper.status().state().error.is_some_and(|error| error.contains("has taken over these copies"))
    });
    former.close();
    let expected = rows(&next.store);
    next.close();
    let (newest, found) = restored(&place, Moment::Newest);
    assert_eq!((newest.generation, found), (2, expected));

    // Also after a restart, the former server does not continue.
    let former = Copied::open(&folder.path().join("first"), &settings(&place, ""));
    until("the refusal", || former.shipper.status().state().error.is_some_and(|error| error.contains("generation 2")));
    former.close();
    assert_eq!(restored(&place, Moment::Newest).0.generation, 2);
}

#[test]
fn place_that_has_become_empty_gets_no_new_generation() {
    let folder = tempfile::tempdir().unwrap();
    let (place, away) = (folder.path().join("place"), folder.path().join("away"));
    fs::create_dir(&place).unwrap();
    let server = Copied::open(&folder.path().join("data"), &settings(&place, COPIED));
    server.insert("acknowledged", 1).unwrap();
    server.close();
    // As after a start of the machine at which the disk was not mounted.
    fs::rename(&place, &away).unwrap();
    fs::create_dir(&place).unwrap();
    let server = Copied::open(&folder.path().join("data"), &settings(&place, ""));
    until("the refusal", || {
        server.shipper.status().state().error.is_some_and(|error| error.contains("mount its disk"))
    });
    server.close();
    assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    fs::remove_dir(&place).unwrap();
    fs::rename(&away, &place).unwrap();
    let server = Copied::open(&folder.path().join("data"), &settings(&place, COPIED));
    server.insert("acknowledged again", 2).unwrap();
    server.close();
}
