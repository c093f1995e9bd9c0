//! Files over HTTP: uploads whole and in parts, links, their limits, and the removal of contents.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use convoke::prelude::*;
use convoke::store::{ContentState, HeldDisk, Nodes, Room, StoredFile};
use convoke::testing::{TestApp, TestServer};
use convoke::{File, StorageId, Upload};
use convoke_calls::transfers;
use reqwest::header::HeaderMap;
use serde_json::{Value as Json, json};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR and so on";

#[table(name = "photos", prefix = "photo")]
#[index(by_owner(owner))]
pub(super) struct Photo {
    pub owner: String,
    #[file(max = "1KiB", types("image/png", "image/jpeg"))]
    pub image: File,
    #[file(max = "1MiB", public)]
    pub poster: Option<File>,
}

#[table(name = "documents", prefix = "document")]
pub(super) struct Document {
    #[file(max = "8MiB")]
    pub file: File,
}

#[args]
pub(super) struct BeginUpload {
    pub field: String,
}

#[mutation]
pub(super) fn begin_upload(ctx: &mut MutationCtx, args: BeginUpload) -> Result<Upload> {
    match &*args.field {
        "file" => ctx.files().upload::<Document>(),
        field => ctx.files().upload_to::<Photo>(field),
    }
}

#[args]
pub(super) struct AddPhoto {
    pub image: StorageId,
    pub poster: Option<StorageId>,
}

#[mutation]
pub(super) fn add_photo(ctx: &mut MutationCtx, args: AddPhoto) -> Result<Id<Photo>> {
    let image = ctx.files().take(args.image)?;
    let poster = args.poster.map(|poster| ctx.files().take(poster)).transpose()?;
    Ok(ctx.db_mut().insert(Photo { owner: "ada".to_owned(), image, poster })?)
}

#[args]
pub(super) struct AddDocument {
    pub file: StorageId,
}

#[mutation]
pub(super) fn add_document(ctx: &mut MutationCtx, args: AddDocument) -> Result<Id<Document>> {
    let file = ctx.files().take(args.file)?;
    Ok(ctx.db_mut().insert(Document { file })?)
}

#[args]
pub(super) struct OnePhoto {
    pub photo: Id<Photo>,
}

#[query]
pub(super) fn show_photo(ctx: &QueryCtx, args: OnePhoto) -> Result<Vec<String>> {
    let photo = ctx.db().get(args.photo)?.ok_or_else(|| Error::not_found("no photo"))?;
    let files = ctx.files();
    let life = Duration::from_secs(600);
    let info = files.info(&photo.image)?;
    let poster = photo.poster.as_ref().map(|poster| files.link(poster, life).url()).transpose()?;
    Ok(vec![
        files.link(&photo.image, life).url()?,
        files.link(&photo.image, life).download().named("Straße.png").url()?,
        poster.unwrap_or_default(),
        format!("{} {}", info.content_type, info.bytes),
    ])
}

/// Number of runs of [`linked_photo`].
static LINKED_RUNS: AtomicUsize = AtomicUsize::new(0);

/// Counts its runs, so only one test calls it.
#[query]
pub(super) fn linked_photo(ctx: &QueryCtx, args: OnePhoto) -> Result<String> {
    LINKED_RUNS.fetch_add(1, Relaxed);
    let photo = ctx.db().get(args.photo)?.ok_or_else(|| Error::not_found("no photo"))?;
    ctx.files().link(&photo.image, Duration::from_secs(600)).url()
}

#[args]
pub(super) struct OneDocument {
    pub document: Id<Document>,
}

#[query]
pub(super) fn show_document(ctx: &QueryCtx, args: OneDocument) -> Result<String> {
    let document = ctx.db().get(args.document)?.ok_or_else(|| Error::not_found("no document"))?;
    ctx.files().link(&document.file, Duration::from_secs(600)).url()
}

#[query(internal)]
pub(super) fn document(ctx: &QueryCtx, args: OneDocument) -> Result<Option<Doc<Document>>> {
    Ok(ctx.db().get(args.document)?)
}

#[mutation]
pub(super) fn remove_photo(ctx: &mut MutationCtx, args: OnePhoto) -> Result<()> {
    ctx.db_mut().delete(args.photo)?;
    Ok(())
}

#[mutation]
pub(super) fn remove_and_fail(ctx: &mut MutationCtx, args: OnePhoto) -> Result<()> {
    ctx.db_mut().delete(args.photo)?;
    Err(Error::conflict("no"))
}

