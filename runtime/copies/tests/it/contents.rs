//! Stored files are copied before the rows that refer to them, and stay as long as a moment needs them.

use std::fs;
use std::path::Path;

use convoke_copies::contents;

use crate::support::{Copied, open_place, settings, until};

/// Places a content as the runtime does. The name is no real SHA-256: this crate does not compute it.
fn place(data: &Path, letter: char) -> String {
    let hash = letter.to_string().repeat(64);
    let folder = data.join("files").join(&hash[..2]);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(&hash[2..]), vec![letter as u8; 100_000]).unwrap();
    hash
}

fn copied(to: &Path) -> Vec<String> {
    contents::list(&open_place(to)).unwrap().into_iter().map(|(hash, _)| hash).collect()
}

#[test]
fn contents_are_copied_before_changes_and_outlive_their_removal() {
    let folder = tempfile::tempdir().unwrap();
    let (data, to) = (folder.path().join("data"), folder.path().join("place"));
    fs::create_dir_all(&to).unwrap();
    let first = place(&data, 'a');
    fs::write(data.join("files/aa/upload.part"), "incomplete").unwrap();
    let server = Copied::open(&data, &settings(&to, ""));
    server.insert("with a", 1).unwrap();
    server.wait();
    assert_eq!(copied(&to), std::slice::from_ref(&first));
    let second = place(&data, 'b');
    server.insert("with b", 2).unwrap();
    server.wait();
    assert_eq!(copied(&to), [first.clone(), second.clone()]);
    server.close();

    // The first pass after a removal lists it; the content stays.
    fs::remove_dir_all(data.join("files/aa")).unwrap();
    let removals = || fs::read_dir(to.join("files-removed")).map_or(0, Iterator::count);
    let server = Copied::open(&data, &settings(&to, ""));
    until("the list", || removals() == 1);
    server.close();
    assert_eq!(copied(&to), [first.clone(), second.clone()]);

    // After the time of `keep`, the next pass removes it.
    let list = fs::read_dir(to.join("files-removed")).unwrap().next().unwrap().unwrap().path();
    fs::rename(&list, list.with_file_name(format!("{:016x}.json", 1_000))).unwrap();
    let server = Copied::open(&data, &settings(&to, ""));
    until("the removal", || copied(&to) == [second.clone()]);
    server.close();
    assert_eq!(removals(), 0);
}
