//! An archive that does not fit is refused by table, line and column, and nothing has changed.

use std::io::{Read as _, Write as _};
use std::path::Path;

use convoke::store::{Table as _, TableDef};
use convoke::{Id, Millis, table};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;

use super::support::{Colour, Crate, Label, TABLES, add, clock, exported, fill, imported};

/// An archive of two crates and a label.
fn archive() -> Vec<u8> {
    let folder = TempDir::new().unwrap();
    fill(folder.path(), TABLES, |draft| {
        for (id, name) in [(1, "a"), (2, "b")] {
            add(draft, id, 5, &Crate { name: name.to_owned(), colour: Colour::Red, weight: Some(1.0) });
        }
        let crate_id = Id::from_bits(1);
        let label = Label { crate_id, position: 1, words: vec!["w".to_owned()], image: None, closed_at: None };
        add(draft, 3, 6, &label);
    });
    exported(folder.path(), TABLES)
}

/// The archive after `change` was made to a member, with the checksums and counts that this gives.
fn changed(archive: &[u8], name: &str, change: impl Fn(String) -> String) -> Vec<u8> {
    let mut members = Vec::new();
    for entry in tar::Archive::new(GzDecoder::new(archive)).entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        if path == name {
            text = change(text);
        }
        members.push((path, text));
    }
    let mut manifest: serde_json::Value = serde_json::from_str(&members[0].1).unwrap();
    let text_of =
        |file: &serde_json::Value| members.iter().find(|(path, _)| file == path).map_or("", |(_, text)| text.as_str());
    let describe = |member: &mut serde_json::Value| {
        let text = text_of(&member["file"]);
        member["bytes"] = text.len().into();
        member["sha256"] = hex::encode(Sha256::digest(text)).into();
        if member.get("rows").is_some() {
            member["rows"] = text.lines().count().into();
        }
    };
    if name != "manifest.json" {
        describe(&mut manifest["schema"]);
        manifest["tables"].as_array_mut().unwrap().iter_mut().for_each(describe);
        members[0].1 = manifest.to_string();
    }
    packed(&members)
}

fn packed(members: &[(String, String)]) -> Vec<u8> {
    let mut archive = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, text) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o600);
        archive.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

/// Returns the error of an import into a folder that must not change.
fn refused(archive: &[u8], tables: &[&'static TableDef]) -> String {
    let folder = TempDir::new().unwrap();
    fill(folder.path(), TABLES, |draft| {
        add(draft, 9, 9, &Crate { name: "stays".to_owned(), colour: Colour::Red, weight: None });
    });
    let before = bytes_in(folder.path());
    let said = imported(folder.path(), tables, archive).expect_err("it does not fit").to_string();
    assert_eq!(bytes_in(folder.path()), before, "{said}");
    said
}

fn bytes_in(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap_or_default())
    };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(read).collect();
    files.sort();
    files
}

#[test]
fn invalid_row_is_named_by_table_line_and_column() {
    let archive = archive();
    // As one that was stored before keys had a bound.
    let long_name = format!("\"name\":\"{}\"", "n".repeat(2_001));
    for (member, from, to, said) in [
        (
            "boxes",
            "\"name\":\"b\"",
            "\"name\":\"a\"",
            "table boxes, line 2, column name: another row of the archive has the same",
        ),
        ("boxes", "\"name\":\"b\"", "\"name\":7", "table boxes, line 2, column name: must be a text, not 7"),
        ("boxes", "\"name\":\"b\"", "\"nom\":\"b\"", "table boxes, line 2, column nom: boxes has no such column"),
        ("boxes", "\"name\":\"b\",", "", "table boxes, line 2, column name: is missing"),
        (
            "boxes",
            "\"name\":\"b\"",
            "\"name\":\"\\u0000\"",
            "table boxes, line 2, column name: must not contain U+0000",
        ),
        (
            "boxes",
            "\"name\":\"b\"",
            &long_name,
            "table boxes, line 2, column name: must have at most 2,000 bytes, together with the other keys of its index",
        ),
        ("boxes", "0002\"", "0001\"", "table boxes, line 2, column _id: another row of the archive has the same"),
        ("boxes", "box_", "crate_", "table boxes, line 1, column _id: must be an id of the form box_…"),
        (
            "boxes",
            "\"colour\":\"red\"",
            "\"colour\":\"blue\"",
            "table boxes, line 1, column colour: must be one of red, green",
        ),
        ("boxes", "}\n", "\n", "table boxes, line 1: is not a JSON object"),
        ("labels", "[\"w\"]", "[7]", "table labels, line 1, column words: "),
        (
            "labels",
            "\"crateId\":\"box_",
            "\"crateId\":\"label_",
            "table labels, line 1, column crateId: must be an id of the form box_…",
        ),
    ] {
        let change = |text: String| {
            let place = if said.contains("line 2") { text.rfind(from) } else { text.find(from) };
            let place = place.unwrap_or_else(|| panic!("{from} is in {text}"));
            format!("{}{to}{}", &text[..place], &text[place + from.len()..])
        };
        let heard = refused(&changed(&archive, &format!("tables/{member}.jsonl"), change), TABLES);
        assert!(heard.starts_with(said), "{heard}");
    }
}

