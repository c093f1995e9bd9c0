//! Access to the console, and the rights of its pages, over real sockets.

use convoke::testing::{TestApp, TestServer};
use convoke_calls::call::envelope::LogLinesOn;
use convoke_server::admin::Admin;
use convoke_server::auth::Environment;
use convoke_server::console::ConsoleOptions;
use reqwest::header::{HeaderMap, HeaderValue};
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

/// A page that a person logged in to.
struct Page<'a> {
    app: &'a TestApp,
    base: String,
    cookie: String,
    secret: String,
}

const LINK: &str = "/api/admin/console";

fn served(app: &TestApp) -> TestServer<'_> {
    app.serve_console(options(), |_| {})
}

fn options() -> ConsoleOptions {
    ConsoleOptions { on_main: true, hosts: vec!["console.example.com".to_owned()], build: None }
}

fn base(server: &TestServer<'_>) -> String {
    format!("http://{}", server.address())
}

fn own(base: &str) -> HeaderMap {
    HeaderMap::from_iter([(reqwest::header::ORIGIN, HeaderValue::try_from(base).unwrap())])
}

fn sent(app: &TestApp, method: Method, url: &str, fields: HeaderMap, body: Option<Value>) -> (u16, HeaderMap, Value) {
    app.block_on(async {
        let mut request = Client::new().request(method, url).headers(fields);
        if let Some(body) = body {
            request = request.json(&body);
        }
        read(request.send().await.unwrap()).await
    })
}

async fn read(response: Response) -> (u16, HeaderMap, Value) {
    let (status, fields) = (response.status().as_u16(), response.headers().clone());
    let text = response.text().await.unwrap();
    (status, fields, serde_json::from_str(&text).unwrap_or(Value::String(text)))
}

/// A code for the operator, as `convoke console` gets it by the control socket.
fn code(server: &TestServer<'_>) -> String {
    server.admin().console.sessions().code(convoke_server::console::Holder::Operator).unwrap()
}

impl<'a> Page<'a> {
    fn by_code(app: &'a TestApp, server: &TestServer<'_>) -> Self {
        let base = base(server);
        let body = json!({ "code": code(server) });
        let answered = sent(app, Method::POST, &format!("{base}/console/api/session"), own(&base), Some(body));
        Self::of(app, base, answered)
    }

    fn by_key(app: &'a TestApp, server: &TestServer<'_>, key: &str) -> Self {
        let base = base(server);
        let mut fields = own(&base);
        fields.insert("authorization", HeaderValue::try_from(key).unwrap());
        let answered = sent(app, Method::POST, &format!("{base}/console/api/session"), fields, None);
        Self::of(app, base, answered)
    }

