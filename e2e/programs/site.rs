//! A front end and its back end from one process: `serve --site`, and `dev` with the setting.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod process;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;

use process::{Serving, hello, run, text};
use serde_json::json;
use tempfile::TempDir;

struct Response {
    status: u16,
    head: String,
    body: String,
}

impl Response {
    fn field(&self, name: &str) -> &str {
        let fields = self.head.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }
}

/// Sends a path as it is. Clients would normalize it.
fn get(serving: &Serving, path: &str, fields: &str) -> Response {
    let mut stream = TcpStream::connect(serving.url.strip_prefix("http://").unwrap()).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{fields}\r\n").unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).unwrap();
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response { status, head: head.to_owned(), body: body.to_owned() }
}

/// Writes a site, beside a file that it must not serve.
fn write_site(folder: &Path) {
    let dist = folder.join("dist");
    std::fs::create_dir_all(dist.join("assets")).unwrap();
    for (name, content) in [
        ("dist/index.html", "<title>front end</title>"),
        ("dist/assets/index-DiwrgTda.js", "0123456789"),
        ("dist/.env", "PASSWORD"),
        ("outside.txt", "PASSWORD"),
    ] {
        std::fs::write(folder.join(name), content).unwrap();
    }
    std::os::unix::fs::symlink(folder.join("outside.txt"), dist.join("link.txt")).unwrap();
}

/// Checks all that the site and the functions of a process have in common.
fn check(serving: &Serving) {
    let home = get(serving, "/", "");
    assert_eq!((home.status, &*home.body), (200, "<title>front end</title>"));
    assert_eq!(home.field("cache-control"), "no-cache");
    let known = get(serving, "/", &format!("if-none-match: {}\r\n", home.field("etag")));
    assert_eq!((known.status, &*known.body), (304, ""));
    let script = get(serving, "/assets/index-DiwrgTda.js", "");
    assert!(script.field("cache-control").contains("immutable"), "{}", script.head);
    let part = get(serving, "/assets/index-DiwrgTda.js", "range: bytes=2-4\r\n");
    assert_eq!((part.status, &*part.body, part.field("content-range")), (206, "234", "bytes 2-4/10"));

    for path in ["/meetings/17", "/deep/er/page"] {
        assert_eq!(get(serving, path, "").body, home.body, "{path} is a page of the application");
    }
    for path in [
        "/.env",
        "/link.txt",
        "/../outside.txt",
        "/assets/../../outside.txt",
        "/%2e%2e/outside.txt",
        "/..%2foutside.txt",
        "/assets/%2e%2e%2f%2e%2e%2foutside.txt",
        "/..%5coutside.txt",
        "//outside.txt",
        "/outside.txt%00",
        "/missing.js",
    ] {
        let response = get(serving, path, "");
        assert!(!response.body.contains("PASSWORD"), "{path}: {}", response.body);
        assert!(response.status >= 400, "{path}: {}", response.head);
    }

    let reply = serving.call(None, &json!({ "name": "Ada" }));
    assert_eq!(reply["value"], "Hello, Ada!", "the functions are served beside the site");
    assert_eq!(get(serving, "/healthz", "").status, 200);
}

#[test]
fn serve_with_a_site_serves_front_end_and_functions_from_one_origin() {
    let folder = TempDir::new().unwrap();
    write_site(folder.path());
    std::fs::write(folder.path().join("convoke.toml"), "[site]\nspa = true\n").unwrap();
    let args = ["serve", "--env", "development", "--listen", "127.0.0.1:0", "--site", "dist"];
    let serving = Serving::start(hello(folder.path()).args(args));
    check(&serving);
    assert_eq!(serving.signal("TERM"), 0);
}

#[test]
fn dev_serves_the_site_of_the_settings_and_its_changes() {
    let folder = TempDir::new().unwrap();
    write_site(folder.path());
    std::fs::write(folder.path().join("convoke.toml"), "[site]\ndir = \"dist\"\nspa = true\n").unwrap();
    let serving = Serving::start(hello(folder.path()).args(["dev", "--no-watch", "--listen", "127.0.0.1:0"]));
    check(&serving);
    let before = get(&serving, "/", "").field("etag").to_owned();
    // A build tool replaces a file by its new version.
    let dist = folder.path().join("dist");
    std::fs::write(dist.join("new"), "<title>new front end</title>").unwrap();
    std::fs::rename(dist.join("new"), dist.join("index.html")).unwrap();
    let after = get(&serving, "/", &format!("if-none-match: {before}\r\n"));
    assert_eq!((after.status, &*after.body), (200, "<title>new front end</title>"));
    assert_eq!(serving.signal("TERM"), 0);
}

#[test]
fn missing_site_is_an_error_at_start_that_names_the_folder() {
    let folder = TempDir::new().unwrap();
    let output = run(folder.path(), &["serve", "--env", "development", "--listen", "127.0.0.1:0", "--site", "dits"]);
    let said = text(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("dits"), "{said}");
}