#[test]
fn compound_and_conditional_unique_indexes_are_enforced() {
    let second = |text: String| {
        let line = text.trim_end().replace("label_00000000000000000000000003", "label_00000000000000000000000004");
        format!("{text}{line}\n")
    };
    let heard = refused(&changed(&archive(), "tables/labels.jsonl", second), TABLES);
    assert!(heard.starts_with("table labels, line 2, column"), "{heard}");
    let other_position = |text| second(text).replacen("\"position\":1", "\"position\":2", 1);
    let heard = refused(&changed(&archive(), "tables/labels.jsonl", other_position), TABLES);
    assert_eq!(heard, "table labels, line 2, column crateId: another row of the archive has the same");
}

#[table(name = "boxes", prefix = "crate")]
struct OtherPrefix {
    name: String,
    colour: i64,
    owner: String,
}

#[test]
fn archive_of_another_schema_is_rejected_with_every_difference() {
    let heard = refused(&archive(), &[OtherPrefix::DEF]);
    for said in [
        "the archive does not fit this program:",
        "this program has no table labels",
        "table boxes: its ids begin with box_, not crate_",
        "table boxes, column colour: has type integer here and text in the archive",
        "table boxes: this program has no column weight",
        "table boxes: the archive has no column owner, which is required",
    ] {
        assert!(heard.contains(said), "{said}:\n{heard}");
    }
}

#[test]
fn unknown_format_newer_version_and_other_files_are_rejected() {
    let archive = archive();
    let newer = changed(&archive, "manifest.json", |text| text.replace("\"version\": 1", "\"version\": 2"));
    assert!(refused(&newer, TABLES).contains("up to version 1"));
    let other = changed(&archive, "manifest.json", |text| text.replace("convoke-export", "zip"));
    assert!(refused(&other, TABLES).contains("its format is \"zip\""));
    assert!(refused(b"no archive", TABLES).starts_with("the archive cannot be read:"));
    assert!(refused(b"", TABLES).starts_with("the archive"));
}

#[test]
fn archive_that_differs_from_its_contents_is_rejected() {
    let archive = archive();
    let wrong = changed(&archive, "manifest.json", |text| {
        let (before, after) = text.rsplit_once("\"sha256\": \"").unwrap();
        format!("{before}\"sha256\": \"{}{}", "0".repeat(64), &after[64..])
    });
    assert!(refused(&wrong, TABLES).contains("the checksum of tables/labels.jsonl is"));
    let fewer = changed(&archive, "manifest.json", |text| text.replace("\"rows\": 2", "\"rows\": 3"));
    assert!(refused(&fewer, TABLES).contains("tables/boxes.jsonl has 2 rows, not 3"));
    let more = {
        let mut more = archive.clone();
        let mut second = GzEncoder::new(Vec::new(), Compression::fast());
        second.write_all(b"more").unwrap();
        more.extend(second.finish().unwrap());
        more
    };
    assert!(refused(&more, TABLES).contains("something follows its end"));
}

/// The members of an archive, in their order.
fn members(archive: &[u8]) -> Vec<(String, String)> {
    let read = |entry: std::io::Result<tar::Entry<'_, GzDecoder<&[u8]>>>| {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (path, text)
    };
    tar::Archive::new(GzDecoder::new(archive)).entries().unwrap().map(read).collect()
}

