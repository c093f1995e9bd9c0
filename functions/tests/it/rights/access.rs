//! Checks the table cell by cell, and rules for all functions.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use convoke::testing::{Reply, TestApp, TestCaller};
use convoke_calls::function::{Kind, Visibility};
use convoke_calls::registry::Registered;
use serde_json::json;

use super::calls::{Call, Product, products};
use super::fixture::{Fixture, Who};
use super::rows::{Cell, RIGHTS, Row, rows};

/// Returns the functions of the product, without those of the tests.
pub(super) fn functions(app: &TestApp) -> impl Iterator<Item = &Registered> {
    app.runtime().registry().all().filter(|function| function.def.module.starts_with("functions::"))
}

/// Returns the rows, with the ids of this fixture.
pub(super) fn callable(fixture: &Fixture) -> Vec<Row> {
    rows(&fixture.ids)
}

/// Returns a short form of a response.
pub(super) fn answer(reply: &Reply) -> Option<(&'static str, &str)> {
    (!reply.is_success()).then(|| (reply.code(), reply.message()))
}

fn ask(caller: &TestCaller<'_>, row: &Row) -> Reply {
    if let Some((path, args)) = &row.before {
        caller.call(path, args.clone());
    }
    caller.call(row.path, row.args.clone())
}

#[test]
fn every_function_of_the_product_declares_rights_that_the_table_knows() {
    let known: BTreeSet<&str> = RIGHTS.iter().map(|(name, _)| *name).collect();
    let unknown = |product: &&Product| product.rights.is_none_or(|rights| !known.contains(rights));
    let unknown: Vec<_> = products().iter().filter(unknown).map(|product| (&product.path, product.rights)).collect();
    assert!(unknown.is_empty(), "declare `rights = …`, and say in rights/rows.rs what new ones mean: {unknown:#?}");
    let declared: BTreeSet<&str> = products().iter().filter_map(|product| product.rights).collect();
    let unused: Vec<_> = known.difference(&declared).collect();
    assert!(unused.is_empty(), "no function declares these rights: {unused:?}");
}

#[test]
fn every_submitted_call_names_a_function_of_the_product() {
    let lost: Vec<&str> = inventory::iter::<Call>()
        .map(|call| call.path)
        .filter(|path| products().iter().all(|product| product.path != *path))
        .collect();
    assert!(lost.is_empty(), "{lost:#?}");
}

#[test]
fn every_caller_has_the_access_in_the_table() {
    let count = callable(&Fixture::new()).len();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place >= count {
                return wrong;
            }
            wrong.extend(wrong_cells(place));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// Returns the wrong cells of one row, as sentences.
///
/// Queries and rejected calls share one fixture; every change has its own.
fn wrong_cells(place: usize) -> Vec<String> {
    let shared = Fixture::new();
    let mut wrong = Vec::new();
    let kind = shared.app.runtime().registry().get(callable(&shared)[place].path).unwrap().kind();
    for who in Who::ALL {
        let refused = callable(&shared)[place].cell(who).refusal();
        let own = (refused.is_none() && kind != Kind::Query).then(Fixture::new);
        let fixture = own.as_ref().unwrap_or(&shared);
        let row = &callable(fixture)[place];
        let mut told = |name: &str, caller: &TestCaller<'_>| {
            let reply = ask(caller, row);
            fixture.app.run_due();
            if answer(&reply) != refused {
                wrong.push(format!("{} as {name}: {:?} instead of {refused:?}", row.path, answer(&reply)));
            }
        };
        told(&format!("{who:?}"), &fixture.caller(who));
    }
    wrong
}

