//! Doubles on their whole way: from the arguments into a row, into a result, into an archive, and back.

use std::sync::Arc;

use convoke::embed::Limits;
use convoke::prelude::*;
use convoke::store::{Access, Db, ReadLimits, Store, StoreOptions, TableDef};
use convoke::testing::TestApp;
use convoke::{args, mutation, query, table};
use convoke_core::clock::SystemClock;
use convoke_server::archive::{reader, writer};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Doubles in a column of their own, in a list and in a free-form object.
#[table(name = "doubles", prefix = "double")]
pub(super) struct Doubles {
    pub one: f64,
    pub list: Vec<f64>,
    pub object: JsonObject<{ 64 * 1024 }>,
}

#[args]
pub(super) struct AddDoubles {
    pub one: f64,
    pub list: Vec<f64>,
    pub object: JsonObject<{ 64 * 1024 }>,
}

#[mutation]
pub(super) fn add_doubles(ctx: &mut MutationCtx, args: AddDoubles) -> Result<Id<Doubles>> {
    let AddDoubles { one, list, object } = args;
    Ok(ctx.db_mut().insert(Doubles { one, list, object })?)
}

#[args]
pub(super) struct OneRow {
    pub id: Id<Doubles>,
}

#[query]
pub(super) fn doubles(ctx: &QueryCtx, args: OneRow) -> Result<Option<Doc<Doubles>>> {
    Ok(ctx.db().get(args.id)?)
}

fn bits(row: &Doubles) -> Vec<u64> {
    let nested = row.object.members()["nested"].as_array().unwrap();
    let nested = nested.iter().map(|number| number.as_f64().unwrap());
    std::iter::once(row.one).chain(row.list.iter().copied()).chain(nested).map(f64::to_bits).collect()
}

fn clock() -> Arc<SystemClock> {
    Arc::new(SystemClock::new())
}

/// The rows of an archive, after it was taken into a new database.
fn imported(archive: &[u8], tables: &[&'static TableDef]) -> Vec<Doc<Doubles>> {
    let folder = tempfile::tempdir().unwrap();
    let installation = convoke::embed::default_engine().lock(folder.path(), clock()).unwrap();
    let builder = installation.build(tables).unwrap();
    let files = convoke_calls::files::Folder::at(folder.path().join("files"));
    let rows = reader::read(archive, tables, &*builder, Some(&files), &mut |_| {}).unwrap();
    builder.finish(&rows).unwrap();
    installation.replace().unwrap();
    drop(installation);
    let (options, limits) = (StoreOptions::new(folder.path()), Limits::default());
    let store = Store::open(convoke::embed::default_engine(), options, &limits, clock(), tables.to_vec()).unwrap();
    store
        .read_blocking(Access::Everyone, |transaction| {
            Db::new(transaction, ReadLimits::from(&Limits::default())).scan::<Doubles>().take(100).unwrap()
        })
        .unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]
    #[test]
    fn doubles_round_trip_exactly(
        sent in proptest::collection::vec(any::<u64>().prop_map(f64::from_bits).prop_filter("JSON", |n| n.is_finite()), 200),
        format in prop_oneof![Just("json"), Just("convex_encoded_json")],
    ) {
        // The one from the report is always among them.
        let sent: Vec<f64> = std::iter::once(0.947_861_509_146_745_3).chain(sent).collect();
        let expected: Vec<u64> = sent[..1].iter().chain(&sent).chain(&sent).map(|number| number.to_bits()).collect();
        let app = TestApp::new();
        let server = app.serve();
        let post = |route: &str, path: &str, args: Value| {
            let body = json!({ "path": format!("call/doubles:{path}"), "args": args, "format": format }).to_string();
            server.post(None, route, body).value().clone()
        };
        let id = post("/api/mutation", "addDoubles", json!({ "one": sent[0], "list": sent, "object": { "nested": sent } }));
        let stored = app.read(|db| Ok(db.scan::<Doubles>().take(1)?));
        prop_assert_eq!(bits(&stored[0]), expected.clone(), "in the row");

        let result = post("/api/query", "doubles", json!({ "id": id }));
        let lists = [&result["list"], &result["object"]["nested"]];
        let numbers = std::iter::once(&result["one"]).chain(lists.into_iter().flat_map(|list| list.as_array().unwrap()));
        let returned: Vec<u64> = numbers.map(|number| number.as_f64().unwrap().to_bits()).collect();
        prop_assert_eq!(returned, expected.clone(), "in the result");

        let store = app.runtime().store();
        let mut archive = Vec::new();
        let copy = store.snapshot(|_| {}).unwrap();
        writer::write(&*copy, store.tables(), None, &mut archive, &mut |_| {}).unwrap();
        let rows = imported(&archive, store.tables());
        prop_assert_eq!(rows.len(), 1);
        prop_assert_eq!(bits(&rows[0]), expected, "after export and import");
    }
}