#[test]
fn repacked_archive_is_accepted() {
    let archive = archive();
    let mut unpacked = members(&archive);
    let plain = |members: &[(String, String)]| {
        let mut plain = Vec::new();
        GzDecoder::new(&*packed(members)).read_to_end(&mut plain).unwrap();
        plain
    };
    let in_pieces = |plain: &[u8]| {
        let piece = |piece: &[u8]| {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(piece).unwrap();
            gzip.finish().unwrap()
        };
        plain.chunks(700).flat_map(piece).collect::<Vec<u8>>()
    };
    // By the program that most people have: names below `./`, folders as members.
    let folder = TempDir::new().unwrap();
    for (path, text) in &unpacked {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let tar = |arguments: &[&str]| {
        let run = std::process::Command::new("tar").current_dir(folder.path()).args(arguments).output().unwrap();
        assert!(run.status.success(), "{run:?}");
        run.stdout
    };
    let by_tar = tar(&["--create", "--gzip", "."]);
    let by_tar_rows_first = tar(&["--create", "--gzip", "tables", "schema.json", "manifest.json"]);
    unpacked.reverse();
    let reversed = packed(&unpacked);
    let several_gzip_members = in_pieces(&plain(&unpacked));
    for again in [by_tar, by_tar_rows_first, reversed, several_gzip_members] {
        let folder = TempDir::new().unwrap();
        imported(folder.path(), TABLES, &again).unwrap();
        assert_eq!(members(&exported(folder.path(), TABLES)), members(&archive));
    }
    let twice = [&unpacked[..], &unpacked[..1]].concat();
    assert_eq!(refused(&packed(&twice), TABLES), format!("the archive is damaged: it has {} twice", unpacked[0].0));
    let last = &unpacked[0].0;
    assert!(refused(&packed(&unpacked[1..]), TABLES).contains(&format!("it has no {last}")));
    assert!(refused(&packed(&unpacked[..unpacked.len() - 1]), TABLES).contains("it has no manifest.json"));
}

#[test]
fn truncated_archive_is_rejected() {
    let archive = archive();
    let folder = TempDir::new().unwrap();
    let installation = convoke::embed::default_engine().lock(folder.path(), clock()).unwrap();
    let files = convoke_calls::files::Folder::at(folder.path().join("files"));
    for end in 0..archive.len() {
        let builder = installation.build(TABLES).unwrap();
        let read = convoke_server::archive::reader::read(&archive[..end], TABLES, &*builder, Some(&files), &mut |_| {});
        assert!(read.is_err(), "cut off at {end} of {} it was taken", archive.len());
    }
}

#[test]
fn flipped_bit_is_detected_or_harmless() {
    let archive = archive();
    let folder = TempDir::new().unwrap();
    let installation = convoke::embed::default_engine().lock(folder.path(), clock()).unwrap();
    let files = convoke_calls::files::Folder::at(folder.path().join("files"));
    // The first ten bytes hold gzip's own header, whose time and system nothing depends on.
    for place in (10..archive.len()).step_by(3) {
        let mut flipped = archive.clone();
        flipped[place] ^= 1 << (place % 8);
        let builder = installation.build(TABLES).unwrap();
        let read = convoke_server::archive::reader::read(&flipped[..], TABLES, &*builder, Some(&files), &mut |_| {});
        assert!(read.is_err(), "bit {} of byte {place} was flipped without an error", place % 8);
    }
}

#[table(name = "boxes", prefix = "box")]
struct Grown {
    name: String,
    colour: Colour,
    weight: Option<f64>,
    #[default(1)]
    floors: i64,
    seen_at: Option<Millis>,
}

#[test]
fn archive_without_a_newer_column_is_accepted() {
    let folder = TempDir::new().unwrap();
    let tables = [Grown::DEF, Label::DEF, super::support::Inspection::DEF];
    imported(folder.path(), &tables, &archive()).unwrap();
    let again = exported(folder.path(), &tables);
    let mut plain = String::new();
    for entry in tar::Archive::new(GzDecoder::new(&again[..])).entries().unwrap() {
        entry.unwrap().read_to_string(&mut plain).unwrap();
    }
    assert!(
        plain.contains("\"name\":\"a\",\"colour\":\"red\",\"weight\":1.0,\"floors\":1,\"seenAt\":null}"),
        "{plain}"
    );
}
