//! Restored moments equal the database at that time.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};

use convoke_copies::restore::Moment;
use convoke_copies::survey::survey;
use convoke_store::conformance::support::{Account, ByOwner, clock};
use convoke_store::{StoreError, Table as _};

use crate::support::{COPIED, Copied, Rows, files, open_place, restored, rows, settings};

/// A change of the model and of the database.
#[derive(Clone)]
pub(crate) enum Change {
    Set(String, i64),
    Remove(String),
    /// Many rows in one transaction, more than the log holds between two checkpoints.
    Fill(u32, i64),
}

impl Change {
    pub(crate) fn random(random: &mut StdRng) -> Self {
        let owner = format!("owner {}", random.random_range(0..300));
        match random.random_range(0..20) {
            0..12 => Change::Set(owner, random.random_range(101..1_000_000)),
            12..19 => Change::Remove(owner),
            _ => Change::Fill(random.random_range(0..5), random.random_range(101..1_000)),
        }
    }

    fn apply(&self, model: &mut Rows) {
        match self {
            Change::Set(owner, balance) => drop(model.insert(owner.clone(), *balance)),
            Change::Remove(owner) => drop(model.remove(owner)),
            Change::Fill(part, balance) => {
                model.extend((0..2_000).map(|row| (format!("filled {part} {row}"), *balance)));
            }
        }
    }

    pub(crate) fn run(self, copied: &Copied) -> Result<(), StoreError> {
        copied
            .start(move |db| {
                let mut changed = BTreeMap::new();
                let mut removed = None;
                match &self {
                    Change::Remove(owner) => removed = Some(owner),
                    change => change.apply(&mut changed),
                }
                if let Some(owner) = removed
                    && let Some(account) = db.query(ByOwner).eq(owner.as_str()).unique()?
                {
                    db.delete(account.id())?;
                }
                for (owner, balance) in changed {
                    match db.query(ByOwner).eq(owner.as_str()).unique()? {
                        Some(account) => db.patch_doc(account, |account| account.balance = balance).map(drop)?,
                        None => db.insert(Account { owner, balance }).map(drop)?,
                    }
                }
                Ok(())
            })
            .wait()
    }
}

#[test]
fn every_moment_equals_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let (data, place) = (folder.path().join("data"), folder.path().join("place"));
    std::fs::create_dir(&place).unwrap();
    let copied = Copied::open(&data, &settings(&place, COPIED));
    // Before the first snapshot, no mutation is acknowledged.
    copied.wait();
    let mut random = StdRng::seed_from_u64(34);
    let (mut model, mut moments) = (Rows::new(), Vec::new());
    for _ in 0..200 {
        let change = Change::random(&mut random);
        change.apply(&mut model);
        change.run(&copied).unwrap();
        let state = copied.shipper.status().state();
        moments.push((state.commit, clock().now(), model.clone()));
        // Times have milliseconds.
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert_eq!(rows(&copied.store), model);
    copied.close();
    for (number, (commit, at, expected)) in moments.iter().enumerate() {
        let (by_commit, found) = restored(&place, Moment::Commit(*commit));
        assert_eq!((by_commit.commit, found == *expected), (*commit, true), "commit {commit}");
        if number % 40 == 0 {
            let (_, found) = restored(&place, Moment::At(*at));
            assert!(found == *expected, "at {at}");
        }
    }
    let beyond = Moment::Commit(moments.last().unwrap().0 + 1_000);
    let target = folder.path().join("beyond");
    let refused = convoke_copies::restore::restore(&open_place(&place), None, beyond, &target, &mut |_, _| {})
        .unwrap_err()
        .to_string();
    assert!(refused.contains("has no commit") && refused.contains("the newest is"), "{refused}");
    let (newest, found) = restored(&place, Moment::Newest);
    assert_eq!((newest.generation, found == model), (1, true));
    let survey = survey(&open_place(&place)).unwrap();
    assert_eq!((survey.len(), survey[0].snapshots.len(), survey[0].newest.unwrap().commit), (1, 1, newest.commit));
}

#[test]
fn clean_restart_continues_without_a_snapshot() {
    let folder = tempfile::tempdir().unwrap();
    let (data, place) = (folder.path().join("data"), folder.path().join("place"));
    std::fs::create_dir(&place).unwrap();
    for run in 0..4 {
        let copied = Copied::open(&data, &settings(&place, ""));
        if run != 2 {
            copied.insert(&format!("run {run}"), run).unwrap();
        }
        copied.wait();
        copied.insert(&format!("last of {run}"), run).unwrap();
        let expected = rows(&copied.store);
        copied.close();
        assert_eq!(restored(&place, Moment::Newest).1, expected);
    }
    assert_eq!(files(&place, 1, 9).len(), 1);
    // A run without copies leaves changes that only a snapshot can find.
    let store = convoke_store::conformance::support::open_with(
        &(crate::support::engine() as _),
        &data,
        &convoke_store::conformance::support::patient(),
        &[Account::DEF],
    )
    .unwrap();
    store.close();
    drop(store);
    let copied = Copied::open(&data, &settings(&place, ""));
    copied.wait();
    copied.close();
    assert_eq!(files(&place, 1, 9).len(), 1, "nothing was written in that run");
}