/// Copies a document in upper case.
#[action]
pub(super) async fn shout(ctx: &ActionCtx, args: OneDocument) -> Result<Id<Document>> {
    let row = ctx.run::<document>(args).await?.ok_or_else(|| Error::not_found("no document"))?;
    let reader = ctx.files().open(&row.file).await?;
    let loud = futures_util::StreamExt::map(reader.into_stream(), |piece| {
        piece.map(|piece| piece.to_ascii_uppercase().into())
    });
    let file = ctx.files().write::<Error>(loud).await?;
    ctx.run::<add_document>(AddDocument { file }).await
}

/// A response with its body as bytes.
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn field(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    fn json(&self) -> Json {
        serde_json::from_slice(&self.body).unwrap_or(Json::Null)
    }

    fn code(&self) -> String {
        self.json()["errorData"]["code"].as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn storage_id(&self) -> String {
        assert_eq!(self.status, 200, "{}", self.json());
        self.json()["storageId"].as_str().unwrap().to_owned()
    }
}

fn send(app: &TestApp, method: &str, url: &str, fields: &[(&str, &str)], body: impl Into<reqwest::Body>) -> Answer {
    let method = reqwest::Method::from_bytes(method.as_bytes()).unwrap();
    let mut request = reqwest::Client::new().request(method, url).body(body);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    app.block_on(async move {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, body: response.bytes().await.unwrap().to_vec() }
    })
}

fn get(app: &TestApp, url: &str, fields: &[(&str, &str)]) -> Answer {
    send(app, "GET", url, fields, "")
}

struct Client<'a> {
    app: &'a TestApp,
    server: TestServer<'a>,
    token: String,
}

impl<'a> Client<'a> {
    fn of(app: &'a TestApp) -> Self {
        let server = app.serve();
        let token = server.token("ada");
        Self { app, server, token }
    }

    #[track_caller]
    fn value(&self, path: &str, args: Json) -> Json {
        self.server.call(Some(&self.token), &format!("files/{path}"), &args).value().clone()
    }

    fn refusal(&self, path: &str, args: Json) -> String {
        self.server.call(Some(&self.token), &format!("files/{path}"), &args).code().to_owned()
    }

    #[track_caller]
    fn begin(&self, field: &str) -> String {
        self.value("beginUpload", json!({ "field": field }))["url"].as_str().unwrap().to_owned()
    }

    #[track_caller]
    fn upload(&self, field: &str, bytes: &[u8]) -> String {
        send(self.app, "POST", &self.begin(field), &[], bytes.to_vec()).storage_id()
    }

    /// Adds a document of these bytes, and returns its link.
    fn document(&self, bytes: &[u8]) -> String {
        let id = self.value("addDocument", json!({ "file": self.upload("file", bytes) }));
        self.value("showDocument", json!({ "document": id })).as_str().unwrap().to_owned()
    }

    fn photo(&self, bytes: &[u8]) -> String {
        self.value("addPhoto", json!({ "image": self.upload("image", bytes) })).as_str().unwrap().to_owned()
    }

    fn links(&self, photo: &str) -> Vec<String> {
        serde_json::from_value(self.value("showPhoto", json!({ "photo": photo }))).unwrap()
    }

    fn contents(&self) -> Vec<(i64, ContentState)> {
        self.app
            .read(|db| Ok(db.scan::<StoredFile>().take(100)?.iter().map(|row| (row.references, row.state)).collect()))
    }

    fn bytes_stored(&self) -> Vec<u64> {
        let mut found = Vec::new();
        let folder = self.app.runtime().files().storage().folder().clone();
        folder.contents(&mut |content| found.push(content.bytes)).unwrap();
        found
    }

    fn sweep(&self) -> transfers::Swept {
        self.app.block_on(transfers::sweep(self.app.runtime())).unwrap()
    }
}