#[test]
fn acting_deploy_key_has_the_access_of_its_user() {
    let mut wrong = Vec::new();
    let shared = Fixture::new();
    for (place, row) in callable(&shared).iter().enumerate() {
        for (who, subject) in [(Who::Stranger, "stranger"), (Who::Former, "former"), (Who::Admin, "admin")] {
            let Some(refused) = row.cell(who).refusal() else { continue };
            let reply = ask(&shared.key_as(subject), row);
            if answer(&reply) != Some(refused) {
                wrong.push(format!("{} as {who:?}: {:?} instead of {refused:?}", row.path, answer(&reply)));
            }
        }
        if row.cell(Who::Participant).refusal().is_none() {
            let fixture = Fixture::new();
            let reply = ask(&fixture.key_as("participant"), &callable(&fixture)[place]);
            fixture.app.run_due();
            if !reply.is_success() {
                wrong.push(format!("{} as participant: {:?}", row.path, answer(&reply)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn functions_for_inside_are_not_there_for_anybody_outside() {
    let fixture = Fixture::new();
    let inside: Vec<&Registered> =
        functions(&fixture.app).filter(|function| !function.is_callable_from_outside()).collect();
    assert!(inside.len() > 5, "the jobs are among them");
    for function in inside {
        for who in Who::ALL {
            let reply = fixture.caller(who).call(&function.path, json!({}));
            assert_eq!(answer(&reply).map(|(code, _)| code), Some("FUNCTION_NOT_FOUND"), "{} {who:?}", function.path);
        }
        let reply = fixture.key_as("host").call(&function.path, json!({}));
        assert_eq!(reply.code(), "FUNCTION_NOT_FOUND", "{}", function.path);
    }
}

#[test]
fn a_deactivated_account_is_refused_everywhere() {
    let fixture = Fixture::new();
    let key = fixture.caller(Who::Key);
    let people = [(Who::Stranger, "stranger"), (Who::Host, "host"), (Who::Admin, "admin")];
    for (_, subject) in people {
        let id = crate::support::id_of(&fixture.key_as(subject));
        key.call("users/mutations/deactivateUser", json!({"userId": id})).value();
    }
    let deactivated = Some(("FORBIDDEN", "Account is deactivated"));
    let mut wrong = Vec::new();
    for row in callable(&fixture) {
        for (who, subject) in people {
            // A token without the role fails before the account is checked, and no token may run a migration.
            let is_migration = fixture.app.runtime().registry().get(row.path).unwrap().is_migration();
            let stops_before = is_for_admins(&fixture, &row) && (who != Who::Admin || is_migration);
            let by_token = if stops_before { Cell::NoRight.refusal() } else { deactivated };
            for (caller, expected) in [(fixture.caller(who), by_token), (fixture.key_as(subject), deactivated)] {
                let reply = ask(&caller, &row);
                if answer(&reply) != expected {
                    wrong.push(format!("{} as {who:?}: {:?} instead of {expected:?}", row.path, answer(&reply)));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn is_for_admins(fixture: &Fixture, row: &Row) -> bool {
    fixture.app.runtime().registry().get(row.path).unwrap().def.visibility == Visibility::Admin
}

#[test]
fn a_token_older_than_the_claims_that_are_known_gives_no_rights_back() {
    let fixture = Fixture::new();
    let of = |roles: &[&str], issued_at| convoke::Identity {
        org_id: Some("north".to_owned()),
        roles: roles.iter().map(|role| (*role).to_owned()).collect(),
        issued_at: Some(issued_at),
        ..crate::support::claims("climber")
    };
    let audit = |identity| fixture.app.identity(identity).call("system/audit/listAuditEntries", json!({}));
    assert!(audit(of(&["admin"], 10)).is_success());
    assert_eq!(answer(&audit(of(&[], 11))), Cell::NoRight.refusal());
    let for_admins: Vec<Row> = callable(&fixture).into_iter().filter(|row| is_for_admins(&fixture, row)).collect();
    assert!(for_admins.len() > 5);
    for row in for_admins {
        let reply = ask(&fixture.app.identity(of(&["admin"], 10)), &row);
        assert_eq!(answer(&reply), Cell::NoRight.refusal(), "{}: an older token gives nothing back", row.path);
    }
}
