//! Backups of a running server, where something fails between two steps.

use convoke::testing::TestApp;
use reqwest::Method;

use super::Door;

#[test]
fn backup_without_a_checksum_gets_no_final_name() {
    let app = TestApp::new();
    let door = Door::of(&app);
    let folder = app.store().folder().join("backups");
    // The clock stands still, so the name is known; no file can take the place of a folder that is not empty.
    let checksum = folder.join("convoke-20260101-000000.db.sha256");
    std::fs::create_dir_all(checksum.join("in the way")).unwrap();
    let reply = door.operator(Method::POST, "/api/admin/backup", None);
    assert_eq!(reply.status, 200);
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(left, [checksum]);
}