    fn of(app: &'a TestApp, base: String, (status, fields, body): (u16, HeaderMap, Value)) -> Self {
        assert_eq!((status, &body["status"]), (200, &json!("success")), "{body}");
        let cookie = fields["set-cookie"].to_str().unwrap().to_owned();
        assert!(cookie.ends_with("; Path=/console; Max-Age=28800; HttpOnly; SameSite=Strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { app, base, cookie, secret: body["value"]["secret"].as_str().unwrap().to_owned() }
    }

    /// The same session at another server. The name of the cookie has the server's port.
    fn at<'b>(&self, app: &'b TestApp, server: &TestServer<'_>) -> Page<'b> {
        let (_, value) = self.cookie.split_once('=').unwrap();
        let cookie = format!("convoke-console-{}={value}", server.address().port());
        Page { app, base: base(server), cookie, secret: self.secret.clone() }
    }

    fn fields(&self) -> HeaderMap {
        let mut fields = own(&self.base);
        fields.insert("cookie", HeaderValue::try_from(&self.cookie).unwrap());
        fields.insert("x-convoke-console", HeaderValue::try_from(&self.secret).unwrap());
        fields
    }

    fn ask(&self, method: Method, path: &str, body: Option<Value>) -> (u16, Value) {
        self.ask_with(method, path, self.fields(), body)
    }

    fn ask_with(&self, method: Method, path: &str, fields: HeaderMap, body: Option<Value>) -> (u16, Value) {
        let (status, _, body) = sent(self.app, method, &format!("{}/console/api{path}", self.base), fields, body);
        (status, body)
    }
}

fn code_of(answer: &(u16, Value)) -> (u16, &str) {
    (answer.0, answer.1["errorData"]["code"].as_str().unwrap_or_default())
}

#[test]
fn console_link_works_once_with_all_rights() {
    let app = TestApp::new();
    let server = served(&app);
    let base = base(&server);
    let body = json!({ "code": code(&server) });
    let url = format!("{base}/console/api/session");
    let page = Page::of(&app, base.clone(), sent(&app, Method::POST, &url, own(&base), Some(body.clone())));
    let (status, _, again) = sent(&app, Method::POST, &url, own(&base), Some(body));
    assert_eq!((status, again["errorData"]["code"].as_str()), (401, Some("INVALID_CREDENTIALS")));
    let (status, session) = page.ask(Method::GET, "/session", None);
    assert_eq!((status, &session["value"]["name"]), (200, &json!("operator")));
    assert_eq!(
        session["value"]["scopes"].as_array().unwrap().len(),
        session["value"]["choice"].as_array().unwrap().len()
    );
    assert_eq!(page.ask(Method::GET, "/admin/keys", None).0, 200);
}

#[test]
fn session_needs_cookie_and_secret_and_ends_with_logout() {
    let app = TestApp::new();
    let server = served(&app);
    let page = Page::by_code(&app, &server);
    let other = Page::by_code(&app, &server);
    for (missing, instead) in [
        ("cookie", None),
        ("x-convoke-console", None),
        ("x-convoke-console", Some(&other.secret)),
        ("cookie", Some(&other.cookie)),
    ] {
        let mut fields = page.fields();
        fields.remove(missing);
        if let Some(instead) = instead {
            fields.insert(missing, HeaderValue::try_from(instead).unwrap());
        }
        let answer = page.ask_with(Method::GET, "/admin/functions", fields, None);
        assert_eq!(code_of(&answer), (401, "INVALID_CREDENTIALS"), "{missing}");
    }
    assert_eq!(page.ask(Method::DELETE, "/session", None).0, 200);
    assert_eq!(page.ask(Method::GET, "/admin/functions", None).0, 401);
    assert_eq!(other.ask(Method::GET, "/admin/functions", None).0, 200);
}

fn reason(answer: &(u16, Value)) -> &str {
    assert_eq!(code_of(answer), (401, "INVALID_CREDENTIALS"), "{answer:?}");
    answer.1["errorMessage"].as_str().unwrap()
}

#[test]
fn session_survives_a_restart_and_an_ended_one_has_a_reason() {
    let app = TestApp::new();
    let first = served(&app);
    let operator = Page::by_code(&app, &first);
    let made = operator.ask(Method::POST, "/admin/keys", Some(json!({ "name": "ci", "scopes": ["jobs"] })));
    let of_key = Page::by_key(&app, &first, &format!("Convoke {}", made.1["value"]["key"].as_str().unwrap()));
    let left = Page::by_code(&app, &first);
    assert_eq!(left.ask(Method::DELETE, "/session", None).0, 200);
    drop(first);

    // Another server on the same database knows nothing but its rows.
    let second = served(&app);
    let (operator, of_key, left) = (operator.at(&app, &second), of_key.at(&app, &second), left.at(&app, &second));
    assert_eq!(operator.ask(Method::GET, "/session", None).1["value"]["name"], "operator");
    let (_, session) = of_key.ask(Method::GET, "/session", None);
    assert_eq!((&session["value"]["name"], &session["value"]["scopes"]), (&json!("ci"), &json!(["jobs"])));
    let mut fields = operator.fields();
    fields.insert("x-convoke-console", HeaderValue::try_from(&of_key.secret).unwrap());
    assert!(reason(&operator.ask_with(Method::GET, "/session", fields, None)).contains("page is not logged in"));
    assert!(reason(&left.ask(Method::GET, "/session", None)).contains("was logged out"));

    assert_eq!(operator.ask(Method::POST, "/admin/keys/ci/revoke", None).0, 200);
    assert!(reason(&of_key.ask(Method::GET, "/session", None)).contains("revoked"));
    let (_, rows) = operator.ask(Method::GET, "/admin/tables/_consoleSessions?system=true", None);
    let row = rows["value"]["rows"][0].as_object().unwrap();
    for hidden in ["cookie", "secret", "proof"] {
        assert!(!row.contains_key(hidden), "{row:?}");
    }
    app.clock().advance(convoke_server::console::SESSION_LIFE);
    assert!(reason(&operator.ask(Method::GET, "/session", None)).contains("expired after 8 hours"));

    let elsewhere = TestApp::new();
    let third = served(&elsewhere);
    let moved = operator.at(&elsewhere, &third);
    assert!(reason(&moved.ask(Method::GET, "/session", None)).contains("does not know the session"));
    let mut fields = moved.fields();
    fields.remove("cookie");
    assert!(reason(&moved.ask_with(Method::GET, "/session", fields, None)).contains("browser is not logged in"));
}

#[test]
fn logout_at_one_node_ends_the_session_at_every_node() {
    let app = TestApp::new();
    let (one, other) = (served(&app), served(&app));
    let page = Page::by_code(&app, &one);
    let there = page.at(&app, &other);
    assert_eq!(there.ask(Method::GET, "/admin/functions", None).0, 200);
    assert_eq!(page.ask(Method::DELETE, "/session", None).0, 200);
    assert!(reason(&there.ask(Method::GET, "/admin/functions", None)).contains("was logged out"));
}

#[test]
fn unknown_user_is_created_on_request_and_in_development_but_not_by_a_misspelling() {
    let app = TestApp::new();
    let server = served(&app);
    let page = Page::by_code(&app, &server);
    let seen = |subject: &str, create: bool| {
        use base64::Engine as _;
        let mut user = json!({ "issuer": "https://id.example", "subject": subject });
        if create {
            user["create"] = json!(true);
        }
        let user = user.to_string();
        let mut fields = page.fields();
        let user = base64::engine::general_purpose::STANDARD.encode(user);
        fields.insert("x-convoke-act-as", HeaderValue::try_from(user).unwrap());
        let url = format!("{}/console/api/run/work/seen", page.base);
        sent(&app, Method::POST, &url, fields, Some(json!({ "args": {} })))
    };
    let (status, fields, body) = seen("grace", false);
    assert_eq!(
        (status, &body["value"], &fields["x-convoke-user-created"]),
        (200, &json!(1), &HeaderValue::from_static("true"))
    );
    let (_, fields, body) = seen("grace", false);
    assert_eq!((&body["value"], fields.contains_key("x-convoke-user-created")), (&json!(1), false));
    let (status, _, body) = seen("grcae", false);
    assert_eq!((status, &body["errorData"]["unknownUser"]), (200, &json!("grcae")));
    assert!(body["errorMessage"].as_str().unwrap().contains("did you mean \"grace\"?"), "{body}");
    let people = || page.ask(Method::GET, "/admin/tables/people", None).1["value"]["rows"].as_array().unwrap().len();
    assert_eq!(people(), 1, "a query made no account");
    assert_eq!(seen("grcae", true).2["value"], json!(1));
    assert_eq!(people(), 2);
}

#[test]
fn console_session_has_the_scopes_of_its_key_until_revocation() {
    let app = TestApp::new();
    let server = served(&app);
    let operator = Page::by_code(&app, &server);
    let made =
        operator.ask(Method::POST, "/admin/keys", Some(json!({ "name": "looks", "scopes": ["functions", "logs"] })));
    let key = format!("Convoke {}", made.1["value"]["key"].as_str().unwrap());
    let page = Page::by_key(&app, &server, &key);
    assert_eq!(page.ask(Method::GET, "/admin/functions", None).0, 200);
    assert_eq!(page.ask(Method::GET, "/admin/overview", None).0, 200, "every key may");
    for (method, path) in [
        (Method::GET, "/admin/keys"),
        (Method::GET, "/admin/tables"),
        (Method::GET, "/admin/live"),
        (Method::POST, "/admin/tables/jobs"),
        (Method::GET, "/admin/backup/convoke-20260131-235959.db"),
    ] {
        assert_eq!(code_of(&page.ask(method, path, None)), (403, "INSUFFICIENT_SCOPE"), "{path}");
    }
    assert_eq!(operator.ask(Method::POST, "/admin/keys/looks/revoke", None).0, 200);
    assert_eq!(code_of(&page.ask(Method::GET, "/admin/functions", None)), (401, "INVALID_CREDENTIALS"));
    let wrong = sent(
        &app,
        Method::POST,
        &format!("{}/console/api/session", page.base),
        {
            let mut fields = own(&page.base);
            fields.insert("authorization", HeaderValue::try_from(&key).unwrap());
            fields
        },
        None,
    );
    assert_eq!(wrong.0, 401);
}

#[test]
fn link_of_a_deploy_key_has_its_scopes() {
    let app = TestApp::new();
    let server = served(&app);
    server.admin().console.serve_at(base(&server));
    let operator = Page::by_code(&app, &server);
    let made = operator.ask(Method::POST, "/admin/keys", Some(json!({ "name": "ci", "scopes": ["jobs"] })));
    let base = base(&server);
    let mut fields = HeaderMap::new();
    let key = format!("Convoke {}", made.1["value"]["key"].as_str().unwrap());
    fields.insert("authorization", HeaderValue::try_from(key).unwrap());
    let (status, _, link) = sent(&app, Method::POST, &format!("{base}{LINK}"), fields, None);
    assert_eq!((status, &link["value"]["url"]), (200, &json!(format!("{base}/console"))));
    let body = json!({ "code": link["value"]["code"] });
    let page = Page::of(
        &app,
        base.clone(),
        sent(&app, Method::POST, &format!("{base}/console/api/session"), own(&base), Some(body)),
    );
    let (_, session) = page.ask(Method::GET, "/session", None);
    assert_eq!((&session["value"]["name"], &session["value"]["scopes"]), (&json!("ci"), &json!(["jobs"])));
    let (status, _, _) = sent(&app, Method::POST, &format!("{base}{LINK}"), HeaderMap::new(), None);
    assert_eq!(status, 401);
}

#[test]
fn other_hosts_and_cross_origin_changes_are_rejected() {
    let app = TestApp::new();
    let server = served(&app);
    let page = Page::by_code(&app, &server);
    let with = |name: &'static str, value: Option<&str>| {
        let mut fields = page.fields();
        match value {
            Some(value) => drop(fields.insert(name, HeaderValue::try_from(value).unwrap())),
            None => drop(fields.remove(name)),
        }
        fields
    };
    for host in ["evil.example.com", "localhost.evil.example.com:3210", "console.example.com:3210"] {
        for path in ["/admin/functions", "/session"] {
            assert_eq!(
                code_of(&page.ask_with(Method::GET, path, with("host", Some(host)), None)),
                (400, "BAD_REQUEST"),
                "{host}"
            );
        }
        let mut fields = HeaderMap::new();
        fields.insert("host", HeaderValue::try_from(host).unwrap());
        assert_eq!(sent(&app, Method::GET, &format!("{}/console", page.base), fields, None).0, 400);
    }
    for origin in
        [None, Some("null"), Some("http://evil.example.com"), Some("https://127.0.0.1"), Some("http://127.0.0.1:1")]
    {
        let refused = page.ask_with(Method::POST, "/admin/jobs/job_0/retry", with("origin", origin), None);
        assert_eq!(code_of(&refused), (400, "BAD_REQUEST"), "{origin:?}");
        assert_eq!(page.ask_with(Method::DELETE, "/session", with("origin", origin), None).0, 400);
    }
    assert_eq!(page.ask(Method::GET, "/admin/functions", None).0, 200, "it is still logged in");
}

#[test]
fn login_over_plain_http_works_only_on_loopback() {
    let app = TestApp::new();
    let server = served(&app);
    let base = base(&server);
    for (name, value) in [
        ("x-forwarded-for", "192.0.2.1"),
        ("via", "1.1 proxy"),
        ("x-forwarded-proto", "https"),
        ("host", "console.example.com"),
    ] {
        let mut fields = own(&base);
        if name == "host" {
            fields.insert("origin", HeaderValue::from_static("http://console.example.com"));
        }
        fields.insert(name, HeaderValue::from_static(value));
        let body = json!({ "code": code(&server) });
        let (status, _, refused) = sent(&app, Method::POST, &format!("{base}/console/api/session"), fields, Some(body));
        assert_eq!(status, 400, "{name}: {refused}");
        assert!(refused["errorMessage"].as_str().unwrap().contains("plain HTTP"), "{refused}");
    }
}

#[test]
fn login_over_tls_works_anywhere_with_a_secure_cookie() {
    let app = TestApp::new();
    let server = app.serve_console(options(), |options| options.trusted_proxies = vec!["127.0.0.0/8".parse().unwrap()]);
    let base = base(&server);
    let mut fields = own("https://console.example.com");
    for (name, value) in
        [("host", "console.example.com"), ("x-forwarded-for", "192.0.2.1"), ("x-forwarded-proto", "https")]
    {
        fields.insert(name, HeaderValue::from_static(value));
    }
    let body = json!({ "code": code(&server) });
    let (status, answered, body) =
        sent(&app, Method::POST, &format!("{base}/console/api/session"), fields.clone(), Some(body));
    assert_eq!(status, 200, "{body}");
    let cookie = answered["set-cookie"].to_str().unwrap();
    assert!(cookie.ends_with("; Path=/console; Max-Age=28800; HttpOnly; SameSite=Strict; Secure"), "{cookie}");
    // The same session over plain HTTP is no one's.
    fields.insert("cookie", HeaderValue::try_from(cookie.split(';').next().unwrap()).unwrap());
    fields.insert("x-convoke-console", HeaderValue::try_from(body["value"]["secret"].as_str().unwrap()).unwrap());
    let asked = |fields| sent(&app, Method::GET, &format!("{base}/console/api/session"), fields, None);
    assert_eq!(asked(fields.clone()).0, 200);
    fields.remove("x-forwarded-proto");
    assert_eq!(asked(fields).0, 400);
}

#[test]
fn console_pages_run_only_their_own_scripts_and_reject_other_sites() {
    let app = TestApp::new();
    let server = served(&app);
    let base = base(&server);
    for path in ["/console", "/console/", "/console/data/users", "/console/anything/else"] {
        let (status, fields, _) =
            sent(&app, Method::GET, &format!("{base}{path}"), own("https://evil.example.com"), None);
        assert_eq!((status, fields["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"), "{path}");
        let policy = fields["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("frame-ancestors 'none'") && policy.contains("script-src 'self';"), "{policy}");
        assert!(!policy.contains("unsafe"));
        assert!(!fields.contains_key("access-control-allow-origin"));
    }
    for file in ["main.js", "app.css", "vendor/uPlot.js", "pages/data.js"] {
        assert_eq!(
            sent(&app, Method::GET, &format!("{base}/console/assets/{file}"), HeaderMap::new(), None).0,
            200,
            "{file}"
        );
    }
    assert_eq!(sent(&app, Method::GET, &format!("{base}/console/assets/none.js"), HeaderMap::new(), None).0, 404);
    let (_, page) = (0, include_str!("../../../src/console/app/index.html"));
    assert!(!page.contains("<style") && !page.contains(" style=") && !page.contains(" onload"), "nothing inline");
    let (status, fields, _) =
        sent(&app, Method::OPTIONS, &format!("{base}/console/api/admin/keys"), own("https://evil.example.com"), None);
    assert_eq!(status, 204);
    assert!(!fields.contains_key("access-control-allow-origin"));
}

#[test]
fn call_listener_serves_no_console_by_default() {
    let app = TestApp::new();
    let server = app.serve_with(|_| {}, LogLinesOn::Error);
    for path in ["/console", "/console/assets/main.js", "/console/api/admin/functions"] {
        assert_eq!(
            sent(&app, Method::GET, &format!("{}{path}", base(&server)), HeaderMap::new(), None).0,
            404,
            "{path}"
        );
    }
    let apart = Admin::new(app.runtime().clone(), Environment::Development);
    assert!(apart.console.url().is_err());
}

#[test]
fn download_ticket_works_once_and_needs_the_scope() {
    let app = TestApp::new();
    let server = served(&app);
    let page = Page::by_code(&app, &server);
    let made = page.ask(Method::POST, "/admin/keys", Some(json!({ "name": "data", "scopes": ["data"] })));
    let key = format!("Convoke {}", made.1["value"]["key"].as_str().unwrap());
    let table = "tables/_keyUses/export?format=csv&system=true";
    let ticket = page.ask(Method::POST, "/downloads", Some(json!({ "path": table })));
    let url = format!("{}{}", page.base, ticket.1["value"]["url"].as_str().unwrap());
    let cookie = |page: &Page<'_>| {
        HeaderMap::from_iter([(reqwest::header::COOKIE, HeaderValue::try_from(&page.cookie).unwrap())])
    };
    assert_eq!(sent(&app, Method::GET, &url, HeaderMap::new(), None).0, 401, "without the cookie");
    let ticket = page.ask(Method::POST, "/downloads", Some(json!({ "path": table })));
    let url = format!("{}{}", page.base, ticket.1["value"]["url"].as_str().unwrap());
    let (status, fields, body) = sent(&app, Method::GET, &url, cookie(&page), None);
    assert_eq!(status, 200);
    assert_eq!(fields["content-disposition"], "attachment; filename=\"_keyUses.csv\"");
    assert!(body.as_str().unwrap().starts_with("_id,_creationTime,key,what,outcome"), "{body}");
    assert_eq!(sent(&app, Method::GET, &url, cookie(&page), None).0, 401, "it is spent");
    let limited = Page::by_key(&app, &server, &key);
    let ticket = limited.ask(Method::POST, "/downloads", Some(json!({ "path": "backup/convoke-20260131-235959.db" })));
    let url = format!("{}{}", page.base, ticket.1["value"]["url"].as_str().unwrap());
    assert_eq!(sent(&app, Method::GET, &url, cookie(&limited), None).0, 403);
}

#[test]
fn console_runs_a_function_as_a_user_and_records_it() {
    let app = TestApp::new();
    let server = served(&app);
    let page = Page::by_code(&app, &server);
    let mut fields = page.fields();
    use base64::Engine as _;
    let ada = base64::engine::general_purpose::STANDARD.encode(r#"{"issuer":"https://id.example","subject":"ada"}"#);
    fields.insert("x-convoke-act-as", HeaderValue::try_from(ada).unwrap());
    let (_, who) = page.ask_with(Method::POST, "/run/work/who", fields, Some(json!({ "args": {} })));
    assert_eq!(who["value"], "https://id.example|ada");
    for _ in 0..3 {
        assert_eq!(page.ask(Method::GET, "/admin/jobs", None).0, 200);
    }
    let (_, record) = page.ask(Method::GET, "/admin/audit?key=operator&limit=100", None);
    let uses: Vec<_> =
        record["value"]["items"].as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap()).collect();
    for wanted in ["console login", "query work/who", "GET jobs"] {
        assert_eq!(uses.iter().filter(|what| **what == wanted).count(), 1, "{wanted}: {uses:?}");
    }
}
