//! A real port in front of a [`TestApp`]: real sockets and real tokens, signed by the test's own key.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::app::TestApp;
use convoke_calls::call::envelope::LogLinesOn;
use convoke_http::{HttpOptions, Server};
use convoke_server::admin::Admin;
use convoke_server::auth::development::{DevelopmentIssuer, DevelopmentUser};
use convoke_server::auth::key_source::http_client;
use convoke_server::auth::{AuthConfig, Authenticator, Environment};
use convoke_server::console::ConsoleOptions;
use convoke_server::gateway::Gateway;
use convoke_server::site::Site;

/// Lifetime of a test's token.
const TOKEN_LIFETIME: Duration = Duration::from_secs(3_600);

/// A listener on a free port of this machine. It stops when this value is dropped.
pub struct TestServer<'app> {
    app: &'app TestApp,
    address: SocketAddr,
    admin: Admin,
    issuer: DevelopmentIssuer,
    client: reqwest::Client,
    stop: Option<oneshot::Sender<()>>,
}

/// An HTTP response.
#[derive(Debug)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: reqwest::header::HeaderMap,
    /// The body, or null if it is not JSON.
    pub body: Value,
}

impl HttpReply {
    /// Returns `errorData.code`, or an empty text.
    pub fn code(&self) -> &str {
        self.body["errorData"]["code"].as_str().unwrap_or_default()
    }

    /// Returns `value` of a success.
    ///
    /// # Panics
    /// If the response is not a success.
    #[track_caller]
    pub fn value(&self) -> &Value {
        assert_eq!(self.body["status"], "success", "{} {}", self.status, self.body);
        &self.body["value"]
    }
}

impl TestApp {
    /// Serves the app's functions on a free port, for tokens of an issuer of its own.
    ///
    /// # Panics
    /// If no port is free.
    pub fn serve(&self) -> TestServer<'_> {
        self.serve_with(|_| {}, LogLinesOn::Error)
    }

    /// Like [`TestApp::serve`], with options that the test changes first.
    ///
    /// # Panics
    /// As [`TestApp::serve`].
    pub fn serve_with(&self, change: impl FnOnce(&mut HttpOptions), log_lines: LogLinesOn) -> TestServer<'_> {
        self.listen(change, log_lines, ConsoleOptions::default(), None)
    }

    /// Like [`TestApp::serve`], with a console.
    ///
    /// # Panics
    /// As [`TestApp::serve`].
    pub fn serve_console(&self, console: ConsoleOptions, change: impl FnOnce(&mut HttpOptions)) -> TestServer<'_> {
        self.listen(change, LogLinesOn::Error, console, None)
    }

    /// Like [`TestApp::serve`], with the files of a folder as a static site. `is_spa` is true for a single-page
    /// application.
    ///
    /// # Panics
    /// If the folder cannot be served; as [`TestApp::serve`].
    pub fn serve_site(&self, folder: &Path, is_spa: bool) -> TestServer<'_> {
        let site = Site::open(folder, is_spa).unwrap_or_else(|error| panic!("{error}"));
        self.listen(|_| {}, LogLinesOn::Error, ConsoleOptions::default(), Some(site))
    }

    fn listen(
        &self,
        change: impl FnOnce(&mut HttpOptions),
        log_lines: LogLinesOn,
        console: ConsoleOptions,
        site: Option<Site>,
    ) -> TestServer<'_> {
        let runtime = self.runtime().clone();
        let clock = runtime.clock().clone();
        let issuer = DevelopmentIssuer::ephemeral(clock.clone()).expect("a key can be made");
        let auth = AuthConfig {
            environment: Environment::Development,
            providers: vec![issuer.provider()],
            ..AuthConfig::default()
        };
        let mut options = HttpOptions::new(SocketAddr::from(([127, 0, 0, 1], 0)));
        options.limits = runtime.limits().clone();
        change(&mut options);
        let (stop, stopped) = oneshot::channel();
        let (address, admin) = self.block_on(async move {
            let http = http_client().build().expect("a client can be made");
            let limits = runtime.limits().clone();
            let authenticator = Authenticator::new(auth, clock, &limits, http).expect("the issuer's settings are good");
            authenticator.start().await;
            let admin = Admin::new(runtime, authenticator.environment()).with_console(console);
            let gateway = Gateway::new(admin.clone(), authenticator, log_lines);
            let gateway = match site {
                Some(site) => gateway.with_site(site),
                None => gateway,
            };
            let server = Server::bind(options, gateway).await.expect("a free port can be had");
            let address = server.local_addr();
            admin.runtime.serve_at(format!("http://{address}"));
            tokio::spawn(server.run(async move {
                let _ = stopped.await;
            }));
            (address, admin)
        });
        TestServer { app: self, address, admin, issuer, client: reqwest::Client::new(), stop: Some(stop) }
    }
}

impl TestServer<'_> {
    /// Returns the address of the listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the operator's interface.
    pub fn admin(&self) -> &Admin {
        &self.admin
    }

    /// Returns a token with the subject `subject` and the verified address `subject@example.com`.
    ///
    /// # Panics
    /// If the token cannot be signed.
    pub fn token(&self, subject: &str) -> String {
        self.token_of(&DevelopmentUser {
            email: Some(format!("{subject}@example.com")),
            email_verified: true,
            ..DevelopmentUser::new(subject)
        })
    }

    /// Returns a token with the given claims.
    ///
    /// # Panics
    /// If the token cannot be signed.
    pub fn token_of(&self, user: &DevelopmentUser) -> String {
        self.issuer.mint(user, TOKEN_LIFETIME).expect("a token can be signed")
    }

    /// Calls a function over HTTP.
    pub fn call(&self, token: Option<&str>, path: &str, args: &Value) -> HttpReply {
        self.post(token, &format!("/api/run/{path}"), json!({ "args": args }).to_string())
    }

    /// Posts a body as JSON to a route.
    pub fn post(&self, token: Option<&str>, route: &str, body: impl Into<reqwest::Body>) -> HttpReply {
        self.app.block_on(self.post_async(token, route, body))
    }

    /// Like [`TestServer::post`], but async, for concurrent requests.
    ///
    /// # Panics
    /// If no response comes.
    pub async fn post_async(&self, token: Option<&str>, route: &str, body: impl Into<reqwest::Body>) -> HttpReply {
        self.send_async(token, route, &[], body).await
    }

    /// Like [`TestServer::post_async`], with additional headers.
    ///
    /// # Panics
    /// If no response comes.
    pub async fn send_async(
        &self,
        token: Option<&str>,
        route: &str,
        fields: &[(&str, &str)],
        body: impl Into<reqwest::Body>,
    ) -> HttpReply {
        let url = format!("http://{}{route}", self.address);
        let mut request = self.client.post(url).header("content-type", "application/json").body(body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        for (name, value) in fields {
            request = request.header(*name, *value);
        }
        let response = request.send().await.expect("the server answers");
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let bytes = response.bytes().await.expect("the body arrives");
        HttpReply { status, headers, body: serde_json::from_slice(&bytes).unwrap_or(Value::Null) }
    }
}

impl Drop for TestServer<'_> {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
    }
}
