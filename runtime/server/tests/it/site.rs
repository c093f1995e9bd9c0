//! The static site over real sockets. The requests are written by hand, since clients normalize paths.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;

use convoke::testing::{TestApp, TestServer};
use flate2::read::GzDecoder;

struct Response {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Response {
    fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

fn ask(address: SocketAddr, method: &str, path: &str, fields: &str) -> Response {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{fields}\r\n").unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Response { status, head, body: bytes[end + 4..].to_vec() }
}

fn get(server: &TestServer<'_>, path: &str, fields: &str) -> Response {
    ask(server.address(), "GET", path, fields)
}

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, content).unwrap();
}

fn site() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "index.html", "<title>home</title>");
    write(folder.path(), "assets/index-DiwrgTda.js", "let a = 1;\n".repeat(500));
    write(folder.path(), "app.js", "plain");
    write(folder.path(), "app.js.br", "brotli");
    write(folder.path(), "app.js.gz", "gzip");
    write(folder.path(), "guide/index.html", "guide");
    write(folder.path(), "video.mp4", (0..3_000_000u32).map(|n| n as u8).collect::<Vec<_>>());
    write(folder.path(), ".env", "SECRET=1");
    write(folder.path(), "api/shadow", "no");
    folder
}

#[test]
fn files_are_served_with_their_types_and_rules_for_caches() {
    let (app, folder) = (TestApp::new(), site());
    let server = app.serve_site(folder.path(), false);
    let home = get(&server, "/", "");
    assert_eq!((home.status, home.text()), (200, "<title>home</title>"));
    assert_eq!(home.field("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(home.field("cache-control"), Some("no-cache"));
    assert_eq!(home.field("x-content-type-options"), Some("nosniff"));
    assert_eq!(home.field("content-security-policy"), None, "the page has its own policy");
    let script = get(&server, "/assets/index-DiwrgTda.js?v=1", "");
    assert_eq!(script.field("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(script.field("content-type"), Some("text/javascript; charset=utf-8"));
    let moved = get(&server, "/guide?x=1", "");
    assert_eq!((moved.status, moved.field("location")), (308, Some("/guide/?x=1")));
    assert_eq!(get(&server, "/guide/", "").text(), "guide");
    let missing = get(&server, "/missing", "");
    assert!(missing.status == 404 && missing.text().contains("ROUTE_NOT_FOUND"), "{}", missing.head);
}

#[test]
fn routes_are_never_shadowed() {
    let (app, folder) = (TestApp::new(), site());
    for name in ["healthz", "docs/index.html", "openapi.json", "console/index.html", "metrics"] {
        write(folder.path(), name, "shadow");
    }
    let server = app.serve_site(folder.path(), true);
    for path in [
        "/api/shadow",
        "/api",
        "/api/",
        "/healthz",
        "/readyz",
        "/docs/index.html",
        "/openapi.json",
        "/console/index.html",
        "/metrics",
        "/%61pi/shadow",
        "/files",
        "/files/x",
        "/mcp/x",
        "/console",
    ] {
        let reply = get(&server, path, "");
        let text = String::from_utf8_lossy(&reply.body);
        assert!(text != "shadow" && text != "no" && !text.contains("home"), "{path}: {text}");
    }
    let run = ask(
        server.address(),
        "POST",
        "/api/run/nothing/here",
        "content-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
    );
    assert!(run.text().contains("FUNCTION_NOT_FOUND"), "{}", run.text());
}

#[test]
fn hidden_files_and_files_outside_are_not_found() {
    let (app, folder) = (TestApp::new(), site());
    let outer = tempfile::NamedTempFile::new().unwrap();
    std::os::unix::fs::symlink(outer.path(), folder.path().join("link.txt")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.path().join("index.html.gz")).unwrap();
    let server = app.serve_site(folder.path(), false);
    for path in [
        "/.env",
        "/%2eenv",
        "/../etc/passwd",
        "/%2e%2e/etc/passwd",
        "/..%5cetc",
        "//etc/passwd",
        "/link.txt",
        "/assets/../.env",
        "/app.js/",
        "/app.js%00.html",
        "/%ff",
    ] {
        assert_eq!(get(&server, path, "").status, 404, "{path}");
    }
    for path in ["/..%2f..%2fetc/passwd", "/%2Fetc/passwd", "/assets%2findex-DiwrgTda.js"] {
        assert_eq!(get(&server, path, "").status, 400, "{path}");
    }
    let home = get(&server, "/", "accept-encoding: gzip\r\n");
    assert_eq!((home.field("content-encoding"), home.text()), (None, "<title>home</title>"));
}

#[test]
fn unknown_path_without_an_extension_is_the_page_of_an_application() {
    let (app, folder) = (TestApp::new(), site());
    let server = app.serve_site(folder.path(), true);
    for path in ["/meetings/7", "/a/b/", "/meetings?tab=notes"] {
        let reply = get(&server, path, "");
        assert_eq!((reply.status, reply.text()), (200, "<title>home</title>"), "{path}");
        assert_eq!(reply.field("cache-control"), Some("no-cache"));
    }
    for path in ["/missing.js", "/a/missing.png"] {
        assert_eq!(get(&server, path, "").status, 404, "{path}");
    }
}

#[test]
fn known_version_is_not_sent_again() {
    let (app, folder) = (TestApp::new(), site());
    let server = app.serve_site(folder.path(), false);
    let first = get(&server, "/assets/index-DiwrgTda.js", "");
    let (tag, modified) = (first.field("etag").unwrap(), first.field("last-modified").unwrap());
    for fields in [
        format!("if-none-match: {tag}\r\n"),
        format!("if-none-match: \"x\", W/{tag}\r\n"),
        "if-none-match: *\r\n".to_owned(),
        format!("if-modified-since: {modified}\r\n"),
        format!("if-none-match: {tag}\r\nif-modified-since: Thu, 01 Jan 1970 00:00:00 GMT\r\n"),
    ] {
        let again = get(&server, "/assets/index-DiwrgTda.js", &fields);
        assert_eq!((again.status, again.body.len(), again.field("etag")), (304, 0, Some(tag)), "{fields}");
    }
    for fields in ["if-none-match: \"x\"\r\n", "if-modified-since: Thu, 01 Jan 1970 00:00:00 GMT\r\n"] {
        assert_eq!(get(&server, "/assets/index-DiwrgTda.js", fields).status, 200, "{fields}");
    }
    let packed = get(&server, "/assets/index-DiwrgTda.js", "accept-encoding: gzip\r\n");
    assert_eq!(packed.field("etag"), Some(&*format!("W/{tag}")));
    let again =
        get(&server, "/assets/index-DiwrgTda.js", &format!("accept-encoding: gzip\r\nif-none-match: W/{tag}\r\n"));
    assert_eq!(again.status, 304);
}

#[test]
fn range_and_head_serve_a_part_and_nothing() {
    let (app, folder) = (TestApp::new(), site());
    let server = app.serve_site(folder.path(), false);
    let whole = get(&server, "/video.mp4", "");
    assert_eq!((whole.status, whole.body.len(), whole.field("accept-ranges")), (200, 3_000_000, Some("bytes")));
    assert_eq!(whole.field("content-length"), Some("3000000"));
    let part = get(&server, "/video.mp4", "range: bytes=1000000-1000999\r\n");
    assert_eq!((part.status, part.field("content-range")), (206, Some("bytes 1000000-1000999/3000000")));
    assert_eq!(part.body, whole.body[1_000_000..1_001_000]);
    assert_eq!(get(&server, "/video.mp4", "range: bytes=-5\r\n").body, whole.body[2_999_995..]);
    let outside = get(&server, "/video.mp4", "range: bytes=3000000-\r\n");
    assert_eq!((outside.status, outside.field("content-range")), (416, Some("bytes */3000000")));
    let tag = whole.field("etag").unwrap();
    assert_eq!(get(&server, "/video.mp4", &format!("range: bytes=0-1\r\nif-range: {tag}\r\n")).status, 206);
    assert_eq!(get(&server, "/video.mp4", "range: bytes=0-1\r\nif-range: \"x\"\r\n").status, 200);
    let head = ask(server.address(), "HEAD", "/video.mp4", "");
    assert_eq!((head.status, head.body.len(), head.field("content-length")), (200, 0, Some("3000000")));
    let post = ask(server.address(), "POST", "/video.mp4", "content-length: 0\r\n");
    assert_eq!((post.status, post.field("allow")), (405, Some("GET, HEAD, OPTIONS")));
}

#[test]
fn packed_files_are_chosen_by_weight() {
    let (app, folder) = (TestApp::new(), site());
    let server = app.serve_site(folder.path(), false);
    for (accepted, coding, text) in [
        ("gzip, br", Some("br"), "brotli"),
        ("gzip", Some("gzip"), "gzip"),
        ("br;q=0.1, gzip;q=0.9", Some("gzip"), "gzip"),
        ("br;q=0", None, "plain"),
        ("identity", None, "plain"),
    ] {
        let reply = get(&server, "/app.js", &format!("accept-encoding: {accepted}\r\n"));
        assert_eq!((reply.field("content-encoding"), reply.text()), (coding, text), "{accepted}");
        assert_eq!(reply.field("vary"), Some("accept-encoding"));
        assert_eq!(reply.field("content-type"), Some("text/javascript; charset=utf-8"));
    }
    let tags = ["br", "gzip", "identity"].map(|accepted| {
        let reply = get(&server, "/app.js", &format!("accept-encoding: {accepted}\r\n"));
        reply.field("etag").unwrap().to_owned()
    });
    assert!(tags[0] != tags[1] && tags[1] != tags[2], "{tags:?}");
    let unpacked = get(&server, "/assets/index-DiwrgTda.js", "accept-encoding: gzip\r\n");
    assert_eq!(unpacked.field("content-encoding"), Some("gzip"), "the listener packs what the folder lacks");
    let mut plain = String::new();
    GzDecoder::new(&*unpacked.body).read_to_string(&mut plain).unwrap();
    assert_eq!(plain, "let a = 1;\n".repeat(500));
}

#[test]
fn replaced_file_is_served_in_its_new_version_and_a_running_download_ends_with_the_old_one() {
    let (app, folder) = (TestApp::new(), site());
    write(folder.path(), "large.bin", vec![1u8; 20_000_000]);
    let server = app.serve_site(folder.path(), false);
    let tag = get(&server, "/app.js", "").field("etag").unwrap().to_owned();
    let mut download = TcpStream::connect(server.address()).unwrap();
    write!(download, "GET /large.bin HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
    let mut begun = [0; 1_000];
    download.read_exact(&mut begun).unwrap();
    for (name, content) in [("large.bin", vec![2u8; 10]), ("app.js", b"plain again".to_vec())] {
        write(folder.path(), "new", content);
        std::fs::rename(folder.path().join("new"), folder.path().join(name)).unwrap();
    }
    let again = get(&server, "/app.js", &format!("if-none-match: {tag}\r\n"));
    assert_eq!((again.status, again.text()), (200, "plain again"));
    assert_eq!(get(&server, "/large.bin", "").body, [2; 10]);
    let mut rest = Vec::new();
    download.read_to_end(&mut rest).unwrap();
    assert!(rest.len() > 19_990_000 && rest.iter().all(|byte| *byte == 1), "{}", rest.len());
}