#[test]
fn upload_becomes_a_row_and_its_link_returns_the_bytes() {
    let app = TestApp::new();
    let client = Client::of(&app);
    let id = client
        .value("addPhoto", json!({ "image": client.upload("image", PNG), "poster": client.upload("poster", b"a") }));
    let links = client.links(id.as_str().unwrap());
    assert_eq!(links[3], format!("image/png {}", PNG.len()));

    let shown = get(&app, &links[0], &[]);
    assert_eq!((shown.status, &*shown.body), (200, PNG));
    for (name, value) in [
        ("content-type", "image/png"),
        ("content-disposition", "inline"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("cache-control", "private, no-cache"),
        ("accept-ranges", "bytes"),
    ] {
        assert_eq!(shown.field(name), value, "{name}");
    }
    let saved = get(&app, &links[1], &[]);
    assert!(saved.field("content-disposition").starts_with("attachment; filename=\"Stra_e.png\"; filename*=UTF-8''"));
    assert_eq!(get(&app, &links[2], &[]).field("cache-control"), "public, max-age=3600");

    let tag = shown.field("etag");
    assert_eq!(get(&app, &links[0], &[("if-none-match", tag)]).status, 304);
    let head = send(&app, "HEAD", &links[0], &[], "");
    assert_eq!((head.status, head.field("content-length")), (200, &*PNG.len().to_string()));
    let part = get(&app, &links[0], &[("range", "bytes=1-3")]);
    assert_eq!((part.status, &*part.body), (206, &b"PNG"[..]));
    assert_eq!(part.field("content-range"), format!("bytes 1-3/{}", PNG.len()));
    assert_eq!(get(&app, &links[0], &[("range", "bytes=1-3"), ("if-range", "\"other\"")]).status, 200);
    assert_eq!(get(&app, &links[0], &[("range", "bytes=999-")]).status, 416);
}

#[test]
fn large_content_is_streamed_whole_and_in_ranges() {
    let app = TestApp::new();
    let client = Client::of(&app);
    let bytes: Vec<u8> = (0..3_000_000u32).flat_map(u32::to_le_bytes).take(5_000_001).collect();
    let link = client.document(&bytes);
    let whole = get(&app, &link, &[]);
    assert_eq!((whole.status, whole.body == bytes), (200, true));
    assert_eq!(whole.field("content-length"), bytes.len().to_string());
    let end = get(&app, &link, &[("range", "bytes=-300000")]);
    assert_eq!((end.status, end.body == bytes[bytes.len() - 300_000..]), (206, true));
    // A response releases its memory shortly after the client has its last byte.
    for _ in 0..6_000 {
        if app.runtime().answers().bytes() == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("{} bytes of responses are still reserved", app.runtime().answers().bytes());
}

#[test]
fn content_that_the_field_does_not_accept_is_rejected() {
    let app = TestApp::new();
    let client = Client::of(&app);
    let html = send(&app, "POST", &client.begin("image"), &[("content-type", "image/png")], "<html>");
    assert_eq!((html.status, &*html.code()), (400, "INVALID_ARGUMENT"));
    let large = send(&app, "POST", &client.begin("image"), &[], vec![0; 1025]);
    assert_eq!((large.status, &*large.code()), (413, "PAYLOAD_TOO_LARGE"));
    let frame = || hyper::body::Frame::data(Bytes::from_static(&[0; 100]));
    let pieces = futures_util::stream::iter((0..40).map(move |_| Ok::<_, std::io::Error>(frame())));
    let unknown_length =
        send(&app, "POST", &client.begin("image"), &[], reqwest::Body::wrap(http_body_util::StreamBody::new(pieces)));
    assert_eq!(unknown_length.status, 413);
    // A content for another field does not fit either.
    let text = client.upload("poster", b"text");
    assert_eq!(client.refusal("addPhoto", json!({ "image": text })), "INVALID_ARGUMENT");
    assert_eq!(client.bytes_stored().len(), 1, "only the poster is stored");
}

#[test]
fn address_is_valid_once_for_its_caller_and_for_an_hour() {
    let app = TestApp::new();
    let client = Client::of(&app);
    let url = client.begin("image");
    let id = send(&app, "POST", &url, &[], PNG).storage_id();
    assert_eq!(send(&app, "POST", &url, &[], PNG).status, 409);
    let foreign = client.server.token("grace");
    let stolen = client.server.call(Some(&foreign), "files/addPhoto", &json!({ "image": id }));
    assert_eq!(stolen.code(), "NOT_FOUND");
    client.value("addPhoto", json!({ "image": id }));
    assert_eq!(client.refusal("addPhoto", json!({ "image": id })), "NOT_FOUND");
    assert_eq!(send(&app, "POST", &url, &[], PNG).status, 404);
    assert_eq!(send(&app, "POST", &format!("{url}x"), &[], PNG).status, 404);
    let late = client.begin("image");
    app.clock().advance(Duration::from_secs(3_601));
    assert_eq!(send(&app, "POST", &late, &[], PNG).status, 410);
}

#[test]
fn link_ends_with_its_time_and_with_its_row() {
    let app = TestApp::new();
    let client = Client::of(&app);
    let photo = client.photo(PNG);
    let link = client.links(&photo).swap_remove(0);
    assert_eq!(client.links(&photo)[0], link, "a query returns the same link for a while");
    client.refusal("removeAndFail", json!({ "photo": photo }));
    assert_eq!(get(&app, &link, &[]).status, 200, "the failed mutation changed nothing");
    client.value("removePhoto", json!({ "photo": photo }));
    assert_eq!(get(&app, &link, &[]).status, 404);
    let other = client.photo(PNG);
    let link = client.links(&other).swap_remove(0);
    app.clock().advance(Duration::from_secs(601));
    assert_eq!(get(&app, &link, &[]).status, 404);
    assert_eq!(get(&app, &link.replace("/files/", "/files/A"), &[]).status, 404);
}

/// Sets the clock to a moment before the links of [`linked_photo`] change.
fn set_clock_before_links_change(app: &TestApp, before: Duration) {
    let third_ms = 200_000;
    let now = app.now().0;
    app.clock().set(Millis(now - now.rem_euclid(third_ms) + third_ms) - before);
}

#[test]
fn live_query_with_a_link_runs_again_only_when_the_link_changes() {
    const BEFORE: Duration = Duration::from_millis(100);
    let app = TestApp::with(|options| options.limits.live_refresh = Duration::from_millis(20));
    let client = Client::of(&app);
    let photo = client.photo(PNG);
    set_clock_before_links_change(&app, BEFORE);
    let (ada, bob) = (app.user("ada"), app.user("bob"));
    let mut watched = [&ada, &bob].map(|caller| caller.watch("files/linkedPhoto", json!({ "photo": photo })));
    let first = watched.each_mut().map(|one| one.next().value().clone());
    let mut time = ada.watch("live/functions/time", json!({}));
    for _ in 0..10 {
        time.next();
        app.clock().advance(BEFORE / 20);
    }
    assert_eq!(LINKED_RUNS.load(Relaxed), 2, "one run per subscription; no refresh repeats it");
    app.clock().advance(BEFORE / 2);
    let second = watched.each_mut().map(|one| one.next().value().clone());
    assert_eq!(LINKED_RUNS.load(Relaxed), 3, "both callers share the run with the new link");
    assert_eq!((&first[0], &second[0]), (&first[1], &second[1]));
    assert_ne!(first[0], second[0]);
    for link in [&first[0], &second[0]] {
        assert_eq!(get(&app, link.as_str().unwrap(), &[]).status, 200);
    }
}

#[test]
fn result_with_a_link_is_cached_until_the_link_changes() {
    let app = TestApp::new();
    if app.runtime().store().nodes() != Nodes::Alone {
        // A node of several caches no results.
        return;
    }
    let client = Client::of(&app);
    let photo = client.photo(PNG);
    set_clock_before_links_change(&app, Duration::from_millis(1));
    let hits = || app.runtime().cache().stats().hits.load(Relaxed);
    let first = client.links(&photo);
    while hits() == 0 {
        assert_eq!(client.links(&photo), first);
    }
    app.clock().advance(Duration::from_millis(1));
    let before = hits();
    let second = client.links(&photo);
    assert_eq!(hits(), before);
    assert_ne!(first, second);
    for link in [&first[0], &second[0]] {
        assert_eq!(get(&app, link, &[]).status, 200);
    }
    client.value("removePhoto", json!({ "photo": photo }));
    assert_eq!(client.refusal("showPhoto", json!({ "photo": photo })), "NOT_FOUND");
}

#[test]
fn equal_content_is_stored_once_and_removed_a_day_after_its_last_reference() {
    let app = TestApp::new();
    let client = Client::of(&app);
    let (one, two) = (client.photo(PNG), client.photo(PNG));
    assert_eq!((client.contents(), client.bytes_stored().len()), (vec![(2, ContentState::Stored)], 1));
    client.value("removePhoto", json!({ "photo": one }));
    client.refusal("removeAndFail", json!({ "photo": two }));
    assert_eq!(client.contents(), [(1, ContentState::Stored)]);
    let day = Duration::from_secs(24 * 3_600);
    app.clock().advance(day * 2);
    assert_eq!(client.sweep().contents, 0, "a row refers to it");
    let client = Client::of(&app);
    client.value("removePhoto", json!({ "photo": two }));
    assert_eq!(client.sweep().contents, 0, "its last reference has just ended");
    app.clock().advance(day + Duration::from_secs(1));
    assert_eq!(client.sweep().contents, 1);
    assert!(client.bytes_stored().is_empty());
    let client = Client::of(&app);
    client.photo(PNG);
    assert_eq!((client.contents(), client.bytes_stored().len()), (vec![(1, ContentState::Stored)], 1));
}

#[test]
fn upload_continues_in_parts_after_an_interruption() {
    let app = TestApp::new();
    let client = Client::of(&app);
    let url = client.begin("image");
    let tus = ("tus-resumable", "1.0.0");
    let length = PNG.len().to_string();
    let created = send(&app, "POST", &url, &[tus, ("upload-length", &length)], "");
    assert_eq!((created.status, url.ends_with(created.field("location"))), (201, true));
    let part = |offset: usize, bytes: &[u8]| {
        let offset = offset.to_string();
        let fields = [tus, ("upload-offset", &*offset), ("content-type", "application/offset+octet-stream")];
        send(&app, "PATCH", &url, &fields, bytes.to_vec())
    };
    let first = part(0, &PNG[..10]);
    assert_eq!((first.status, first.field("upload-offset")), (204, "10"));
    let expires = created.field("upload-expires");
    assert!(httpdate::parse_http_date(expires).is_ok(), "{expires}");
    assert_eq!(first.field("upload-expires"), expires);
    assert_eq!(part(5, &PNG[5..]).status, 409, "the offset is wrong");
    let state = send(&app, "HEAD", &url, &[tus], "");
    assert_eq!((state.field("upload-offset"), state.field("upload-length")), ("10", &*length));
    assert_eq!(state.field("upload-expires"), expires);
    assert_eq!(send(&app, "PATCH", &url, &[("tus-resumable", "0.2.2")], "").status, 412);
    let last = part(10, &PNG[10..]);
    assert_eq!((last.status, last.field("upload-offset")), (204, &*length));
    let id = last.field("x-convoke-storage-id");
    client.value("addPhoto", json!({ "image": id }));
    let options = send(&app, "OPTIONS", &url, &[], "");
    assert_eq!((options.status, options.field("tus-version")), (204, "1.0.0"));
}

#[test]
fn action_reads_and_writes_contents_as_streams() {
    let app = TestApp::new();
    let client = Client::of(&app);
    let id = client.value("addDocument", json!({ "file": client.upload("file", b"quiet ".repeat(20_000).as_slice()) }));
    let loud = client.value("shout", json!({ "document": id }));
    let link = client.value("showDocument", json!({ "document": loud }));
    assert!(get(&app, link.as_str().unwrap(), &[]).body == b"QUIET ".repeat(20_000));
}

#[test]
fn length_of_an_upload_in_parts_is_declared_once_and_holds() {
    let app = TestApp::new();
    let client = Client::of(&app);
    let url = client.begin("file");
    let tus = ("tus-resumable", "1.0.0");
    let create = |fields: &[(&str, &str)]| send(&app, "POST", &url, &[&[tus], fields].concat(), "");
    assert_eq!(create(&[]).status, 400, "neither a length nor that it follows");
    assert_eq!(create(&[("upload-defer-length", "1")]).status, 201);
    assert_eq!(create(&[("upload-length", "10")]).status, 201);
    assert_eq!(create(&[("upload-length", "10")]).status, 201, "the same again");
    assert_eq!(create(&[("upload-length", "4")]).status, 409);
    let part = |offset: &str, bytes: &'static str| {
        let fields = [tus, ("upload-offset", offset), ("content-type", "application/offset+octet-stream")];
        send(&app, "PATCH", &url, &fields, bytes)
    };
    assert_eq!(part("0", "more than ten bytes").status, 413);
    assert_eq!(part("0", "ten ").status, 204);
    assert_eq!(part("4", "bytes.").field("upload-offset"), "10");
}

/// An app in which a user may write 100,000 bytes at once, and 28 per second.
fn with_rate_of_bytes() -> TestApp {
    TestApp::with(|options| {
        options.limits.user_bytes_written_burst = 100_000;
        options.limits.user_bytes_written_per_hour = 100_000;
    })
}

/// Sends a request on a connection of its own, and closes its sending side. Returns the response.
fn send_raw(method: &str, url: &str, head: &str, body: &[u8]) -> String {
    let url = reqwest::Url::parse(url).unwrap();
    let mut stream = TcpStream::connect((url.host_str().unwrap(), url.port().unwrap())).unwrap();
    write!(stream, "{method} {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{head}\r\n\r\n", url.path())
        .unwrap();
    // The server may respond, and close, before the end of the body.
    let _ = stream.write_all(body);
    let _ = stream.shutdown(Shutdown::Write);
    let mut response = String::new();
    let _ = stream.read_to_string(&mut response);
    response
}

#[test]
fn each_byte_of_an_upload_in_parts_is_charged_once() {
    let app = with_rate_of_bytes();
    let client = Client::of(&app);
    let url = client.begin("file");
    for part in 0..4_u8 {
        let (offset, length) = ((20_000 * usize::from(part)).to_string(), if part == 3 { "80000" } else { "" });
        let mut fields = vec![
            ("tus-resumable", "1.0.0"),
            ("upload-offset", &*offset),
            ("content-type", "application/offset+octet-stream"),
        ];
        fields.extend((!length.is_empty()).then_some(("upload-length", length)));
        assert_eq!(send(&app, "PATCH", &url, &fields, vec![part; 20_000]).status, 204, "part {part}");
    }
}

#[test]
fn bytes_without_a_declared_length_are_charged_as_they_arrive() {
    let app = with_rate_of_bytes();
    let client = Client::of(&app);
    let mut body = format!("{:x}\r\n", 150_000).into_bytes();
    body.extend_from_slice(&[1; 150_000]);
    body.extend_from_slice(b"\r\n0\r\n\r\n");
    let head = "transfer-encoding: chunked\r\ntus-resumable: 1.0.0\r\nupload-offset: 0\r\n\
                content-type: application/offset+octet-stream";
    let response = send_raw("PATCH", &client.begin("file"), head, &body);
    assert!(response.starts_with("HTTP/1.1 429") && response.contains("RATE_LIMITED"), "{response}");
    assert!(client.bytes_stored().is_empty());
}

#[test]
fn file_larger_than_a_burst_is_accepted_and_the_next_one_waits() {
    let app = with_rate_of_bytes();
    let client = Client::of(&app);
    let (first, second) = (client.begin("file"), client.begin("file"));
    send(&app, "POST", &first, &[], vec![1; 120_000]).storage_id();
    let refused = send(&app, "POST", &second, &[], vec![2; 1_000]);
    let wait: u64 = refused.field("retry-after").parse().unwrap();
    assert!(refused.status == 429 && wait > 600, "{} after {wait} s", refused.status);
}

#[test]
fn bytes_that_were_declared_and_did_not_arrive_are_given_back() {
    let app = with_rate_of_bytes();
    let client = Client::of(&app);
    let url = client.begin("file");
    send_raw("POST", &url, "content-length: 80000", &[1; 10_000]);
    let whole = || send(&app, "POST", &url, &[], vec![1; 80_000]);
    // The server may not have noticed yet that the first client is gone.
    let done = (0..3_000).map(|_| whole()).find(|answer| {
        std::thread::sleep(Duration::from_millis(if answer.status == 409 { 20 } else { 0 }));
        answer.status != 409
    });
    done.unwrap().storage_id();
}

#[test]
fn quota_counts_the_bytes_of_an_identity() {
    let app = TestApp::configured("[files]\nuser_bytes_max = 100");
    let client = Client::of(&app);
    client.upload("file", &[1; 60]);
    client.upload("file", &[1; 60]);
    let over = send(&app, "POST", &client.begin("file"), &[], vec![2; 60]);
    assert_eq!((over.status, &*over.code()), (429, "RATE_LIMITED"));
    client.upload("file", &[2; 40]);
}

#[test]
fn full_disk_rejects_an_upload_and_leaves_nothing() {
    let app = TestApp::new();
    let client = Client::of(&app);
    let url = client.begin("file");
    let disk: &HeldDisk = app.disk();
    disk.set(Room { free_bytes: 1 << 20, total_bytes: 1 << 40 });
    let refused = send(&app, "POST", &url, &[], vec![1; 1000]);
    assert_eq!((refused.status, &*refused.code()), (503, "UNAVAILABLE"));
    assert!(client.bytes_stored().is_empty());
    disk.set(Room { free_bytes: 1 << 39, total_bytes: 1 << 40 });
    send(&app, "POST", &url, &[], vec![1; 1000]).storage_id();
}
