//! Places that are missing, damaged, or have copies of another database.

use std::fs;

use convoke_copies::restore::{Moment, restore};
use convoke_store::StoreError;
use convoke_store::conformance::support::Account;

use crate::support::{COPIED, Copied, files, open_place, restored, rows, settings, until};

#[test]
fn missing_place_delays_only_the_copies() {
    let folder = tempfile::tempdir().unwrap();
    let (data, place, away) = (folder.path().join("data"), folder.path().join("place"), folder.path().join("away"));
    fs::create_dir(&place).unwrap();
    let copied = Copied::open(&data, &settings(&place, ""));
    copied.insert("before", 1).unwrap();
    copied.wait();
    fs::rename(&place, &away).unwrap();
    copied.insert("meanwhile", 2).unwrap();
    until("the failure", || copied.shipper.status().state().error.is_some());
    let state = copied.shipper.status().state();
    assert!(state.commits_behind > 0, "{state:?}");
    assert!(state.error.as_ref().is_some_and(|error| error.contains("does not exist")), "{state:?}");
    assert!(!place.exists(), "a folder that may be an unmounted disk is not created");
    fs::rename(&away, &place).unwrap();
    copied.wait();
    assert_eq!(restored(&place, Moment::Newest).1, rows(&copied.store));

    // More changes than are held in memory lead to a new snapshot.
    fs::rename(&place, &away).unwrap();
    let letters = "x".repeat(1_900);
    for part in 0..40 {
        let letters = letters.clone();
        let filled = copied.start(move |db| {
            for row in 0..500 {
                let number = part * 500 + row;
                db.insert(Account { owner: format!("{number} {letters}"), balance: 1_000 + number })?;
            }
            Ok(())
        });
        filled.wait().unwrap();
    }
    until("the failure", || copied.shipper.status().state().error.is_some());
    fs::rename(&away, &place).unwrap();
    copied.wait();
    copied.insert("after", 3).unwrap();
    copied.wait();
    assert_eq!(files(&place, 1, 9).len(), 2);
    let expected = rows(&copied.store);
    copied.close();
    assert!(restored(&place, Moment::Newest).1 == expected);
}

#[test]
fn place_with_copies_of_another_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    let first = Copied::open(&folder.path().join("first"), &settings(&place, ""));
    first.insert("first", 1).unwrap();
    first.wait();
    first.close();
    let other = Copied::open(&folder.path().join("other"), &settings(&place, ""));
    until("the refusal", || other.shipper.status().state().error.is_some());
    let error = other.shipper.status().state().error.unwrap();
    assert!(error.contains("already has copies of a database (generation 1)"), "{error}");
    other.insert("other", 2).unwrap();
    other.close();
    assert!(restored(&place, Moment::Newest).1.contains_key("first"));
}

#[test]
fn mutation_that_is_not_copied_in_time_has_an_unknown_outcome() {
    let folder = tempfile::tempdir().unwrap();
    let (place, away) = (folder.path().join("place"), folder.path().join("away"));
    fs::create_dir(&place).unwrap();
    let copied = Copied::open(&folder.path().join("data"), &settings(&place, COPIED));
    copied.insert("copied", 1).unwrap();
    fs::rename(&place, &away).unwrap();
    let unknown = copied.insert("unknown", 2);
    assert!(matches!(unknown, Err(StoreError::CommitUnknown(_))), "{unknown:?}");
    // It is committed here, and copied later.
    assert!(rows(&copied.store).contains_key("unknown"));
    fs::rename(&away, &place).unwrap();
    copied.insert("later", 3).unwrap();
    let expected = rows(&copied.store);
    copied.close();
    assert_eq!(restored(&place, Moment::Newest).1, expected);
}

#[test]
fn damaged_or_missing_file_is_named_and_nothing_is_restored_silently() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("place");
    fs::create_dir(&place).unwrap();
    let copied = Copied::open(&folder.path().join("data"), &settings(&place, ""));
    for number in 0..5 {
        copied.insert(&format!("row {number}"), number + 200).unwrap();
        copied.wait();
    }
    copied.close();
    let level = place.join("00000001/ltx/0");
    let names = files(&place, 1, 0);
    let middle = level.join(&names[2]);
    let fails = || {
        let to = folder.path().join("restored.db");
        restore(&open_place(&place), None, Moment::Newest, &to, &mut |_, _| {}).unwrap_err().to_string()
    };
    let whole = fs::read(&middle).unwrap();
    let mut damaged = whole.clone();
    // The last byte of the checksum. A changed block may still be unpacked to the same page, which is no damage.
    let half = damaged.len() / 2;
    *damaged.last_mut().unwrap() ^= 1;
    fs::write(&middle, damaged).unwrap();
    assert!(fails().contains(&names[2]), "{}", fails());
    fs::write(&middle, &whole[..half]).unwrap();
    assert!(fails().contains(&names[2]), "{}", fails());
    fs::remove_file(&middle).unwrap();
    assert!(fails().contains("are missing; restore the state before with --commit"), "{}", fails());
}
