//! `/openapi.json` and `/docs` over a real port.

use convoke::testing::{TestApp, TestServer};
use reqwest::header::HeaderMap;
use serde_json::Value;

struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn field(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

fn get(app: &TestApp, server: &TestServer<'_>, path: &str, fields: &[(&str, &str)]) -> Answer {
    // This client decompresses nothing by itself.
    let mut request = reqwest::Client::new().get(format!("http://{}{path}", server.address()));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    app.block_on(async {
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Answer { status, headers, body: response.bytes().await.unwrap().to_vec() }
    })
}

fn unzipped(bytes: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(bytes), &mut plain).unwrap();
    plain
}

#[test]
fn openapi_is_served_plain_compressed_and_revalidated() {
    let app = TestApp::new();
    let server = app.serve();
    let plain = get(&app, &server, "/openapi.json", &[]);
    let document: Value = serde_json::from_slice(&plain.body).unwrap();
    assert_eq!((plain.status, plain.field("content-type")), (200, "application/json"));
    assert_eq!(document["openapi"], "3.0.3");
    assert_eq!(plain.field("content-encoding"), "");
    assert_eq!(plain.field("vary"), "accept-encoding");

    let gzip = get(&app, &server, "/openapi.json", &[("accept-encoding", "deflate, gzip;q=0.5")]);
    assert_eq!(gzip.field("content-encoding"), "gzip");
    assert_eq!(unzipped(&gzip.body), plain.body);
    let refused = get(&app, &server, "/openapi.json", &[("accept-encoding", "gzip;q=0, br;q=0, deflate")]);
    assert_eq!(refused.field("content-encoding"), "");

    let etag = plain.field("etag");
    let strong = etag.trim_start_matches("W/");
    for known in [etag, strong, "*", &format!("\"other\", {etag}")] {
        let known = get(&app, &server, "/openapi.json", &[("if-none-match", known)]);
        assert_eq!((known.status, known.body.len(), known.field("etag")), (304, 0, etag));
    }
    assert_eq!(get(&app, &server, "/openapi.json", &[("if-none-match", "\"other\"")]).status, 200);
}

#[test]
fn openapi_describes_only_public_functions() {
    let app = TestApp::new();
    let server = app.serve();
    let document: Value = serde_json::from_slice(&get(&app, &server, "/openapi.json", &[]).body).unwrap();
    let paths = document["paths"].as_object().unwrap();
    for function in app.runtime().registry().all() {
        let is_public = function.def.visibility == convoke_calls::function::Visibility::Public;
        assert_eq!(paths.contains_key(&format!("/api/run/{}", function.path)), is_public, "{}", function.path);
    }
}

#[test]
fn root_redirects_to_the_reference_in_development() {
    let app = TestApp::new();
    let server = app.serve();
    // The client follows.
    let (root, page) = (get(&app, &server, "/", &[]), get(&app, &server, "/docs", &[]));
    assert_eq!((root.status, root.body), (200, page.body));
}

#[test]
fn reference_loads_only_from_this_server() {
    let app = TestApp::new();
    let server = app.serve();
    let page = get(&app, &server, "/docs", &[]);
    let html = String::from_utf8(page.body.clone()).unwrap();
    assert_eq!((page.status, page.field("content-type")), (200, "text/html; charset=utf-8"));
    let policy = page.field("content-security-policy");
    assert!(policy.starts_with("default-src 'none'; script-src 'self';"), "{policy}");
    assert!(!policy.contains("unsafe") && !policy.contains("http"), "{policy}");
    assert!(!html.contains("//"), "{html}");
    for (file, content_type) in [
        ("swagger-ui-bundle.js", "text/javascript; charset=utf-8"),
        ("swagger-ui.css", "text/css; charset=utf-8"),
        ("start.js", "text/javascript; charset=utf-8"),
        ("page.css", "text/css; charset=utf-8"),
    ] {
        assert!(html.contains(&format!("\"/docs/{file}\"")), "{file}");
        let path = format!("/docs/{file}");
        let plain = get(&app, &server, &path, &[]);
        let gzip = get(&app, &server, &path, &[("accept-encoding", "gzip")]);
        assert_eq!((plain.status, plain.field("content-type")), (200, content_type));
        assert_eq!(unzipped(&gzip.body), plain.body);
    }
    for path in ["/docs/", "/docs/index.html", "/docs/../Cargo.toml", "/docs/swagger-ui.css.gz"] {
        let status = get(&app, &server, path, &[]).status;
        assert_eq!(status, if path == "/docs/" { 200 } else { 404 }, "{path}");
    }
}
