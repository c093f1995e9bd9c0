//! Exported and imported rows are equal, bit for bit.

use convoke::Id;
use convoke::Millis;
use convoke::embed::Limits;
use convoke::store::table::Bytes;
use convoke::store::{Access, ReadLimits, Store, StoreOptions, Table as _};
use proptest::prelude::*;
use tempfile::TempDir;

use super::support::{Colour, Crate, Inspection, KeptBack, Label, TABLES, add, clock, exported, fill, imported};

fn crates() -> impl Strategy<Value = Vec<(u128, i64, Crate)>> {
    let weight = prop_oneof![Just(None), any::<f64>().prop_filter("no NaN", |n| !n.is_nan()).prop_map(Some)];
    let colour = prop_oneof![Just(Colour::Red), Just(Colour::Green)];
    let row = (any::<u128>(), 0..=Millis::MAX.0, "[^\0]*", colour, weight);
    proptest::collection::vec(row, 0..20).prop_map(|rows| {
        let named = rows.into_iter().enumerate().map(|(n, (id, time, name, colour, weight))| {
            (id ^ n as u128, time, Crate { name: format!("{n} {name}"), colour, weight })
        });
        named.collect()
    })
}

fn labels() -> impl Strategy<Value = Vec<(u128, i64, Label)>> {
    let image = proptest::option::of(proptest::collection::vec(any::<u8>(), 0..50).prop_map(Bytes));
    let words = proptest::collection::vec("[^\0]*", 0..4);
    let row = (any::<u128>(), 0..=Millis::MAX.0, any::<u128>(), any::<i64>(), words, image);
    proptest::collection::vec(row, 0..20).prop_map(|rows| {
        let label = |(id, time, crate_id, position, words, image)| {
            let closed_at = Some(Millis(time));
            (id, time, Label { crate_id: Id::from_bits(crate_id), position, words, image, closed_at })
        };
        rows.into_iter().map(label).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn export_import_export_gives_the_same_bytes(crates in crates(), labels in labels()) {
        let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        fill(one.path(), TABLES, |draft| {
            crates.iter().for_each(|(id, time, row)| add(draft, *id, *time, row));
            labels.iter().for_each(|(id, time, row)| add(draft, *id, *time, row));
            add(draft, 7, 7, &Inspection { passed: true });
        });
        let archive = exported(one.path(), TABLES);
        imported(other.path(), TABLES, &archive).unwrap();
        let again = exported(other.path(), TABLES);
        prop_assert!(archive == again);
    }
}

#[test]
fn import_keeps_ids_and_times() {
    let (one, other) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    fill(one.path(), TABLES, |draft| {
        add(draft, u128::MAX - 1, 99, &Crate { name: "a".to_owned(), colour: Colour::Green, weight: Some(0.1) });
    });
    imported(other.path(), TABLES, &exported(one.path(), TABLES)).unwrap();
    let store = Store::open(
        convoke::embed::default_engine(),
        StoreOptions::new(other.path()),
        &Limits::default(),
        clock(),
        TABLES.to_vec(),
    )
    .unwrap();
    let row = store
        .read_blocking(Access::Everyone, |transaction| {
            convoke::store::Db::new(transaction, ReadLimits::from(&Limits::default()))
                .get(Id::<Crate>::from_bits(u128::MAX - 1))
                .unwrap()
                .unwrap()
        })
        .unwrap();
    assert_eq!(row.creation_time(), Millis(99));
    assert_eq!((row.name.as_str(), row.colour), ("a", Colour::Green));
    assert_eq!(row.weight, Some(0.1));
    assert_eq!(store.greatest_id(), u128::MAX - 1);
}

#[test]
fn excluded_rows_are_not_exported_and_the_manifest_lists_them() {
    let folder = TempDir::new().unwrap();
    let tables = [Crate::DEF, KeptBack::DEF];
    fill(folder.path(), &tables, |draft| add(draft, 1, 1, &KeptBack { hash: "s3cret-hash".to_owned() }));
    let archive = exported(folder.path(), &tables);
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&archive[..]), &mut plain).unwrap();
    let text = String::from_utf8_lossy(&plain);
    assert!(!text.contains("s3cret-hash"));
    assert!(text.contains("\"leftOut\": [\n    \"_deployKeys\"\n  ]"), "{text}");
}

#[test]
fn any_tar_and_gzip_reads_an_archive() {
    let folder = TempDir::new().unwrap();
    fill(folder.path(), TABLES, |draft| {
        add(draft, 1, 5, &Crate { name: "a".to_owned(), colour: Colour::Red, weight: None });
    });
    let file = folder.path().join("export.tar.gz");
    std::fs::write(&file, exported(folder.path(), TABLES)).unwrap();
    let run = |args: &[&str]| {
        let output = std::process::Command::new("tar").args(args).arg(&file).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(
        run(&["-tzf"]).lines().collect::<Vec<_>>(),
        ["manifest.json", "schema.json", "tables/_inspections.jsonl", "tables/boxes.jsonl", "tables/labels.jsonl"]
    );
    let rows = std::process::Command::new("tar").arg("-xzOf").arg(&file).arg("tables/boxes.jsonl").output().unwrap();
    assert_eq!(
        String::from_utf8(rows.stdout).unwrap(),
        "{\"_id\":\"box_00000000000000000000000001\",\"_creationTime\":5,\"name\":\"a\",\"colour\":\"red\",\"weight\":null}\n"
    );
}
