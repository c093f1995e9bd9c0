//! The typed client of a server's functions, made by `convoke codegen rust`. Do not edit it: make it again.
//!
//! ```ignore
//! let client = convoke::Client::new("https://api.example.com").token(token);
//! let user = client.users().queries().get_current_user().await?;
//! ```
//!
//! It needs `reqwest`, `serde` with `derive`, `serde_json` with
//! `raw_value`, and `tokio` with `time`. What is safe to repeat is repeated when it may pass: queries, calls with an
//! `idempotency_key`, and whatever certainly did not run. Nothing else is ever sent twice. Members of results that this
//! file does not know are passed over, so that it outlives additions to the server.

#![allow(dead_code, reason = "a program calls some of the functions")]
#![allow(clippy::all, clippy::pedantic, reason = "made by a program, for every server")]
#![cfg_attr(rustfmt, rustfmt_skip)]

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::future::{Future, IntoFuture};
use std::hash::{BuildHasher as _, Hasher as _};
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The functions of a server. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    url: String,
    http: reqwest::Client,
    credentials: Credentials,
    timeout: Option<Duration>,
    retries: u32,
}

/// Whose calls they are.
#[derive(Clone)]
enum Credentials {
    Nobody,
    Token(String),
    Provider(Arc<dyn TokenProvider>),
    DeployKey(String),
}

/// A future behind a pointer.
type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What a failure to get a token is.
pub type TokenError = Box<dyn std::error::Error + Send + Sync>;

/// What is asked for a token before every call. A closure will do, see [`Client::token_provider`].
pub trait TokenProvider: Send + Sync {
    /// The token of the next call; none = nobody's call. `rejected` is the one that the server has just refused, if it
    /// has: with another one than that, the call is sent once more.
    fn token<'a>(&'a self, rejected: Option<&'a str>) -> Boxed<'a, std::result::Result<Option<String>, TokenError>>;
}

struct FromClosure<F>(F);

impl<F, Fut> TokenProvider for FromClosure<F>
where
    F: Fn(Option<String>) -> Fut + Send + Sync,
    Fut: Future<Output = std::result::Result<Option<String>, TokenError>> + Send + 'static,
{
    fn token<'a>(&'a self, rejected: Option<&'a str>) -> Boxed<'a, std::result::Result<Option<String>, TokenError>> {
        Box::pin(self.0(rejected.map(str::to_owned)))
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Neither tokens nor keys are for logs.
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the server at `url` (`https://api.example.com`), whose calls are nobody's.
    pub fn new(url: impl Into<String>) -> Self {
        let url = url.into().trim_end_matches('/').to_owned();
        Self { url, http: reqwest::Client::new(), credentials: Credentials::Nobody, timeout: None, retries: 3 }
    }

    /// The same, with calls by whom this token (a JWT) names.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.credentials = Credentials::Token(token.into());
        self
    }

    /// The same, with a function that is asked for a token before every call, and again with the token that was
    /// rejected: `client.token_provider(|_rejected| async { Ok(Some(fetch_token().await?)) })`.
    #[must_use]
    pub fn token_provider<F, Fut>(mut self, provider: F) -> Self
    where
        F: Fn(Option<String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<Option<String>, TokenError>> + Send + 'static,
    {
        self.credentials = Credentials::Provider(Arc::new(FromClosure(provider)));
        self
    }

    /// The same, with calls by a deploy key.
    #[must_use]
    pub fn deploy_key(mut self, key: impl Into<String>) -> Self {
        self.credentials = Credentials::DeployKey(key.into());
        self
    }

    /// The same, with this time for a call in all, retries included; unless told, 30 s for queries and mutations and
    /// 11 minutes for actions.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The same, repeating a call that is safe to repeat at most so often; unless told, three times.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// The same, through an HTTP client of your own: its proxy, its certificates, its pool.
    #[must_use]
    pub fn http(mut self, http: reqwest::Client) -> Self {
        self.http = http;
        self
    }

    fn call<T>(&self, path: &'static str, kind: Kind, args: &impl Serialize) -> Call<'_, T> {
        // Types made from schemas have no map whose keys are no texts: they can always be written.
        let args = serde_json::to_value(args).unwrap_or_default();
        let keyed = args.get("idempotencyKey").and_then(Value::as_str).is_some_and(|key| !key.is_empty());
        let body = serde_json::json!({ "args": args }).to_string();
        let (timeout, retries) = (self.timeout.unwrap_or(kind.timeout()), self.retries);
        let request_id = random_id();
        Call { client: self, path, kind, body, keyed, timeout, retries, request_id, token: None, value: PhantomData }
    }
}

/// What a call of a function may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Query,
    Mutation,
    Action,
}

impl Kind {
    fn timeout(self) -> Duration {
        match self {
            Kind::Query | Kind::Mutation => Duration::from_secs(30),
            Kind::Action => Duration::from_secs(660),
        }
    }
}

/// A call that is sent when it is awaited. Dropping the future ends the wait; a mutation or action that was sent may
/// run all the same.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<'c, T> {
    client: &'c Client,
    path: &'static str,
    kind: Kind,
    body: String,
    keyed: bool,
    timeout: Duration,
    retries: u32,
    request_id: String,
    token: Option<String>,
    value: PhantomData<fn() -> T>,
}

/// What a function returned, and what is known of the call beside it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply<T> {
    /// What it returned.
    pub value: T,
    /// By what the server's log knows the call.
    pub request_id: String,
    /// What the function logged, if the server sends it.
    pub log_lines: Vec<String>,
}

impl<'c, T: DeserializeOwned + 'c> IntoFuture for Call<'c, T> {
    type Output = Result<T>;
    type IntoFuture = Boxed<'c, Result<T>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.reply().await.map(|reply| reply.value) })
    }
}

impl<T: DeserializeOwned> Call<'_, T> {
    /// The same call with this time in all, retries included.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same call, repeated at most so often.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// The same call, known to the server's log by this: 1 … 64 of `A-Za-z0-9._-`.
    pub fn request_id(mut self, request_id: impl Into<String>) -> Self {
        self.request_id = request_id.into();
        self
    }

    /// The same call by whom this token names, where one program calls for many.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Calls, and returns what is known beside the value as well.
    ///
    /// # Errors
    /// Why the call failed.
    pub async fn reply(self) -> Result<Reply<T>> {
        let mut state = Progress::default();
        match tokio::time::timeout(self.timeout, self.attempts(&mut state)).await {
            Ok(done) => done,
            Err(_) => {
                let may_have_run = state.may_have_run || state.sent && self.kind != Kind::Query;
                let told = Attempt { may_have_run, ..Attempt::new(Code::ClientTimeout, "The call took longer than its timeout") };
                Err(self.failed(told, &state))
            }
        }
    }

    async fn attempts(&self, state: &mut Progress) -> Result<Reply<T>> {
        let ends = tokio::time::Instant::now() + self.timeout;
        let mut credentials = self.credentials(None).await.map_err(|told| self.failed(told, state))?;
        let mut rejected: Option<String> = None;
        loop {
            state.attempts += 1;
            state.sent = true;
            let told = match self.attempt(credentials.as_ref()).await {
                Ok(reply) => return Ok(reply),
                Err(told) => told,
            };
            state.sent = false;
            state.may_have_run |= told.may_have_run;
            if told.code == Code::InvalidCredentials && rejected.is_none() && self.asks_for_tokens() {
                // Nothing ran. Another token than the rejected one is worth one more attempt.
                rejected = credentials.take().map(|(_, token)| token);
                credentials = self.credentials(rejected.as_deref()).await.map_err(|told| self.failed(told, state))?;
                match &credentials {
                    Some((_, token)) if rejected.as_ref() != Some(token) => continue,
                    Some(_) | None => return Err(self.failed(told, state)),
                }
            }
            let safe = self.kind == Kind::Query || self.keyed || !told.may_have_run;
            let pause = told.wait.unwrap_or_default() + backoff(state.attempts);
            let in_time = tokio::time::Instant::now() + pause < ends;
            if !safe || !told.may_pass || state.attempts > self.retries || !in_time {
                return Err(self.failed(told, state));
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn asks_for_tokens(&self) -> bool {
        self.token.is_none() && matches!(self.client.credentials, Credentials::Provider(_))
    }

    /// The scheme and what follows it.
    async fn credentials(&self, rejected: Option<&str>) -> std::result::Result<Option<(&'static str, String)>, Attempt> {
        if let Some(token) = &self.token {
            return Ok(Some(("Bearer", token.clone())));
        }
        match &self.client.credentials {
            Credentials::Nobody => Ok(None),
            Credentials::Token(token) => Ok(Some(("Bearer", token.clone()))),
            Credentials::DeployKey(key) => Ok(Some(("Convoke", key.clone()))),
            Credentials::Provider(provider) => match provider.token(rejected).await {
                Ok(token) => Ok(token.map(|token| ("Bearer", token))),
                Err(cause) => {
                    let message = format!("No token could be had: {cause}");
                    Err(Attempt { source: Some(cause), ..Attempt::new(Code::TokenUnavailable, message) })
                }
            },
        }
    }

    async fn attempt(&self, credentials: Option<&(&'static str, String)>) -> std::result::Result<Reply<T>, Attempt> {
        let changes = self.kind != Kind::Query;
        let url = format!("{}/api/run/{}", self.client.url, self.path);
        let mut request = self.client.http.post(url).header("content-type", "application/json");
        request = request.header("x-request-id", &self.request_id).body(self.body.clone());
        if let Some((scheme, secret)) = credentials {
            request = request.header("authorization", format!("{scheme} {secret}"));
        }
        let unreachable = |error: reqwest::Error| {
            let may_have_run = changes && !error.is_connect() && !error.is_builder();
            let told = Attempt::new(Code::ConnectionFailed, format!("The server cannot be reached: {}", root(&error)));
            Attempt { may_have_run, may_pass: !error.is_builder(), source: Some(Box::new(error)), ..told }
        };
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let request_id = header("x-request-id");
        let wait = header("retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let body = response.bytes().await.map_err(unreachable)?;
        self.read(status, &body, request_id.clone()).map_err(|told| {
            // A function that counts its callers' calls says when the next one is welcome.
            let asked = told.data.get("retryAfterMs").and_then(Value::as_u64).map(Duration::from_millis);
            Attempt { status: Some(status), request_id, wait: asked.or(wait), ..told }
        })
    }

    fn read(&self, status: u16, body: &[u8], request_id: Option<String>) -> std::result::Result<Reply<T>, Attempt> {
        let changes = self.kind != Kind::Query;
        let unreadable = |what: String| {
            let may_pass = status == 429 || (502..=504).contains(&status);
            Attempt { may_have_run: changes, may_pass, ..Attempt::new(Code::InvalidResponse, what) }
        };
        let envelope: Envelope<'_> = serde_json::from_slice(body).map_err(|_| {
            let shown: String = String::from_utf8_lossy(body).chars().take(200).collect();
            unreadable(format!("Status {status} with a body that is no answer of a function: {shown}"))
        })?;
        match (envelope.status, envelope.value) {
            ("success", Some(value)) => {
                let value = serde_json::from_str(value.get())
                    .map_err(|error| unreadable(format!("The result is not of the type that this client knows: {error}")))?;
                let request_id = request_id.unwrap_or_else(|| self.request_id.clone());
                Ok(Reply { value, request_id, log_lines: envelope.log_lines })
            }
            ("error", _) => {
                let name = envelope.error_data.get("code").and_then(Value::as_str).unwrap_or_default();
                let code = Code::named(name);
                let refused_before = (400..500).contains(&status) || status == 503;
                let unknown = code == Code::CommitUnknown;
                // A failed mutation is taken back; an action may be half done.
                let may_have_run = changes && (unknown || self.kind == Kind::Action && !refused_before);
                Err(Attempt {
                    data: envelope.error_data,
                    log_lines: envelope.log_lines,
                    may_have_run,
                    // With a key (or for a query) asking again is the way to find out what happened.
                    may_pass: code.retryable() || unknown,
                    ..Attempt::new(code, envelope.error_message)
                })
            }
            _ => Err(unreadable(format!("Status {status} with an answer that is neither a success nor an error"))),
        }
    }

    fn failed(&self, told: Attempt, state: &Progress) -> Error {
        Error(Box::new(Inner {
            path: self.path,
            request_id: told.request_id.clone().unwrap_or_else(|| self.request_id.clone()),
            attempts: state.attempts,
            may_have_run: told.may_have_run || state.may_have_run,
            told,
        }))
    }
}

/// How far a call is.
#[derive(Default)]
struct Progress {
    attempts: u32,
    may_have_run: bool,
    /// Whether an attempt is under way.
    sent: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    status: &'a str,
    #[serde(borrow, default, deserialize_with = "there")]
    value: Option<&'a RawValue>,
    #[serde(default)]
    error_message: String,
    #[serde(default)]
    error_data: Map<String, Value>,
    #[serde(default)]
    log_lines: Vec<String>,
}

/// A value that is there: null is one.
fn there<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// One attempt that failed.
#[derive(Debug)]
struct Attempt {
    code: Code,
    message: String,
    data: Map<String, Value>,
    status: Option<u16>,
    request_id: Option<String>,
    log_lines: Vec<String>,
    may_have_run: bool,
    /// Whether a repetition can help.
    may_pass: bool,
    /// How long the server asked to wait.
    wait: Option<Duration>,
    source: Option<TokenError>,
}

impl Attempt {
    fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            data: Map::new(),
            status: None,
            request_id: None,
            log_lines: Vec::new(),
            may_have_run: false,
            may_pass: false,
            wait: None,
            source: None,
        }
    }
}

/// What a call returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call failed. `match` on its [`Error::code`].
pub struct Error(Box<Inner>);

struct Inner {
    told: Attempt,
    path: &'static str,
    request_id: String,
    attempts: u32,
    may_have_run: bool,
}

impl Error {
    /// What to match on.
    pub fn code(&self) -> Code {
        self.0.told.code
    }

    /// The sentence of the server.
    pub fn message(&self) -> &str {
        &self.0.told.message
    }

    /// What comes with the code.
    pub fn data(&self) -> &Map<String, Value> {
        &self.0.told.data
    }

    /// Which argument an `INVALID_ARGUMENT` is about, such as `interests[2].category`.
    pub fn field(&self) -> Option<&str> {
        self.data().get("field").and_then(Value::as_str)
    }

    /// The HTTP status, if there was an answer.
    pub fn status(&self) -> Option<u16> {
        self.0.told.status
    }

    /// Whether something may have been changed all the same. `false`: certainly nothing was.
    pub fn may_have_run(&self) -> bool {
        self.0.may_have_run
    }

    /// The function's path.
    pub fn path(&self) -> &'static str {
        self.0.path
    }

    /// By what the server's log knows the call.
    pub fn request_id(&self) -> &str {
        &self.0.request_id
    }

    /// What the function logged, also where its writes were taken back.
    pub fn log_lines(&self) -> &[String] {
        &self.0.told.log_lines
    }

    /// How often the call was sent.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.0.path, self.0.told.message)
    }
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} [{}, request {}]", self, self.code().as_str(), self.request_id())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.told.source.as_deref().map(|source| source as _)
    }
}

/// The first of the causes of an error.
fn root(error: &dyn std::error::Error) -> &dyn std::error::Error {
    error.source().map_or(error, root)
}

/// Doubles from attempt to attempt up to five seconds, half of it by chance, so that clients do not come in step.
fn backoff(attempts: u32) -> Duration {
    let full_ms = (100u64 << attempts.saturating_sub(1).min(6)).min(5_000);
    Duration::from_millis(full_ms / 2 + random() % (full_ms / 2 + 1))
}

/// As good as any where it needs to be unlike others, not secret.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn random_id() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// An id: a text of its own type, so that the id of another table does not fit.
macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub String);

        impl $name {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.to_owned())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        })*
    };
}

/// One of several texts, and what a newer server may say beside them.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
            /// A text that this client does not know yet.
            Unrecognized(String),
        }

        impl $name {
            /// As on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $text,)*
                    Self::Unrecognized(text) => text,
                }
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                match text.as_str() {
                    $($text => Self::$variant,)*
                    _ => Self::Unrecognized(text),
                }
            }
        }

        impl From<$name> for String {
            fn from(word: $name) -> String {
                word.as_str().to_owned()
            }
        })*
    };
}

/// What went wrong, to match on. The codes of functions come first, then those of the call, then what this client
/// finds itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The function needs a caller and there is none.
    Unauthenticated,
    /// The caller has no right to do this.
    Forbidden,
    /// The thing named does not exist, or is not the caller's.
    NotFound,
    /// An argument is missing, unknown, of the wrong type, or out of bounds; `field` names it.
    InvalidArgument,
    /// It collides with what is stored.
    Conflict,
    /// The idempotency key was used with other arguments.
    IdempotencyKeyReused,
    /// The state of things does not allow it.
    FailedPrecondition,
    /// Too many calls, or too much of something, by this caller.
    RateLimited,
    /// A service outside failed.
    ProviderError,
    /// The function ran longer than it may; nothing of it was kept.
    Timeout,
    /// It cannot be done now.
    Unavailable,
    /// The body is not JSON, has a duplicate key, or nests too deep.
    InvalidJson,
    /// The body is JSON but not a call's envelope.
    InvalidEnvelope,
    /// `format` names a transport that is not supported.
    UnsupportedFormat,
    /// No public function has this path.
    FunctionNotFound,
    /// The function is of another kind than the route.
    WrongFunctionKind,
    /// The credentials that were sent are not valid.
    InvalidCredentials,
    /// The deploy key is valid and lacks the scope.
    InsufficientScope,
    /// Not a route.
    RouteNotFound,
    /// A route, but not with this method.
    MethodNotAllowed,
    /// The request did not arrive in time.
    RequestTimeout,
    /// The body is larger than the limit.
    PayloadTooLarge,
    /// The body is not declared as JSON.
    UnsupportedMediaType,
    /// Too many calls of one address.
    TooManyRequests,
    /// The header block is larger than the limit.
    HeadersTooLarge,
    /// The request cannot be read as HTTP.
    BadRequest,
    /// Something broke inside; the log has the reason under the request id.
    Internal,
    /// It is unknown whether the mutation was committed.
    CommitUnknown,
    /// More calls wait than may.
    Overloaded,
    /// Starting, draining, or the store or identity keys cannot be used now.
    NotReady,
    /// The call took longer than its timeout.
    ClientTimeout,
    /// There was no connection, or it broke before the answer was whole.
    ConnectionFailed,
    /// What answered is no server of this kind, or its result has another type.
    InvalidResponse,
    /// The function that is asked for tokens failed.
    TokenUnavailable,
    /// A code that this file does not know yet; it stands in `data()["code"]`.
    Unrecognized,
}

impl Code {
    /// As on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Code::Unauthenticated => "UNAUTHENTICATED",
            Code::Forbidden => "FORBIDDEN",
            Code::NotFound => "NOT_FOUND",
            Code::InvalidArgument => "INVALID_ARGUMENT",
            Code::Conflict => "CONFLICT",
            Code::IdempotencyKeyReused => "IDEMPOTENCY_KEY_REUSED",
            Code::FailedPrecondition => "FAILED_PRECONDITION",
            Code::RateLimited => "RATE_LIMITED",
            Code::ProviderError => "PROVIDER_ERROR",
            Code::Timeout => "TIMEOUT",
            Code::Unavailable => "UNAVAILABLE",
            Code::InvalidJson => "INVALID_JSON",
            Code::InvalidEnvelope => "INVALID_ENVELOPE",
            Code::UnsupportedFormat => "UNSUPPORTED_FORMAT",
            Code::FunctionNotFound => "FUNCTION_NOT_FOUND",
            Code::WrongFunctionKind => "WRONG_FUNCTION_KIND",
            Code::InvalidCredentials => "INVALID_CREDENTIALS",
            Code::InsufficientScope => "INSUFFICIENT_SCOPE",
            Code::RouteNotFound => "ROUTE_NOT_FOUND",
            Code::MethodNotAllowed => "METHOD_NOT_ALLOWED",
            Code::RequestTimeout => "REQUEST_TIMEOUT",
            Code::PayloadTooLarge => "PAYLOAD_TOO_LARGE",
            Code::UnsupportedMediaType => "UNSUPPORTED_MEDIA_TYPE",
            Code::TooManyRequests => "TOO_MANY_REQUESTS",
            Code::HeadersTooLarge => "HEADERS_TOO_LARGE",
            Code::BadRequest => "BAD_REQUEST",
            Code::Internal => "INTERNAL",
            Code::CommitUnknown => "COMMIT_UNKNOWN",
            Code::Overloaded => "OVERLOADED",
            Code::NotReady => "NOT_READY",
            Code::ClientTimeout => "CLIENT_TIMEOUT",
            Code::ConnectionFailed => "CONNECTION_FAILED",
            Code::InvalidResponse => "INVALID_RESPONSE",
            Code::TokenUnavailable => "TOKEN_UNAVAILABLE",
            Code::Unrecognized => "UNRECOGNIZED_CODE",
        }
    }

    fn named(text: &str) -> Self {
        match text {
            "UNAUTHENTICATED" => Code::Unauthenticated,
            "FORBIDDEN" => Code::Forbidden,
            "NOT_FOUND" => Code::NotFound,
            "INVALID_ARGUMENT" => Code::InvalidArgument,
            "CONFLICT" => Code::Conflict,
            "IDEMPOTENCY_KEY_REUSED" => Code::IdempotencyKeyReused,
            "FAILED_PRECONDITION" => Code::FailedPrecondition,
            "RATE_LIMITED" => Code::RateLimited,
            "PROVIDER_ERROR" => Code::ProviderError,
            "TIMEOUT" => Code::Timeout,
            "UNAVAILABLE" => Code::Unavailable,
            "INVALID_JSON" => Code::InvalidJson,
            "INVALID_ENVELOPE" => Code::InvalidEnvelope,
            "UNSUPPORTED_FORMAT" => Code::UnsupportedFormat,
            "FUNCTION_NOT_FOUND" => Code::FunctionNotFound,
            "WRONG_FUNCTION_KIND" => Code::WrongFunctionKind,
            "INVALID_CREDENTIALS" => Code::InvalidCredentials,
            "INSUFFICIENT_SCOPE" => Code::InsufficientScope,
            "ROUTE_NOT_FOUND" => Code::RouteNotFound,
            "METHOD_NOT_ALLOWED" => Code::MethodNotAllowed,
            "REQUEST_TIMEOUT" => Code::RequestTimeout,
            "PAYLOAD_TOO_LARGE" => Code::PayloadTooLarge,
            "UNSUPPORTED_MEDIA_TYPE" => Code::UnsupportedMediaType,
            "TOO_MANY_REQUESTS" => Code::TooManyRequests,
            "HEADERS_TOO_LARGE" => Code::HeadersTooLarge,
            "BAD_REQUEST" => Code::BadRequest,
            "INTERNAL" => Code::Internal,
            "COMMIT_UNKNOWN" => Code::CommitUnknown,
            "OVERLOADED" => Code::Overloaded,
            "NOT_READY" => Code::NotReady,
            _ => Code::Unrecognized,
        }
    }

    fn retryable(self) -> bool {
        matches!(self, Code::RateLimited | Code::ProviderError | Code::Timeout | Code::Unavailable | Code::RequestTimeout | Code::TooManyRequests | Code::Overloaded | Code::NotReady)
    }
}

ids! {
    /// Such as `audit_01h455vb4pex5vsknk084sn02q`.
    AuditId;
    /// Such as `chunk_01h455vb4pex5vsknk084sn02q`.
    ChunkId;
    /// Such as `insight_01h455vb4pex5vsknk084sn02q`.
    InsightId;
    /// Such as `match_01h455vb4pex5vsknk084sn02q`.
    MatchId;
    /// Such as `meeting_01h455vb4pex5vsknk084sn02q`.
    MeetingId;
    /// Such as `noteop_01h455vb4pex5vsknk084sn02q`.
    NoteopId;
    /// Such as `outcome_01h455vb4pex5vsknk084sn02q`.
    OutcomeId;
    /// Such as `participant_01h455vb4pex5vsknk084sn02q`.
    ParticipantId;
    /// Such as `profile_01h455vb4pex5vsknk084sn02q`.
    ProfileId;
    /// Such as `prompt_01h455vb4pex5vsknk084sn02q`.
    PromptId;
    /// Such as `queue_01h455vb4pex5vsknk084sn02q`.
    QueueId;
    /// Such as `session_01h455vb4pex5vsknk084sn02q`.
    SessionId;
    /// Such as `signal_01h455vb4pex5vsknk084sn02q`.
    SignalId;
    /// Such as `user_01h455vb4pex5vsknk084sn02q`.
    UserId;
}

words! {
    /// How good a connection is, best first.
    /// - `excellent`: Nothing to wish for.
    /// - `good`: Small losses that nobody notices.
    /// - `fair`: Losses that one notices.
    /// - `poor`: Hardly usable.
    ConnectionQuality {
        Excellent = "excellent",
        Good = "good",
        Fair = "fair",
        Poor = "poor",
    }
    /// Gender, as far as somebody wants to tell.
    /// - `male`: A man.
    /// - `female`: A woman.
    /// - `non-binary`: Neither, or both.
    /// - `prefer-not-to-say`: No answer.
    Gender {
        Male = "male",
        Female = "female",
        NonBinary = "non-binary",
        PreferNotToSay = "prefer-not-to-say",
    }
    /// What an interest is about.
    /// - `academic`: Something one studies.
    /// - `industry`: A line of business.
    /// - `skill`: Something one can do.
    /// - `personal`: Something one likes.
    InterestCategory {
        Academic = "academic",
        Industry = "industry",
        Skill = "skill",
        Personal = "personal",
    }
    /// Where a link stands.
    /// - `transcript`: It was said.
    /// - `notes`: It was written.
    LinkSource {
        Transcript = "transcript",
        Notes = "notes",
    }
    /// Where a match is; follows from the outcomes of its two users and the clock.
    /// - `proposed`: Neither declined, and its time has not passed.
    /// - `declined`: One of them declined.
    /// - `completed`: Both say that it took place.
    /// - `expired`: Its time has passed.
    MatchStatus {
        Proposed = "proposed",
        Declined = "declined",
        Completed = "completed",
        Expired = "expired",
    }
    /// Where a meeting is in its life.
    /// - `scheduled`: It has not begun.
    /// - `active`: It is going on.
    /// - `concluded`: It is over. Final.
    /// - `cancelled`: It was called off before it began. Final.
    MeetingState {
        Scheduled = "scheduled",
        Active = "active",
        Concluded = "concluded",
        Cancelled = "cancelled",
    }
    /// What kind of meeting it is.
    /// - `one-on-one`: Two people.
    /// - `small-group`: Up to ten people.
    /// - `large-meeting`: Many people, all of whom may speak.
    /// - `webinar`: Many people, of whom only hosts speak.
    MeetingType {
        OneOnOne = "one-on-one",
        SmallGroup = "small-group",
        LargeMeeting = "large-meeting",
        Webinar = "webinar",
    }
    /// Where an operation of the offline queue is.
    /// - `pending`: Waits for the drain.
    /// - `syncing`: Is being applied. Seen by nobody: taking and applying are one transaction.
    /// - `synced`: Is in the log.
    /// - `failed`: Was refused, with the reason.
    OfflineStatus {
        Pending = "pending",
        Syncing = "syncing",
        Synced = "synced",
        Failed = "failed",
    }
    /// What an edit does.
    /// - `insert`: Puts `content` at `position`.
    /// - `delete`: Takes `length` units away from `position` on.
    /// - `retain`: Changes nothing: a cursor, or what is left of a delete whose text was gone.
    OperationType {
        Insert = "insert",
        Delete = "delete",
        Retain = "retain",
    }
    /// What a match came to, as one of its users says.
    /// - `accepted`: Will be there.
    /// - `declined`: Will not.
    /// - `completed`: Was there. Final.
    Outcome {
        Accepted = "accepted",
        Declined = "declined",
        Completed = "completed",
    }
    /// Where somebody is, seen from a meeting.
    /// - `invited`: Has not come yet.
    /// - `joined`: Is there.
    /// - `left`: Has gone; may come back.
    Presence {
        Invited = "invited",
        Joined = "joined",
        Left = "left",
    }
    /// A presence that a client may report of itself.
    /// - `joined`: Has come.
    /// - `left`: Has gone.
    PresenceChange {
        Joined = "joined",
        Left = "left",
    }
    /// What its reader did with a prompt.
    /// - `used`: Said it.
    /// - `dismissed`: Does not want to see it again.
    /// - `upvoted`: Liked it.
    PromptFeedback {
        Used = "used",
        Dismissed = "dismissed",
        Upvoted = "upvoted",
    }
    /// When a prompt is for.
    /// - `pre-call`: Before the call: how to begin.
    /// - `in-call`: During the call: how to go on.
    PromptKind {
        PreCall = "pre-call",
        InCall = "in-call",
    }
    /// How a queue is.
    /// - `healthy`: It is drained as it should be.
    /// - `warning`: More than 50 wait, or one for more than a minute.
    /// - `critical`: More than 10 failed, or one waits for more than 5 minutes.
    QueueHealth {
        Healthy = "healthy",
        Warning = "warning",
        Critical = "critical",
    }
    /// Where an entry of the matching queue is.
    /// - `waiting`: Waits for somebody.
    /// - `matched`: Somebody was found. Final.
    /// - `expired`: Its time has passed. Final.
    /// - `cancelled`: Was taken back. Final.
    QueueStatus {
        Waiting = "waiting",
        Matched = "matched",
        Expired = "expired",
        Cancelled = "cancelled",
    }
    /// What a recommendation is about.
    /// - `follow-up`: What was agreed on.
    /// - `networking`: People to meet.
    /// - `learning`: Something to learn.
    /// - `participation`: How much the reader spoke.
    RecommendationKind {
        FollowUp = "follow-up",
        Networking = "networking",
        Learning = "learning",
        Participation = "participation",
    }
    /// What somebody is in a meeting.
    /// - `host`: Runs it: starts, ends, edits it, and decides who is in it and as what.
    /// - `participant`: Takes part.
    Role {
        Host = "host",
        Participant = "participant",
    }
    /// Where the connection of a media session is.
    /// - `connecting`: It is being made, or made anew.
    /// - `connected`: It stands.
    /// - `disconnected`: It was interrupted.
    /// - `failed`: It did not come about.
    /// - `closed`: It was ended. Final, unless a new attempt is started under the same id.
    SessionState {
        Connecting = "connecting",
        Connected = "connected",
        Disconnected = "disconnected",
        Failed = "failed",
        Closed = "closed",
    }
    /// What a signal carries.
    /// - `sdp`: A session description, offered or answered.
    /// - `ice`: A candidate for a way to the peer.
    SignalKind {
        Sdp = "sdp",
        Ice = "ice",
    }
    /// What carries sound and picture.
    /// - `webrtc`: The clients among themselves.
    /// - `livekit`: A LiveKit server, where one is configured.
    VideoProvider {
        Webrtc = "webrtc",
        Livekit = "livekit",
    }
}

/// A way into a room.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AccessGrant {
    /// The caller's identity in the room, and the id of his session.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub participant_id: String,
    /// What the caller may do in the room.
    pub permissions: Permissions,
    /// What carries sound and picture.
    pub provider: VideoProvider,
    /// The room at the provider.
    pub room_id: String,
    /// Always true: what cannot be done is an error.
    pub success: bool,
    /// For the room, in LiveKit's format.
    pub token: String,
}

/// What `acknowledgeSignals` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AcknowledgeSignals {
    /// Those that have arrived, by the `_id` of each. At most 1000 items.
    pub signal_ids: Vec<SignalId>,
}

/// What `addParticipant` takes: either a user or an address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AddParticipant {
    /// An e-mail address, trimmed and in lower case. At most 254 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// What he is to be; an invited address can only become a participant.
    ///
    /// `"participant"` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// An id, or the `sub` of a token of the caller's issuer.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
}

impl AddParticipant {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId) -> Self {
        Self {
            email: None,
            meeting_id,
            role: None,
            user_id: None,
        }
    }
}

/// What `applyNoteOperation` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApplyNoteOperation {
    /// The last sequence of the log that the client has seen: the base of the operation, unless `expectedVersion`
    /// names it. One ahead of the log means the log's end.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    pub client_sequence: i64,
    /// The version of the text on which the operation was made.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// The meeting whose notes change.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// What is to be done.
    pub operation: NoteEditInput,
    /// By what a repetition of the call is known.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// Whether to refuse an operation made on an earlier version instead of transforming it.
    ///
    /// `false` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
}

impl ApplyNoteOperation {
    /// With what is required, and nothing else.
    pub fn new(client_sequence: i64, meeting_id: MeetingId, operation: NoteEditInput) -> Self {
        Self {
            client_sequence,
            expected_version: None,
            meeting_id,
            operation,
            operation_id: None,
            strict: None,
        }
    }
}

/// What `assignHost` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AssignHost {
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// A participant: an id, or the `sub` of a token of the caller's issuer.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    pub user_id: String,
}

/// A feature and its mean.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AverageFeature {
    /// 0 … 1, over the caller's matches.
    pub average: f64,
    /// Its name as in a match's features.
    pub feature: String,
}

/// What passed through the process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BandwidthStats {
    /// Subscriptions that were validated. At least 0.
    pub active_subscriptions: i64,
    /// How often. At least 0.
    pub total_updates: i64,
}

/// What `batchApplyNoteOperations` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchApplyNoteOperations {
    /// The version of the text on which the first operation was made; the newest if absent.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<i64>,
    /// The meeting whose notes change.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// The operations, each made after the one before it. 1 … 100 items.
    pub operations: Vec<BatchedOperation>,
}

impl BatchApplyNoteOperations {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId, operations: Vec<BatchedOperation>) -> Self {
        Self {
            expected_version: None,
            meeting_id,
            operations,
        }
    }
}

/// What `batchUpdatePresence` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchUpdatePresence {
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// Replaces what was sent before; absent, that stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    pub presence: PresenceChange,
}

impl BatchUpdatePresence {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId, presence: PresenceChange) -> Self {
        Self {
            meeting_id,
            metadata: None,
            presence,
        }
    }
}

/// One operation of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BatchedOperation {
    /// What is to be done.
    pub operation: NoteEditInput,
    /// By what a repetition of the batch is known.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
}

impl BatchedOperation {
    /// With what is required, and nothing else.
    pub fn new(operation: NoteEditInput) -> Self {
        Self {
            operation,
            operation_id: None,
        }
    }
}

/// What `calculateCompatibilityScore` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CalculateCompatibilityScore {
    /// What the first looks for; nothing unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user1_constraints: Option<MatchConstraintsInput>,
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// Whether it names anybody is for a function to find out: the id of a row first, else the subject of a user of the
    /// caller's own issuer (a provider's subjects may themselves look like ids).
    ///
    /// 1 … 255 characters.
    pub user1_id: String,
    /// What the second looks for; nothing unless told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user2_constraints: Option<MatchConstraintsInput>,
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// Whether it names anybody is for a function to find out: the id of a row first, else the subject of a user of the
    /// caller's own issuer (a provider's subjects may themselves look like ids).
    ///
    /// 1 … 255 characters.
    pub user2_id: String,
}

impl CalculateCompatibilityScore {
    /// With what is required, and nothing else.
    pub fn new(user1_id: impl Into<String>, user2_id: impl Into<String>) -> Self {
        Self {
            user1_constraints: None,
            user1_id: user1_id.into(),
            user2_constraints: None,
            user2_id: user2_id.into(),
        }
    }
}

/// An interest of the catalog.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogItem {
    pub category: InterestCategory,
    /// The name of a picture that stands for an interest, at most 64 characters. At most 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_name: Option<String>,
    /// The key of a row of the catalog: 1 … 64 characters, words of `[a-z0-9]` joined by `-`, or `custom:` and such words.
    pub key: String,
    /// The name of an interest as people read it: trimmed, 1 … 64 characters.
    pub label: String,
    /// Users who have it now.
    pub usage_count: i64,
}

/// What `ingestTranscriptChunk` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChunkIngested {
    /// The beginning of the five minutes it lies in.
    ///
    /// Milliseconds since the epoch.
    pub bucket_ms: i64,
    /// Its place in the transcript; of an interim chunk the last one's.
    pub sequence: i64,
    /// Always true: what cannot be done is an error.
    pub success: bool,
}

/// What `ingestTranscriptChunks` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChunksIngested {
    /// The place of each in the transcript, in the order of the chunks; of an interim chunk the last one's before it.
    pub sequences: Vec<i64>,
    /// Always true: what cannot be done is an error.
    pub success: bool,
}

/// What `clearSyncedOperations` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ClearSyncedOperations {
    /// Which of the caller's clients.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub client_id: String,
    /// The meeting whose notes it edited.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// Those are cleared that were queued at least so long ago; an hour if absent.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_than_ms: Option<i64>,
}

impl ClearSyncedOperations {
    /// With what is required, and nothing else.
    pub fn new(client_id: impl Into<String>, meeting_id: MeetingId) -> Self {
        Self {
            client_id: client_id.into(),
            meeting_id,
            older_than_ms: None,
        }
    }
}

/// How well two users fit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Compatibility {
    /// Why, in sentences.
    pub explanation: Vec<String>,
    pub features: MatchFeatures,
    /// How well something fits: 0 … 1.
    pub score: f64,
}

/// What `getMeetingConnectionInfo` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConnectionInfo {
    /// Until when the credentials are good.
    ///
    /// Milliseconds since the epoch.
    pub expires_at: i64,
    /// What the meeting can do.
    pub features: Features,
    /// Servers that help clients find each other, as `RTCPeerConnection` takes them.
    pub ice_servers: Vec<IceServer>,
    /// The room at the provider.
    pub room_id: String,
    /// Where the media server is, if the meeting has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_url: Option<String>,
    /// What carries sound and picture.
    pub video_provider: VideoProvider,
}

/// What `createMeeting` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CreateMeeting {
    /// What a meeting is about, at most 5000 characters. At most 5000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// For display; nothing ends a meeting by it.
    ///
    /// How long a meeting is planned, in milliseconds: 1 … 86,400,000 (a day). For display; nothing ends a meeting by it.
    ///
    /// 1 … 86400000.
    ///
    /// `1800000` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<i64>,
    /// A retry with the same key and the same arguments makes no second meeting and returns the first.
    ///
    /// Names one attempt: the same key and the same arguments give the stored result, with nothing done again.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// How many can be in it at once. Absent: by `meetingType`.
    ///
    /// How many people a meeting has room for: 1 … 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_participants: Option<i64>,
    /// Absent: by `maxParticipants`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meeting_type: Option<MeetingType>,
    /// Whom to invite. Users with that verified address take part at once, others when they first log in with it. At most 500 items.
    ///
    /// `[]` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub participant_emails: Option<Vec<String>>,
    /// Whether it may be recorded.
    ///
    /// `false` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording_enabled: Option<bool>,
    /// Absent, past, or at most five minutes ahead: the meeting begins at once.
    ///
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<i64>,
    /// The title of a meeting, trimmed, 1 … 200 characters.
    pub title: String,
    /// Whether what is said is taken into a transcript.
    ///
    /// `true` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcription_enabled: Option<bool>,
}

impl CreateMeeting {
    /// With what is required, and nothing else.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            description: None,
            duration: None,
            idempotency_key: None,
            max_participants: None,
            meeting_type: None,
            participant_emails: None,
            recording_enabled: None,
            scheduled_at: None,
            title: title.into(),
            transcription_enabled: None,
        }
    }
}

/// Where a page ended: opaque to clients, bound to its query.
pub type Cursor = String;

/// What `deleteInsight` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteInsight {
    /// One of the caller's own.
    ///
    /// Id of a row of `insights`.
    pub insight_id: InsightId,
}

/// What an audit entry tells beside who, what and whom: made by the server, never by a client.
///
/// ```json
/// {"from": "participant", "to": "host"}
/// ```
pub type Details = Map<String, Value>;

/// Says that it is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Done {
    /// Always true: what cannot be done is an error.
    pub success: bool,
}

/// What `enterMatchingQueue` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EnterMatchingQueue {
    /// Free from; up to five minutes ago counts as now.
    ///
    /// Milliseconds since the epoch.
    pub available_from: i64,
    /// Free until.
    ///
    /// Milliseconds since the epoch.
    pub available_to: i64,
    pub constraints: MatchConstraintsInput,
    /// A retry with the same key and the same arguments makes no second entry and returns the first.
    ///
    /// Names one attempt: the same key and the same arguments give the stored result, with nothing done again.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

impl EnterMatchingQueue {
    /// With what is required, and nothing else.
    pub fn new(available_from: i64, available_to: i64, constraints: MatchConstraintsInput) -> Self {
        Self {
            available_from,
            available_to,
            constraints,
            idempotency_key: None,
        }
    }
}

/// What is tried again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FailedOperationsRetried {
    /// Operations that are pending again.
    pub retried: i64,
}

/// What a meeting can do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Features {
    /// How many people a meeting has room for: 1 … 1000.
    pub max_participants: i64,
    /// Whether it may be recorded.
    pub recording: bool,
    /// Whether what is said is taken into a transcript.
    pub transcription: bool,
}

/// All functions side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionBreakdown {
    /// Those that were called, by path.
    pub functions: Vec<FunctionPerformance>,
    pub summary: PerformanceSummary,
}

/// The calls of one function. Latencies are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FunctionPerformance {
    /// The mean over all calls.
    pub avg_latency: f64,
    /// How often it was called. At least 0.
    pub call_count: i64,
    /// How many of the calls ended with an error. At least 0.
    pub error_count: i64,
    /// Its path.
    pub function_name: String,
    /// Half of the calls took at most so long.
    pub p50: f64,
    /// 95 % of the calls took at most so long.
    pub p95: f64,
    /// 99 % of the calls took at most so long.
    pub p99: f64,
    /// Of a query: whether 95 % took at most 120 ms and 99 % at most 250 ms. Nothing is promised of the others.
    pub slo_compliant: bool,
    /// 0 … 1.
    pub success_rate: f64,
}

/// What `generateInsights` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerateInsights {
    /// Makes those anew that are up to date. Within a minute of the last time it changes nothing.
    ///
    /// `false` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_regenerate: Option<bool>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

impl GenerateInsights {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId) -> Self {
        Self {
            force_regenerate: None,
            meeting_id,
        }
    }
}

/// What `generateParticipantAccessToken` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GenerateParticipantAccessToken {
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// The client's own name of its session, one a tab or device. Absent: a new one.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
}

impl GenerateParticipantAccessToken {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId) -> Self {
        Self {
            meeting_id,
            session_id: None,
        }
    }
}

/// What `generatePrompts` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratePrompts {
    /// Makes those anew that the caller said nothing about; else they stay, and only what is new is added.
    ///
    /// `false` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force_regenerate: Option<bool>,
    pub kind: PromptKind,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

impl GeneratePrompts {
    /// With what is required, and nothing else.
    pub fn new(kind: PromptKind, meeting_id: MeetingId) -> Self {
        Self {
            force_regenerate: None,
            kind,
            meeting_id,
        }
    }
}

/// What `getFunctionBreakdown` takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetFunctionBreakdown {
    /// How far back, in milliseconds.
    ///
    /// How far a series goes back, in milliseconds: a second to a week.
    ///
    /// 1000 … 604800000.
    ///
    /// `3600000` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_window_ms: Option<i64>,
}

/// What `getMatchHistory` takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetMatchHistory {
    /// At most so many rows. 1 … 1000.
    ///
    /// `20` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// How many of the newest are passed over.
    ///
    /// How many rows of a list are passed over.
    ///
    /// 0 … 100000.
    ///
    /// `0` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
}

/// What `getMeetingNotes` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetMeetingNotes {
    /// Of which meeting.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

/// What `getOfflineQueueStatus` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetOfflineQueueStatus {
    /// Which of the caller's clients.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub client_id: String,
    /// The meeting whose notes it edited.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

/// What `getPerformanceTrends` takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPerformanceTrends {
    /// How much time one point covers, in milliseconds.
    ///
    /// How much time one point of a series covers, in milliseconds: a second to a day.
    ///
    /// 1000 … 86400000.
    ///
    /// `60000` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket_size_ms: Option<i64>,
    /// A path with `/` or `:` before the function, or a function's bare name. Absent: all functions together.
    ///
    /// A function by its path, with `/` or `:` before its name, or by its name alone: 1 … 256 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub function_name: Option<String>,
    /// How far back the series goes, in milliseconds.
    ///
    /// How far a series goes back, in milliseconds: a second to a week.
    ///
    /// 1000 … 604800000.
    ///
    /// `3600000` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_window_ms: Option<i64>,
}

/// What `getPreCallPrompts` and `getInCallPrompts` take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPrompts {
    /// At most so many rows. 1 … 20.
    ///
    /// `5` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

impl GetPrompts {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId) -> Self {
        Self {
            limit: None,
            meeting_id,
        }
    }
}

/// What `getPublicProfile` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetPublicProfile {
    /// Whose profile: an id, or the `sub` of a token of the caller's issuer.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    pub user_id: String,
}

/// What `getSubscriptionMetrics` takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetSubscriptionMetrics {
    /// Only this one is listed.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<String>,
}

/// What `getTranscriptStats` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTranscriptStats {
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

/// Subscriptions together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GlobalStats {
    /// The mean over the subscriptions; 0 without any.
    pub avg_updates_per_second: f64,
    /// Those that are not compliant. At least 0.
    pub slo_breaches: i64,
    /// How many there are. At least 0.
    pub total_active_subscriptions: i64,
    /// How often they were validated, all together. At least 0.
    pub total_updates: i64,
}

/// A match that the caller had.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// Id of a row of `matchOutcomes`.
    #[serde(rename = "_id")]
    pub id: OutcomeId,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    pub features: MatchFeatures,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<MatchFeedback>,
    /// Id of a row of `matches`.
    pub match_id: MatchId,
    pub outcome: Outcome,
}

/// A server that helps connections come about, as `RTCPeerConnection` takes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IceServer {
    /// The password of a TURN server, good until `expiresAt`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credential: Option<String>,
    /// Its addresses, such as `turn:turn.example.org:3478`.
    pub urls: Vec<String>,
    /// The user of a TURN server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub username: Option<String>,
}

/// What `ingestTranscriptChunk` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IngestTranscriptChunk {
    /// The client's name of it: a known one of the speaker is not stored again.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_id: Option<String>,
    /// How sure the recognizer is.
    ///
    /// How sure a recognizer or generator is: 0 … 1.
    pub confidence: f64,
    /// When it ended: after it began.
    ///
    /// Milliseconds since the epoch.
    pub end_time: i64,
    /// A retry with the same key and the same arguments stores nothing and returns what the first one returned.
    ///
    /// Names one attempt: the same key and the same arguments give the stored result, with nothing done again.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Still changing: acknowledged and not stored.
    ///
    /// `false` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_interim: Option<bool>,
    /// A language by its BCP 47 tag, in the case that RFC 5646 §2.1.1 recommends (`en-US`, `zh-Hant-TW`). 2 … 35 characters.
    ///
    /// `"en"` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// Who spoke: the caller unless told. Another one is named by a host or a deploy key.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker_id: Option<String>,
    /// When it began.
    ///
    /// Milliseconds since the epoch.
    pub start_time: i64,
    /// What was said, trimmed, 1 … 10,000 characters. 1 … 10000 characters.
    pub text: String,
}

/// What `ingestTranscriptChunks` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IngestTranscriptChunks {
    /// In the order in which they were said. 1 … 100 items.
    pub chunks: Vec<SentChunk>,
    /// A retry with the same key and the same arguments stores nothing and returns what the first one returned.
    ///
    /// Names one attempt: the same key and the same arguments give the stored result, with nothing done again.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

impl IngestTranscriptChunks {
    /// With what is required, and nothing else.
    pub fn new(chunks: Vec<SentChunk>, meeting_id: MeetingId) -> Self {
        Self {
            chunks,
            idempotency_key: None,
            meeting_id,
        }
    }
}

/// An address that was said or written in the meeting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InsightLink {
    /// What it leads to.
    pub title: String,
    /// Where it stands.
    pub r#type: LinkSource,
    /// The address.
    pub url: String,
}

/// What `generateInsights` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct InsightsGenerated {
    /// How many were made, or made again, by this call.
    pub insights_generated: i64,
    /// The insights of all, in the order in which they were added to the meeting. Each is read by its own reader only.
    pub participant_insights: Vec<InsightId>,
    /// Always true: what cannot be done is an error.
    pub success: bool,
}

/// What `keep` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Kept {
    /// How many are new.
    pub generated: i64,
    /// All that are shown now, the most relevant first.
    pub prompt_ids: Vec<PromptId>,
}

/// What `listAuditEntries` takes. What is given together must hold together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListAuditEntries {
    /// A user's id, or `deploy-key:<name>`.
    ///
    /// Who did something that is audited: a user's id, `deploy-key:<name>`, or `system` for what happens by the clock.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// The page after the one that returned this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// At most so many rows. 1 … 500.
    ///
    /// `50` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// The id of the meeting or user, or the key of the interest.
    ///
    /// The resource that somebody follows, by its id: 1 … 128 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_id: Option<String>,
    /// `meeting`, `user` or `interest`.
    ///
    /// The kind of a resource: 1 … 64 characters. Unknown ones are no mistake of form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_type: Option<String>,
}

/// What `listCatalog` takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListCatalog {
    /// Only those of this category.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub category: Option<InterestCategory>,
    /// The page after the one that returned this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// At most so many rows. 1 … 500.
    ///
    /// `200` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// What `listNoteOperations` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListNoteOperations {
    /// The first entry to be listed; 1 if absent.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_sequence: Option<i64>,
    /// How many entries at most.
    ///
    /// At most so many rows.
    ///
    /// 1 … 1000.
    ///
    /// `200` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Of which meeting.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

impl ListNoteOperations {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId) -> Self {
        Self {
            from_sequence: None,
            limit: None,
            meeting_id,
        }
    }
}

/// What `listSignals` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListSignals {
    /// At most so many rows. 1 … 200.
    ///
    /// `100` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

impl ListSignals {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId) -> Self {
        Self {
            limit: None,
            meeting_id,
        }
    }
}

/// What `listTranscriptChunks` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTranscriptChunks {
    /// The first chunk to show; the beginning unless told.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_sequence: Option<i64>,
    /// At most so many rows. 1 … 500.
    ///
    /// `200` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

impl ListTranscriptChunks {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId) -> Self {
        Self {
            from_sequence: None,
            limit: None,
            meeting_id,
        }
    }
}

/// What `listUserInsights` takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListUserInsights {
    /// The page after the one that returned this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// At most so many rows. 1 … 100.
    ///
    /// `50` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// What `listUserMeetings` takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListUserMeetings {
    /// The page after the one that returned this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// At most so many rows. 1 … 100.
    ///
    /// `50` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Only meetings in this state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<MeetingState>,
}

/// An entry of the audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedEntry {
    /// Milliseconds since the epoch.
    #[serde(rename = "_creationTime")]
    pub creation_time: i64,
    /// Id of a row of `auditEntries`.
    #[serde(rename = "_id")]
    pub id: AuditId,
    /// What was done, such as `participant.role`.
    pub action: String,
    /// A user's id, `deploy-key:<name>`, or `system`.
    ///
    /// Who did something that is audited: a user's id, `deploy-key:<name>`, or `system` for what happens by the clock.
    ///
    /// 1 … 255 characters.
    pub actor: String,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// The issuer of the resource's owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    pub metadata: Details,
    /// The organization of the resource's owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// The id of what it was done to.
    pub resource_id: String,
    /// The kind of what it was done to, such as `meeting`.
    pub resource_type: String,
}

/// A participant as lists show one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedParticipant {
    /// Milliseconds since the epoch.
    #[serde(rename = "_creationTime")]
    pub creation_time: i64,
    /// Id of a row of `meetingParticipants`.
    #[serde(rename = "_id")]
    pub id: ParticipantId,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// When he joined last; before the first time, when he was added.
    ///
    /// Milliseconds since the epoch.
    pub joined_at: i64,
    /// When he left last.
    ///
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_at: Option<i64>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    pub presence: Presence,
    pub role: Role,
    pub user: Person,
    /// Id of a row of `users`.
    pub user_id: UserId,
    /// Whether one of his sessions is connected.
    pub webrtc_connected: bool,
    /// His open sessions. At least 0.
    pub webrtc_session_count: i64,
}

/// A media session as lists show one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSession {
    /// Milliseconds since the epoch.
    #[serde(rename = "_creationTime")]
    pub creation_time: i64,
    /// Id of a row of `mediaSessions`.
    #[serde(rename = "_id")]
    pub id: SessionId,
    /// By the last figures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_quality: Option<ConnectionQuality>,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// When figures came last.
    ///
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_metrics_at: Option<i64>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// What the client reported. Absent where it did not, and behind 4 MiB of metadata in one list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// The client's own name of it.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub session_id: String,
    pub state: SessionState,
    /// Milliseconds since the epoch.
    pub updated_at: i64,
    pub user: Person,
    /// Id of a row of `users`.
    pub user_id: UserId,
}

/// A signal as its recipient sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListedSignal {
    /// Milliseconds since the epoch.
    #[serde(rename = "_creationTime")]
    pub creation_time: i64,
    /// Id of a row of `signals`.
    #[serde(rename = "_id")]
    pub id: SignalId,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`. 1 … 128 characters.
    pub from_session_id: String,
    /// Id of a row of `users`.
    pub from_user_id: UserId,
    pub kind: SignalKind,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// Any object of at most 65536 bytes of JSON.
    pub payload: Map<String, Value>,
}

/// An entry of the log: applied one after the other to the empty text, they make the text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoggedOperation {
    /// Id of a row of `noteOperations`.
    #[serde(rename = "_id")]
    pub id: NoteopId,
    /// Who did it.
    ///
    /// Id of a row of `users`.
    pub author_id: UserId,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// What was done, as it was applied.
    pub operation: NoteEdit,
    /// The id that its author gave it: his own, or `<clientId>/<id>` if it was queued offline.
    ///
    /// By what an author's repeated operation is known: the client's id of it, or `<clientId>/<id>` if it was queued
    /// offline. The two never collide: a `ClientToken` has no `/`.
    ///
    /// 1 … 257 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// Its place in the log.
    pub sequence: i64,
    /// The version to which it belongs.
    pub version: i64,
}

/// What somebody looks for in the other; an empty list is no preference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchConstraints {
    /// Interests that the other should share, at most 20. At most 20 items.
    pub interests: Vec<String>,
    /// Where the other should work: `any`, `same`, `different`, or the name of an organization.
    ///
    /// What somebody asks about the other's organization, at most 64 characters.
    ///
    /// At most 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_constraints: Option<String>,
    /// Roles that one has or looks for, at most 10. At most 10 items.
    pub roles: Vec<String>,
}

/// What somebody looks for in the other; an empty list is no preference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchConstraintsInput {
    /// Interests that the other should share, at most 20. At most 20 items.
    pub interests: Vec<String>,
    /// Where the other should work: `any`, `same`, `different`, or the name of an organization.
    ///
    /// What somebody asks about the other's organization, at most 64 characters.
    ///
    /// At most 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_constraints: Option<String>,
    /// Roles that one has or looks for, at most 10. At most 10 items.
    pub roles: Vec<String>,
}

impl MatchConstraintsInput {
    /// With what is required, and nothing else.
    pub fn new(interests: Vec<String>, roles: Vec<String>) -> Self {
        Self {
            interests,
            org_constraints: None,
            roles,
        }
    }
}

/// How well two users fit, feature by feature, each 0 … 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchFeatures {
    /// How far apart their experience is.
    ///
    /// How well something fits: 0 … 1.
    pub experience_gap: f64,
    /// How close their fields of work are.
    ///
    /// How well something fits: 0 … 1.
    pub industry_match: f64,
    /// Interests they share.
    ///
    /// How well something fits: 0 … 1.
    pub interest_overlap: f64,
    /// Languages they share.
    ///
    /// How well something fits: 0 … 1.
    pub language_overlap: f64,
    /// Whether what they ask about organizations holds.
    ///
    /// How well something fits: 0 … 1.
    pub org_constraint_match: f64,
    /// How well their roles go together.
    ///
    /// How well something fits: 0 … 1.
    pub role_complementarity: f64,
    /// How much of their time overlaps.
    ///
    /// How well something fits: 0 … 1.
    pub timezone_compatibility: f64,
    /// How alike what they write is.
    ///
    /// How well something fits: 0 … 1.
    pub vector_similarity: f64,
}

/// What somebody says about a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchFeedback {
    /// What somebody says about a match, at most 2000 characters. At most 2000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comments: Option<String>,
    /// Stars.
    ///
    /// Stars for a match: 1 … 5.
    pub rating: i64,
}

/// What somebody says about a match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchFeedbackInput {
    /// What somebody says about a match, at most 2000 characters. At most 2000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comments: Option<String>,
    /// Stars.
    ///
    /// Stars for a match: 1 … 5.
    pub rating: i64,
}

impl MatchFeedbackInput {
    /// With what is required, and nothing else.
    pub fn new(rating: i64) -> Self {
        Self {
            comments: None,
            rating,
        }
    }
}

/// What a run of the matcher came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchingCycle {
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
    /// Matches that were made; of a dry run, that would have been.
    pub matched: i64,
    /// `exact`, `thinned` or `greedy`.
    pub method: String,
    /// The sum over the chosen pairs of a million times the score and a thousand a minute of waiting.
    pub total_weight: i64,
    /// Entries that waited.
    pub waiting: i64,
}

/// How the caller's matches went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MatchingStats {
    /// By what the caller says of them now.
    pub accepted: i64,
    /// Over the caller's ratings; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_rating: Option<f64>,
    /// Those that took place, as the caller says.
    pub completed: i64,
    /// Those that the caller declined.
    pub declined: i64,
    /// Completed ones of all; 0 without any.
    pub success_rate: f64,
    /// The three features that are highest on average over the matches that he did not decline, highest first.
    pub top_features: Vec<AverageFeature>,
    /// All that he was matched in.
    pub total_matches: i64,
}

/// What `createMeeting` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MeetingCreated {
    pub features: Features,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    pub video_provider: VideoProvider,
    /// Whether an access token can be minted now.
    pub webrtc_ready: bool,
}

/// What `endMeeting` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MeetingEnded {
    /// From its start to its end.
    pub duration_ms: i64,
    /// Always true: what cannot be done is an error.
    pub success: bool,
}

/// What `joinMeeting` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MeetingJoined {
    /// Always true: what cannot be done is an error.
    pub success: bool,
    /// Whether an access token can be minted now.
    pub webrtc_ready: bool,
}

/// The notes of a meeting as they are now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MeetingNotes {
    /// The text.
    pub content: String,
    /// The log's end.
    pub sequence: i64,
    /// When it was changed last.
    ///
    /// Milliseconds since the epoch.
    pub updated_at: i64,
    /// How often it was changed; 0 for notes that never were.
    pub version: i64,
}

/// At most 32 members, keys of 1 … 64 characters, values text, number or boolean, 4096 bytes of JSON in all.
pub type Metadata = BTreeMap<String, Value>;

/// What `deactivateUser` and `reactivateUser` take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NamedUser {
    /// An id, or the `sub` of a token of the caller's issuer.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    pub user_id: String,
}

/// No arguments: an empty object on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoArgs {
}

/// An edit as it stands in the log: always all four.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteEdit {
    /// The text that it inserts; `""` unless it inserts.
    pub content: String,
    /// How many UTF-16 code units it inserts, takes away, or speaks of.
    pub length: i64,
    /// Where, in UTF-16 code units from the beginning of the text.
    pub position: i64,
    /// What it does.
    pub r#type: OperationType,
}

/// An edit as a client sends it; what its type does not need is ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteEditInput {
    /// The text that an insert puts there: 1 … 100,000 units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// How many units a delete takes away (at least 1) or a retain speaks of.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<i64>,
    /// Where, in UTF-16 code units from the beginning of the text.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    pub position: i64,
    /// What it does.
    pub r#type: OperationType,
}

impl NoteEditInput {
    /// With what is required, and nothing else.
    pub fn new(position: i64, r#type: OperationType) -> Self {
        Self {
            content: None,
            length: None,
            position,
            r#type,
        }
    }
}

/// What became of an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteOperationApplied {
    /// The entries of the log that changed it.
    pub conflicts: Vec<NoteopId>,
    /// The version that it made.
    pub new_version: i64,
    /// The sequence of its last entry in the log.
    pub server_sequence: i64,
    /// Always true.
    pub success: bool,
    /// What was applied; of an operation that was split, its first piece.
    pub transformed_operation: NoteEdit,
    /// All pieces, one after the other, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transformed_operations: Option<Vec<NoteEdit>>,
}

/// A part of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteOperations {
    /// The `fromSequence` that goes on where this part ends.
    pub next_sequence: i64,
    /// The entries, in order.
    pub operations: Vec<LoggedOperation>,
    /// The version of the text now.
    pub version: i64,
}

/// What became of a batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoteOperationsApplied {
    /// The version that the batch made.
    pub new_version: i64,
    /// What became of each operation, in their order.
    pub results: Vec<NoteOperationApplied>,
    /// Always true.
    pub success: bool,
}

/// The version after a rollback.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotesRolledBack {
    /// The version now.
    pub new_version: i64,
    /// Always true.
    pub success: bool,
}

/// Which meeting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfMeeting {
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

/// Why an operation was refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfflineOperationError {
    /// The reason.
    pub error: String,
    /// The client's id of it.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub operation_id: String,
}

/// What became of a call that queues.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfflineOperationsQueued {
    /// Names the call that brought the operations; a full repetition gets that of the first call.
    pub queue_id: String,
    /// Rows newly stored.
    pub queued: i64,
    /// Always true.
    pub success: bool,
}

/// What a synchronization did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfflineOperationsSynced {
    /// The entries of the log that changed one of the synced.
    pub conflicts: Vec<NoteopId>,
    /// Why each of the failed was refused.
    pub errors: Vec<OfflineOperationError>,
    /// Operations that were refused.
    pub failed: i64,
    /// The version of the notes now.
    pub new_version: i64,
    /// Operations that still wait.
    pub remaining_in_queue: i64,
    /// Always true, also where operations failed.
    pub success: bool,
    /// Operations that are in the notes now.
    pub synced: i64,
}

/// A client's offline queue in figures. Cleared operations are not in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OfflineQueueStatus {
    /// Operations that were refused.
    pub failed: i64,
    /// When the last of the pending was queued.
    ///
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub newest_pending: Option<i64>,
    /// When the first of the pending was queued.
    ///
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub oldest_pending: Option<i64>,
    /// Operations that wait.
    pub pending: i64,
    /// Whether all is well with it.
    pub queue_health: QueueHealth,
    /// Operations that are in the notes.
    pub synced: i64,
    /// Always 0: taking and applying are one transaction.
    pub syncing: i64,
    /// All of them.
    pub total_queued: i64,
}

/// What `saveOnboarding` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OnboardingSaved {
    /// Distinct interests that the user has now. At least 0.
    pub interests_count: i64,
    /// Always true: this call completes it.
    pub onboarding_completed: bool,
    /// Id of a row of `profiles`.
    pub profile_id: ProfileId,
    /// The caller's own id, which other functions take as `userId`.
    ///
    /// Id of a row of `users`.
    pub user_id: UserId,
}

/// How far the caller's onboarding is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OnboardingState {
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<i64>,
    /// Whether `saveOnboarding` succeeded once.
    pub onboarding_complete: bool,
    /// Whether there is a profile, be it of the onboarding or of `updateUserProfile`.
    pub profile_exists: bool,
    /// Id of a row of `profiles`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile_id: Option<ProfileId>,
    /// Id of a row of `users`.
    pub user_id: UserId,
}

/// A match, by its id: what several functions take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OneMatch {
    /// One of the caller's own.
    ///
    /// Id of a row of `matches`.
    pub match_id: MatchId,
}

/// A meeting, by its id: what many functions take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OneMeeting {
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

/// A session of a meeting: what `createSession` and `closeSession` take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OneSession {
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// The client's own name of it.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub session_id: String,
}

/// The caller's own account.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnAccount {
    /// Milliseconds since the epoch.
    #[serde(rename = "_creationTime")]
    pub creation_time: i64,
    /// Id of a row of `users`.
    #[serde(rename = "_id")]
    pub id: UserId,
    /// `""` when there is none.
    pub avatar_url: String,
    /// The profile's name, else the claim's, else the part of the e-mail before `@`, else "Unknown user".
    pub display_name: String,
    /// An e-mail address, trimmed and in lower case. At most 254 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Whether the identity provider says that the address is his.
    pub email_verified: bool,
    /// Whether the account is open; a closed one is refused everything else.
    pub is_active: bool,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_seen_at: Option<i64>,
    /// Whether `saveOnboarding` succeeded once.
    pub onboarding_complete: bool,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onboarding_completed_at: Option<i64>,
    /// The organization that his token names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub org_id: Option<String>,
    /// What his token says he is, such as `admin`.
    pub roles: Vec<String>,
}

/// What the caller takes from one meeting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnInsight {
    /// Id of a row of `insights`.
    #[serde(rename = "_id")]
    pub id: InsightId,
    /// The caller's own first.
    pub action_items: Vec<String>,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// What made it, with its version.
    pub generator: String,
    /// Where what it says comes from.
    pub links: Vec<InsightLink>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// What he could do next, the surest first.
    pub recommendations: Vec<Recommendation>,
    /// What the meeting was about, for him, in a few sentences.
    pub summary: String,
    /// When it was made last.
    ///
    /// Milliseconds since the epoch.
    pub updated_at: i64,
    /// Id of a row of `users`.
    pub user_id: UserId,
}

/// An interest that the caller has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnInterest {
    pub category: InterestCategory,
    /// The name of a picture that stands for an interest, at most 64 characters. At most 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_name: Option<String>,
    /// The key of a row of the catalog: 1 … 64 characters, words of `[a-z0-9]` joined by `-`, or `custom:` and such words.
    pub key: String,
    /// The name of an interest as people read it: trimmed, 1 … 64 characters.
    pub label: String,
}

/// A meeting as one of its people sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnMeeting {
    /// Milliseconds since the epoch.
    #[serde(rename = "_creationTime")]
    pub creation_time: i64,
    /// Id of a row of `meetings`.
    #[serde(rename = "_id")]
    pub id: MeetingId,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// What a meeting is about, at most 5000 characters. At most 5000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// In milliseconds; for display.
    ///
    /// How long a meeting is planned, in milliseconds: 1 … 86,400,000 (a day). For display; nothing ends a meeting by it.
    ///
    /// 1 … 86400000.
    pub duration: i64,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<i64>,
    /// How many people a meeting has room for: 1 … 1000.
    pub max_participants: i64,
    pub meeting_type: MeetingType,
    /// Open media sessions of everybody; only of a single meeting, not in lists. At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_sessions: Option<i64>,
    /// Id of a row of `users`.
    pub organizer_id: UserId,
    /// Whether it may be recorded.
    pub recording_enabled: bool,
    /// The room at the provider.
    pub room_id: String,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<i64>,
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    pub state: MeetingState,
    /// The title of a meeting, trimmed, 1 … 200 characters.
    pub title: String,
    /// Whether what is said is taken into a transcript.
    pub transcription_enabled: bool,
    /// Milliseconds since the epoch.
    pub updated_at: i64,
    /// Where the caller is, seen from it.
    pub user_presence: Presence,
    /// What the caller is in it.
    pub user_role: Role,
    pub video_provider: VideoProvider,
}

/// A part of a list, and where the next part begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageOfCatalogItem {
    /// What to send for the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// The rows of this part.
    pub items: Vec<CatalogItem>,
}

/// A part of a list, and where the next part begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageOfListedEntry {
    /// What to send for the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// The rows of this part.
    pub items: Vec<ListedEntry>,
}

/// A part of a list, and where the next part begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageOfOwnInsight {
    /// What to send for the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// The rows of this part.
    pub items: Vec<OwnInsight>,
}

/// A part of a list, and where the next part begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageOfOwnMeeting {
    /// What to send for the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// The rows of this part.
    pub items: Vec<OwnMeeting>,
}

/// What `addParticipant` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ParticipantAdded {
    /// Whether the address belongs to nobody yet and has an invitation now.
    pub invited: bool,
    /// The new place; of several users with the address the first one's. Absent where an invitation was made.
    ///
    /// Id of a row of `meetingParticipants`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub participant_id: Option<ParticipantId>,
}

/// All calls together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PerformanceSummary {
    /// In milliseconds, over all calls.
    pub avg_latency: f64,
    /// Calls of all functions. At least 0.
    pub call_count: i64,
    /// How many of them ended with an error. At least 0.
    pub error_count: i64,
    /// Functions that were called. At least 0.
    pub function_count: i64,
    /// Functions that are not compliant. At least 0.
    pub slo_breaches: i64,
    /// 0 … 1; 1 without calls.
    pub success_rate: f64,
}

/// The course of a function over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PerformanceTrends {
    /// Contiguous buckets, the oldest first; the last one holds this moment.
    pub time_series: Vec<TrendPoint>,
    pub trends: TrendLabels,
}

/// What somebody may do in a meeting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permissions {
    /// Remove others from the room.
    pub can_kick: bool,
    /// Mute others.
    pub can_mute: bool,
    /// Record.
    pub can_record: bool,
    /// Share a screen.
    pub can_share: bool,
}

/// A person as lists show one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Person {
    /// The user.
    ///
    /// Id of a row of `users`.
    #[serde(rename = "_id")]
    pub id: UserId,
    /// The address of a picture, or `""`.
    pub avatar_url: String,
    /// The name to show; never empty.
    pub display_name: String,
}

/// What `batchUpdatePresence` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PresenceQueued {
    /// Participants of the meeting whose presence was written within the last second, the caller included. At least 0.
    pub batch_size: i64,
    /// Always true: it is written when this is answered.
    pub queued: bool,
}

/// What somebody tells about himself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProfileRow {
    /// Milliseconds since the epoch.
    #[serde(rename = "_creationTime")]
    pub creation_time: i64,
    /// Id of a row of `profiles`.
    #[serde(rename = "_id")]
    pub id: ProfileId,
    /// Age in years.
    ///
    /// Age in years, 13 … 120.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<i64>,
    /// About himself, in his words.
    ///
    /// What somebody writes about himself, at most 1000 characters, as he wrote it; `""` clears it.
    ///
    /// At most 1000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bio: Option<String>,
    /// Company.
    ///
    /// A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// The name that others see.
    ///
    /// The name that others see, trimmed, 1 … 100 characters.
    pub display_name: String,
    /// What he has done so far, in words or years.
    ///
    /// What somebody has done so far, in words or years, at most 1000 characters.
    ///
    /// At most 1000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experience: Option<String>,
    /// Field of work.
    ///
    /// A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Gender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gender: Option<Gender>,
    /// What he wants to reach.
    ///
    /// What somebody wants to reach, at most 2000 characters.
    ///
    /// At most 2000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goals: Option<String>,
    /// Job title.
    ///
    /// A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_title: Option<String>,
    /// What he speaks; each once without regard to case.
    pub languages: Vec<String>,
    /// Address of his page there.
    ///
    /// An absolute address with the scheme http or https, at most 2048 characters; kept as it was written.
    ///
    /// At most 2048 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linkedin_url: Option<String>,
    /// When the row changed last.
    ///
    /// Milliseconds since the epoch.
    pub updated_at: i64,
    /// Whose it is.
    ///
    /// Id of a row of `users`.
    pub user_id: UserId,
}

/// What others see of a user.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PublicProfile {
    /// `""` when there is none.
    pub avatar_url: String,
    /// What somebody writes about himself, at most 1000 characters, as he wrote it; `""` clears it. At most 1000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bio: Option<String>,
    /// A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub company: Option<String>,
    /// What he is called.
    pub display_name: String,
    /// What somebody has done so far, in words or years, at most 1000 characters. At most 1000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experience: Option<String>,
    /// A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What somebody wants to reach, at most 2000 characters. At most 2000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goals: Option<String>,
    /// Keys of the catalog.
    pub interests: Vec<String>,
    /// A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_title: Option<String>,
    /// What he speaks, by any name.
    pub languages: Vec<String>,
    /// An absolute address with the scheme http or https, at most 2048 characters; kept as it was written. At most 2048 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linkedin_url: Option<String>,
    /// Id of a row of `users`.
    pub user_id: UserId,
}

/// What `queueOfflineOperations` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueOfflineOperations {
    /// The same as a sequence of the log, if `baseVersion` is absent. One ahead of the log means the log's end.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_sequence: Option<i64>,
    /// The version of the text on which the first of them was made.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_version: Option<i64>,
    /// On which of his clients the caller wrote.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub client_id: String,
    /// The meeting whose notes he edited.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// The operations, 0 … 500. Each was made after the one before it, by `sequence`, then by place.
    pub operations: Vec<SentOfflineOperation>,
}

impl QueueOfflineOperations {
    /// With what is required, and nothing else.
    pub fn new(client_id: impl Into<String>, meeting_id: MeetingId, operations: Vec<SentOfflineOperation>) -> Self {
        Self {
            base_sequence: None,
            base_version: None,
            client_id: client_id.into(),
            meeting_id,
            operations,
        }
    }
}

/// Where the caller's newest entry is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueuePlace {
    /// Id of a row of `queueEntries`.
    #[serde(rename = "_id")]
    pub id: QueueId,
    /// Milliseconds since the epoch.
    pub available_from: i64,
    /// Milliseconds since the epoch.
    pub available_to: i64,
    pub constraints: MatchConstraints,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// A guess, in milliseconds. Absent unless it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimated_wait_ms: Option<i64>,
    /// What it led to.
    ///
    /// Id of a row of `matches`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_id: Option<MatchId>,
    /// 1 is the one who waits longest. Absent unless it waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_position: Option<i64>,
    pub status: QueueStatus,
}

/// Something the reader could do next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Recommendation {
    /// 0 … 1; grows with the evidence.
    ///
    /// How sure a recognizer or generator is: 0 … 1.
    pub confidence: f64,
    /// The advice, in a sentence.
    pub content: String,
    /// What it is about.
    pub r#type: RecommendationKind,
}

/// What `recordPromptFeedback` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordPromptFeedback {
    /// A dismissed one is not shown again.
    pub feedback: PromptFeedback,
    /// One of the caller's own.
    ///
    /// Id of a row of `prompts`.
    pub prompt_id: PromptId,
}

/// What `removeCatalogEntry` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoveCatalogEntry {
    /// The key of a row of the catalog: 1 … 64 characters, words of `[a-z0-9]` joined by `-`, or `custom:` and such words.
    pub key: String,
}

/// What `removeParticipant` takes: either a user or an address.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RemoveParticipant {
    /// Takes an invitation back, or removes the users with that address.
    ///
    /// An e-mail address, trimmed and in lower case.
    ///
    /// At most 254 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// An id, or the `sub` of a token of the caller's issuer.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
}

impl RemoveParticipant {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId) -> Self {
        Self {
            email: None,
            meeting_id,
            user_id: None,
        }
    }
}

/// What `retryFailedOperations` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RetryFailedOperations {
    /// Which of the caller's clients.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub client_id: String,
    /// The meeting whose notes it edited.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

/// What `rollbackToSequence` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RollbackToSequence {
    /// The meeting whose notes go back.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// Why, for the audit.
    ///
    /// Why notes are rolled back, at most 500 characters; for the audit.
    ///
    /// At most 500 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The entry of the log after which the text was as it shall be again; 0 for the empty text.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    pub target_sequence: i64,
}

impl RollbackToSequence {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId, target_sequence: i64) -> Self {
        Self {
            meeting_id,
            reason: None,
            target_sequence,
        }
    }
}

/// What `runMatchingCycle` takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunMatchingCycle {
    /// Says what it would do, and does nothing.
    ///
    /// `false` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
    /// Two who score less are not matched; the settings' unless told.
    ///
    /// How well something fits: 0 … 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_score: Option<f64>,
}

/// What `saveOnboarding` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SaveOnboarding {
    /// In years.
    ///
    /// Age in years, 13 … 120.
    pub age: i64,
    /// A bio as onboarding asks for it: trimmed, 1 … 1000 characters.
    pub bio: String,
    /// A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
    pub company: String,
    /// The field of work or study.
    ///
    /// A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
    pub field: String,
    pub gender: Gender,
    /// A retry with the same key and the same arguments changes nothing and returns the first result.
    ///
    /// Names one attempt: the same key and the same arguments give the stored result, with nothing done again.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Those of the catalog by their key; others join it. At most 50 items.
    pub interests: Vec<SentInterest>,
    /// A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
    pub job_title: String,
    /// Absent or `""`: none.
    ///
    /// An `HttpUrl`, or `""` for none.
    ///
    /// At most 2048 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub linkedin_url: Option<String>,
}

/// What `sendSignal` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SendSignal {
    pub kind: SignalKind,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// What is passed on as it is: any object of at most 64 KiB.
    ///
    /// Any object of at most 65536 bytes of JSON.
    pub payload: Map<String, Value>,
    /// The open session of the caller's that it comes from.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub session_id: String,
    /// For whom: an id, or the `sub` of a token of the caller's issuer. Absent: for everybody else who has joined.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_user_id: Option<String>,
}

/// One of several stretches of speech.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentChunk {
    /// The client's name of it: a known one of the speaker is not stored again.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_id: Option<String>,
    /// How sure the recognizer is.
    ///
    /// How sure a recognizer or generator is: 0 … 1.
    pub confidence: f64,
    /// When it ended: after it began.
    ///
    /// Milliseconds since the epoch.
    pub end_time: i64,
    /// Still changing: acknowledged and not stored.
    ///
    /// `false` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_interim: Option<bool>,
    /// A language by its BCP 47 tag, in the case that RFC 5646 §2.1.1 recommends (`en-US`, `zh-Hant-TW`). 2 … 35 characters.
    ///
    /// `"en"` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// Who spoke: the caller unless told. Another one is named by a host or a deploy key.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker_id: Option<String>,
    /// When it began.
    ///
    /// Milliseconds since the epoch.
    pub start_time: i64,
    /// What was said, trimmed, 1 … 10,000 characters. 1 … 10000 characters.
    pub text: String,
}

/// An interest as a client sends it at onboarding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentInterest {
    pub category: InterestCategory,
    /// The name of a picture that stands for an interest, at most 64 characters. At most 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_name: Option<String>,
    /// A key of the catalog, or whatever the client calls it.
    ///
    /// What a client calls an interest: trimmed, 1 … 64 characters. A key of the catalog, or an id of its own.
    pub id: String,
    /// The name of an interest as people read it: trimmed, 1 … 64 characters.
    pub name: String,
}

impl SentInterest {
    /// With what is required, and nothing else.
    pub fn new(category: InterestCategory, id: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            category,
            icon_name: None,
            id: id.into(),
            name: name.into(),
        }
    }
}

/// An operation as a client kept it while it was offline. What the client says of its author, its attempts and what it
/// was transformed from is trusted nowhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SentOfflineOperation {
    /// Not used.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    pub attempts: i64,
    /// Not used: the author is the caller.
    pub author_id: String,
    /// The client; that of the call.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub client_id: String,
    /// The text that an insert puts there: 1 … 100,000 units.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// Not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The client's id of it.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub id: String,
    /// Not used.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_attempt: Option<i64>,
    /// How many units a delete takes away (at least 1) or a retain speaks of.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<i64>,
    /// Where, in UTF-16 code units from the beginning of the text.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    pub position: i64,
    /// Not used: the row has the server's time.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    pub queued_at: i64,
    /// Its place among the client's operations.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    pub sequence: i64,
    /// `synced` if it is in the notes already; anything else is applied.
    pub status: OfflineStatus,
    /// Not used.
    ///
    /// A whole number that is not negative: a position, a length, a sequence, a version, a count.
    ///
    /// At least 0.
    pub timestamp: i64,
    /// Not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transformed_from: Option<Vec<String>>,
    /// What it does.
    pub r#type: OperationType,
}

/// What `createSession` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionCreated {
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`. 1 … 128 characters.
    pub session_id: String,
}

/// A stretch of speech.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownChunk {
    /// Id of a row of `transcriptChunks`.
    #[serde(rename = "_id")]
    pub id: ChunkId,
    /// Milliseconds since the epoch.
    pub bucket_ms: i64,
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`. 1 … 128 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk_id: Option<String>,
    /// How sure a recognizer or generator is: 0 … 1.
    pub confidence: f64,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// Milliseconds since the epoch.
    pub end_time: i64,
    /// A language by its BCP 47 tag, in the case that RFC 5646 §2.1.1 recommends (`en-US`, `zh-Hant-TW`). 2 … 35 characters.
    pub language: String,
    /// Its place in the transcript.
    pub sequence: i64,
    /// Id of a row of `users`.
    pub speaker_id: UserId,
    /// Milliseconds since the epoch.
    pub start_time: i64,
    /// What was said, trimmed, 1 … 10,000 characters. 1 … 10000 characters.
    pub text: String,
    /// Runs of characters without white space.
    pub word_count: i64,
}

/// A match as one of its two sees it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownMatch {
    /// Why, in sentences.
    pub explanation: Vec<String>,
    pub features: MatchFeatures,
    /// Id of a row of `matches`.
    pub match_id: MatchId,
    /// The meeting that was made of it.
    ///
    /// Id of a row of `meetings`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meeting_id: Option<MeetingId>,
    /// What the caller says.
    pub outcome: Outcome,
    /// The other one.
    pub partner: PublicProfile,
    /// What the other says.
    pub partner_outcome: Outcome,
    /// How well the two fit, all in all.
    ///
    /// How well something fits: 0 … 1.
    pub score: f64,
    pub status: MatchStatus,
    /// Both are free from.
    ///
    /// Milliseconds since the epoch.
    pub window_from: i64,
    /// Both are free until.
    ///
    /// Milliseconds since the epoch.
    pub window_to: i64,
}

/// Something that the caller could say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownPrompt {
    /// Id of a row of `prompts`.
    #[serde(rename = "_id")]
    pub id: PromptId,
    /// The prompt itself, one or two sentences.
    pub content: String,
    /// Milliseconds since the epoch.
    pub created_at: i64,
    /// What the caller did with it, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<PromptFeedback>,
    /// How much it suggests itself.
    ///
    /// How well something fits: 0 … 1.
    pub relevance: f64,
    /// Why it was made, the kind of evidence first.
    pub tags: Vec<String>,
}

/// What `sendSignal` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignalSent {
    /// How many people it lies ready for. At least 0.
    pub delivered: i64,
}

/// What `acknowledgeSignals` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SignalsAcknowledged {
    /// Those that lay ready for the caller and are gone now. At least 0.
    pub acknowledged: i64,
}

/// What `submitMatchFeedback` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubmitMatchFeedback {
    /// What was said before stays without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feedback: Option<MatchFeedbackInput>,
    /// One of the caller's own.
    ///
    /// Id of a row of `matches`.
    pub match_id: MatchId,
    pub outcome: Outcome,
}

impl SubmitMatchFeedback {
    /// With what is required, and nothing else.
    pub fn new(match_id: MatchId, outcome: Outcome) -> Self {
        Self {
            feedback: None,
            match_id,
            outcome,
        }
    }
}

/// One subscription.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionFigures {
    /// How long that took, in milliseconds.
    pub avg_latency: f64,
    /// Since it follows what it follows.
    pub duration_ms: i64,
    /// How often it was found not valid. At least 0.
    pub errors: i64,
    /// When it was validated last.
    ///
    /// Milliseconds since the epoch.
    pub last_update: i64,
    /// Whether validating takes at most 150 ms and comes at most ten times a second.
    pub slo_compliant: bool,
    /// The client's own name of it.
    pub subscription_id: String,
    /// How often it was validated. At least 0.
    pub update_count: i64,
    /// How often it is validated.
    pub updates_per_second: f64,
}

/// How subscriptions are doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionMetrics {
    /// Of the whole process, over the last minute.
    pub bandwidth_stats: BandwidthStats,
    /// Over all that the caller may see.
    pub global_stats: GlobalStats,
    /// In the order in which they were opened.
    pub subscriptions: Vec<SubscriptionFigures>,
}

/// Whether a subscription is valid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SubscriptionValidity {
    /// What the caller may do with what he follows; none if it is not valid.
    pub permissions: Vec<String>,
    /// Why it is not valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the client is to connect anew: it was away for long, or may do more or less than before.
    pub should_reconnect: bool,
    /// Whether the caller may go on following.
    pub valid: bool,
    /// When it is to be validated again.
    ///
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub valid_until: Option<i64>,
}

/// What `syncOfflineOperations` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncOfflineOperations {
    /// Which of the caller's clients.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub client_id: String,
    /// How many operations at most.
    ///
    /// At most so many rows.
    ///
    /// 1 … 500.
    ///
    /// `50` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_operations: Option<i64>,
    /// The meeting whose notes it edited.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
}

impl SyncOfflineOperations {
    /// With what is required, and nothing else.
    pub fn new(client_id: impl Into<String>, meeting_id: MeetingId) -> Self {
        Self {
            client_id: client_id.into(),
            max_operations: None,
            meeting_id,
        }
    }
}

/// What was cleared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SyncedOperationsCleared {
    /// Rows cleared now.
    pub cleared: i64,
}

/// What `terminateSubscription` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TerminateSubscription {
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`. 1 … 128 characters.
    pub subscription_id: String,
}

/// What `listTranscriptChunks` returns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptChunks {
    /// By sequence.
    pub chunks: Vec<ShownChunk>,
    /// What to ask for next: the first chunk after these, which may not exist yet.
    pub next_sequence: i64,
}

/// The figures of a transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptFigures {
    /// The plain mean over the chunks.
    pub average_confidence: f64,
    /// Stretches of five minutes in which something was said.
    pub bucket_count: i64,
    /// From the first beginning to the last end, in milliseconds.
    pub duration: i64,
    /// What was spoken, in order of first appearance: the first 50, unless set otherwise.
    pub languages: Vec<String>,
    /// Who spoke, in order of first appearance.
    pub speakers: Vec<UserId>,
    /// Final chunks.
    pub total_chunks: i64,
    /// Runs of characters without white space.
    pub total_words: i64,
}

/// Where it is going.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrendLabels {
    /// `improving`, `stable` or `degrading`.
    pub error_trend: String,
    /// `improving`, `stable` or `degrading`.
    pub latency_trend: String,
    /// `increasing`, `stable` or `decreasing`.
    pub throughput_trend: String,
}

/// The calls that ended within one bucket. Latencies are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrendPoint {
    /// Over all calls; 0 without any.
    pub avg_latency: f64,
    /// How many there are. At least 0.
    pub call_count: i64,
    /// How many of them ended with an error. At least 0.
    pub error_count: i64,
    /// By nearest rank; 0 without calls.
    pub p95_latency: f64,
    /// 0 … 1; 1 without calls.
    pub success_rate: f64,
    /// When it begins: a multiple of its size.
    ///
    /// Milliseconds since the epoch.
    pub timestamp: i64,
}

/// What `updateMeeting` takes. Fields that are absent stay as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateMeeting {
    /// `""` clears it.
    ///
    /// What a meeting is about, at most 5000 characters.
    ///
    /// At most 5000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// How long a meeting is planned, in milliseconds: 1 … 86,400,000 (a day). For display; nothing ends a meeting by it. 1 … 86400000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<i64>,
    /// Not below those who are in it now.
    ///
    /// How many people a meeting has room for: 1 … 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_participants: Option<i64>,
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// Whether it may be recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording_enabled: Option<bool>,
    /// Of a scheduled meeting only.
    ///
    /// Milliseconds since the epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduled_at: Option<i64>,
    /// The title of a meeting, trimmed, 1 … 200 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether what is said is taken into a transcript.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcription_enabled: Option<bool>,
}

impl UpdateMeeting {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId) -> Self {
        Self {
            description: None,
            duration: None,
            max_participants: None,
            meeting_id,
            recording_enabled: None,
            scheduled_at: None,
            title: None,
            transcription_enabled: None,
        }
    }
}

/// What `updateParticipantRole` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateParticipantRole {
    /// The meeting whose participant changes.
    ///
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    pub new_role: Role,
    /// Who: an id, or the `sub` of a token of the caller's issuer.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    pub user_id: String,
}

/// What `updateSessionState` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateSessionState {
    /// Id of a row of `meetings`.
    pub meeting_id: MeetingId,
    /// Laid over what is there, key by key. `packetLoss` (%), `latency` (ms), `jitter` (ms) and `bitrate` (bit/s) are
    /// rated; a `connectionQuality` in it is believed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
    /// The client's own name of the session. One that is not known is made, if it connects.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub session_id: String,
    pub state: SessionState,
}

impl UpdateSessionState {
    /// With what is required, and nothing else.
    pub fn new(meeting_id: MeetingId, session_id: impl Into<String>, state: SessionState) -> Self {
        Self {
            meeting_id,
            metadata: None,
            session_id: session_id.into(),
            state,
        }
    }
}

/// What `updateUserInterests` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateUserInterests {
    /// Keys of the catalog; duplicates count once, an empty list clears. At most 100 items.
    pub interests: Vec<String>,
    /// Whose interests: an id, or the `sub` of a token of the caller's issuer.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    pub user_id: String,
}

/// What `updateUserProfile` takes. Fields that are absent stay as they are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpdateUserProfile {
    /// `""` clears it.
    ///
    /// What somebody writes about himself, at most 1000 characters, as he wrote it; `""` clears it.
    ///
    /// At most 1000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bio: Option<String>,
    /// The name that others see, trimmed, 1 … 100 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub display_name: Option<String>,
    /// `""` clears it.
    ///
    /// What somebody has done so far, in words or years, at most 1000 characters.
    ///
    /// At most 1000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experience: Option<String>,
    /// `""` clears them.
    ///
    /// What somebody wants to reach, at most 2000 characters.
    ///
    /// At most 2000 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goals: Option<String>,
    /// Those that differ only in case count once. At most 20 items.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub languages: Option<Vec<String>>,
    /// Whose profile: an id, or the `sub` of a token of the caller's issuer.
    ///
    /// A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
    ///
    /// 1 … 255 characters.
    pub user_id: String,
}

impl UpdateUserProfile {
    /// With what is required, and nothing else.
    pub fn new(user_id: impl Into<String>) -> Self {
        Self {
            bio: None,
            display_name: None,
            experience: None,
            goals: None,
            languages: None,
            user_id: user_id.into(),
        }
    }
}

/// What `upsertCatalogEntry` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UpsertCatalogEntry {
    pub category: InterestCategory,
    /// The name of a picture that stands for an interest, at most 64 characters. At most 64 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icon_name: Option<String>,
    /// The key of a row of the catalog: 1 … 64 characters, words of `[a-z0-9]` joined by `-`, or `custom:` and such words.
    pub key: String,
    /// The name people read.
    ///
    /// The name of an interest as people read it: trimmed, 1 … 64 characters.
    pub label: String,
}

impl UpsertCatalogEntry {
    /// With what is required, and nothing else.
    pub fn new(category: InterestCategory, key: impl Into<String>, label: impl Into<String>) -> Self {
        Self {
            category,
            icon_name: None,
            key: key.into(),
            label: label.into(),
        }
    }
}

/// What `validateSubscription` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValidateSubscription {
    /// When the client validated it last.
    ///
    /// Milliseconds since the epoch.
    pub last_validated: i64,
    /// The meeting whose part is followed.
    ///
    /// The resource that somebody follows, by its id: 1 … 128 characters.
    pub resource_id: String,
    /// `meeting`, `participants`, `meetingParticipants`, `notes`, `meetingNotes`, `transcript`, `transcripts`,
    /// `prompts`, `insights` or `webrtc`.
    ///
    /// The kind of a resource: 1 … 64 characters. Unknown ones are no mistake of form.
    pub resource_type: String,
    /// The client's own name of the subscription.
    ///
    /// A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
    ///
    /// 1 … 128 characters.
    pub subscription_id: String,
}

impl Client {
    /// The functions under `insights`.
    pub fn insights(&self) -> modules::Insights<'_> {
        modules::Insights(self)
    }

    /// The functions under `interests`.
    pub fn interests(&self) -> modules::Interests<'_> {
        modules::Interests(self)
    }

    /// The functions under `matching`.
    pub fn matching(&self) -> modules::Matching<'_> {
        modules::Matching(self)
    }

    /// The functions under `meetings`.
    pub fn meetings(&self) -> modules::Meetings<'_> {
        modules::Meetings(self)
    }

    /// The functions under `monitoring`.
    pub fn monitoring(&self) -> modules::Monitoring<'_> {
        modules::Monitoring(self)
    }

    /// The functions under `notes`.
    pub fn notes(&self) -> modules::Notes<'_> {
        modules::Notes(self)
    }

    /// The functions under `profiles`.
    pub fn profiles(&self) -> modules::Profiles<'_> {
        modules::Profiles(self)
    }

    /// The functions under `prompts`.
    pub fn prompts(&self) -> modules::Prompts<'_> {
        modules::Prompts(self)
    }

    /// The functions under `realtime`.
    pub fn realtime(&self) -> modules::Realtime<'_> {
        modules::Realtime(self)
    }

    /// The functions under `system`.
    pub fn system(&self) -> modules::System<'_> {
        modules::System(self)
    }

    /// The functions under `transcripts`.
    pub fn transcripts(&self) -> modules::Transcripts<'_> {
        modules::Transcripts(self)
    }

    /// The functions under `users`.
    pub fn users(&self) -> modules::Users<'_> {
        modules::Users(self)
    }

}

/// The modules of functions, as [`Client`] opens them.
pub mod modules {
    use super::*;

    /// The functions under `insights`.
    #[derive(Clone, Copy, Debug)]
    pub struct Insights<'c>(pub(super) &'c Client);

    impl<'c> Insights<'c> {
        /// The functions under `insights/index`.
        pub fn index(&self) -> InsightsIndex<'c> {
            InsightsIndex(self.0)
        }

        /// The functions under `insights/mutations`.
        pub fn mutations(&self) -> InsightsMutations<'c> {
            InsightsMutations(self.0)
        }

        /// The functions under `insights/queries`.
        pub fn queries(&self) -> InsightsQueries<'c> {
            InsightsQueries(self.0)
        }

    }

    /// The functions under `insights/index`.
    #[derive(Clone, Copy, Debug)]
    pub struct InsightsIndex<'c>(pub(super) &'c Client);

    impl<'c> InsightsIndex<'c> {
        /// Makes the insights of everybody in a meeting from its transcript and notes. Those that were made from the same stay
        /// as they are. Without a word said or written, and before the meeting begins, nothing is made.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        /// - `FAILED_PRECONDITION`: the meeting was cancelled.
        /// - `UNAVAILABLE`: another call has been at it for 25 s.
        /// - `PROVIDER_ERROR`, `TIMEOUT`: a provider is configured without fallback, and failed.
        pub fn generate_insights(&self, args: &GenerateInsights) -> Call<'c, InsightsGenerated> {
            self.0.call("insights/index/generateInsights", Kind::Action, args)
        }

    }

    /// The functions under `insights/mutations`.
    #[derive(Clone, Copy, Debug)]
    pub struct InsightsMutations<'c>(pub(super) &'c Client);

    impl<'c> InsightsMutations<'c> {
        /// Deletes the caller's insights of a meeting. Whoever has the meeting's insights made again gets him new ones.
        ///
        /// # Errors
        /// `NOT_FOUND`: the caller has no such insights.
        pub fn delete_insight(&self, args: &DeleteInsight) -> Call<'c, ()> {
            self.0.call("insights/mutations/deleteInsight", Kind::Mutation, args)
        }

    }

    /// The functions under `insights/queries`.
    #[derive(Clone, Copy, Debug)]
    pub struct InsightsQueries<'c>(pub(super) &'c Client);

    impl<'c> InsightsQueries<'c> {
        /// The caller's insights of a meeting; null before there are any.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has no place in the meeting.
        pub fn get_meeting_insights(&self, args: &OfMeeting) -> Call<'c, Option<OwnInsight>> {
            self.0.call("insights/queries/getMeetingInsights", Kind::Query, args)
        }

        /// The caller's insights of all meetings, oldest first.
        ///
        /// Also of meetings that he was removed from since, whose insights stay his.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn list_user_insights(&self, args: &ListUserInsights) -> Call<'c, PageOfOwnInsight> {
            self.0.call("insights/queries/listUserInsights", Kind::Query, args)
        }

    }

    /// The functions under `interests`.
    #[derive(Clone, Copy, Debug)]
    pub struct Interests<'c>(pub(super) &'c Client);

    impl<'c> Interests<'c> {
        /// The functions under `interests/mutations`.
        pub fn mutations(&self) -> InterestsMutations<'c> {
            InterestsMutations(self.0)
        }

        /// The functions under `interests/queries`.
        pub fn queries(&self) -> InterestsQueries<'c> {
            InterestsQueries(self.0)
        }

    }

    /// The functions under `interests/mutations`.
    #[derive(Clone, Copy, Debug)]
    pub struct InterestsMutations<'c>(pub(super) &'c Client);

    impl<'c> InterestsMutations<'c> {
        /// Removes an interest that no user has.
        ///
        /// # Errors
        /// `FORBIDDEN`: not called with a deploy key. `NOT_FOUND`: there is none. `FAILED_PRECONDITION`: users have it;
        /// `usageCount` says how many.
        ///
        /// For a deploy key or an identity with the role `admin`.
        pub fn remove_catalog_entry(&self, args: &RemoveCatalogEntry) -> Call<'c, ()> {
            self.0.call("interests/mutations/removeCatalogEntry", Kind::Mutation, args)
        }

        /// Adds an interest to the catalog, or changes how one is shown. One that a user made becomes everybody's.
        ///
        /// # Errors
        /// `FORBIDDEN`: not called with a deploy key.
        ///
        /// For a deploy key or an identity with the role `admin`.
        pub fn upsert_catalog_entry(&self, args: &UpsertCatalogEntry) -> Call<'c, ()> {
            self.0.call("interests/mutations/upsertCatalogEntry", Kind::Mutation, args)
        }

    }

    /// The functions under `interests/queries`.
    #[derive(Clone, Copy, Debug)]
    pub struct InterestsQueries<'c>(pub(super) &'c Client);

    impl<'c> InterestsQueries<'c> {
        /// The caller's interests, in the order he got them.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn get_user_interests(&self) -> Call<'c, Vec<OwnInterest>> {
            self.0.call("interests/queries/getUserInterests", Kind::Query, &Map::new())
        }

        /// The catalog by key: the built-in interests, one's own, and those of other users that five users have.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn list_catalog(&self, args: &ListCatalog) -> Call<'c, PageOfCatalogItem> {
            self.0.call("interests/queries/listCatalog", Kind::Query, args)
        }

    }

    /// The functions under `matching`.
    #[derive(Clone, Copy, Debug)]
    pub struct Matching<'c>(pub(super) &'c Client);

    impl<'c> Matching<'c> {
        /// The functions under `matching/analytics`.
        pub fn analytics(&self) -> MatchingAnalytics<'c> {
            MatchingAnalytics(self.0)
        }

        /// The functions under `matching/engine`.
        pub fn engine(&self) -> MatchingEngine<'c> {
            MatchingEngine(self.0)
        }

        /// The functions under `matching/index`.
        pub fn index(&self) -> MatchingIndex<'c> {
            MatchingIndex(self.0)
        }

        /// The functions under `matching/lifecycle`.
        pub fn lifecycle(&self) -> MatchingLifecycle<'c> {
            MatchingLifecycle(self.0)
        }

        /// The functions under `matching/queries`.
        pub fn queries(&self) -> MatchingQueries<'c> {
            MatchingQueries(self.0)
        }

        /// The functions under `matching/queue`.
        pub fn queue(&self) -> MatchingQueue<'c> {
            MatchingQueue(self.0)
        }

        /// The functions under `matching/scoring`.
        pub fn scoring(&self) -> MatchingScoring<'c> {
            MatchingScoring(self.0)
        }

    }

    /// The functions under `matching/analytics`.
    #[derive(Clone, Copy, Debug)]
    pub struct MatchingAnalytics<'c>(pub(super) &'c Client);

    impl<'c> MatchingAnalytics<'c> {
        /// The caller's matches, newest first.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn get_match_history(&self, args: &GetMatchHistory) -> Call<'c, Vec<HistoryEntry>> {
            self.0.call("matching/analytics/getMatchHistory", Kind::Query, args)
        }

        /// How the caller's matches went.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn get_matching_stats(&self) -> Call<'c, MatchingStats> {
            self.0.call("matching/analytics/getMatchingStats", Kind::Query, &Map::new())
        }

        /// Says whether the caller will be there, will not, or was; and how it was.
        ///
        /// # Errors
        /// - `NOT_FOUND`: the caller has no such match.
        /// - `FAILED_PRECONDITION`: a completed outcome is final; a declined one cannot be completed; outcomes change only
        ///   until the match's time has passed; a match cannot be taken up again while one of the two has another open one.
        pub fn submit_match_feedback(&self, args: &SubmitMatchFeedback) -> Call<'c, ()> {
            self.0.call("matching/analytics/submitMatchFeedback", Kind::Mutation, args)
        }

    }

    /// The functions under `matching/engine`.
    #[derive(Clone, Copy, Debug)]
    pub struct MatchingEngine<'c>(pub(super) &'c Client);

    impl<'c> MatchingEngine<'c> {
        /// Runs the matcher now.
        ///
        /// # Errors
        /// `FORBIDDEN`: anybody but a deploy key calls.
        ///
        /// For a deploy key or an identity with the role `admin`.
        pub fn run_matching_cycle(&self, args: &RunMatchingCycle) -> Call<'c, MatchingCycle> {
            self.0.call("matching/engine/runMatchingCycle", Kind::Action, args)
        }

    }

    /// The functions under `matching/index`.
    #[derive(Clone, Copy, Debug)]
    pub struct MatchingIndex<'c>(pub(super) &'c Client);

    impl<'c> MatchingIndex<'c> {
        /// Lets the caller wait for somebody who fits, and wakes the matcher. Returns the id of his entry in the queue.
        ///
        /// # Errors
        /// - `INVALID_ARGUMENT`: "Availability end time must be after start time", "Availability window cannot start in the
        ///   past", "Availability window cannot exceed 30 days"; one that starts more than 30 days ahead.
        /// - `CONFLICT`: "User is already in the matching queue", with `queueId`.
        /// - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
        ///
        /// With an `idempotency_key` it is repeated when its answer is lost; without one it is sent once.
        pub fn enter_matching_queue(&self, args: &EnterMatchingQueue) -> Call<'c, QueueId> {
            self.0.call("matching/index/enterMatchingQueue", Kind::Mutation, args)
        }

    }

    /// The functions under `matching/lifecycle`.
    #[derive(Clone, Copy, Debug)]
    pub struct MatchingLifecycle<'c>(pub(super) &'c Client);

    impl<'c> MatchingLifecycle<'c> {
        /// Makes the meeting of an open match: one-on-one, when both are free, both hosts. Once: a repetition, by either,
        /// returns the same.
        ///
        /// # Errors
        /// - `NOT_FOUND`: the caller has no such match.
        /// - `FAILED_PRECONDITION`: "Match is not open".
        pub fn create_match_meeting(&self, args: &OneMatch) -> Call<'c, MeetingCreated> {
            self.0.call("matching/lifecycle/createMatchMeeting", Kind::Mutation, args)
        }

    }

    /// The functions under `matching/queries`.
    #[derive(Clone, Copy, Debug)]
    pub struct MatchingQueries<'c>(pub(super) &'c Client);

    impl<'c> MatchingQueries<'c> {
        /// One of the caller's matches, with who the other is.
        ///
        /// # Errors
        /// `NOT_FOUND`: the caller has no such match.
        pub fn get_match(&self, args: &OneMatch) -> Call<'c, ShownMatch> {
            self.0.call("matching/queries/getMatch", Kind::Query, args)
        }

    }

    /// The functions under `matching/queue`.
    #[derive(Clone, Copy, Debug)]
    pub struct MatchingQueue<'c>(pub(super) &'c Client);

    impl<'c> MatchingQueue<'c> {
        /// Takes the caller out of the matching queue; when that was done already, nothing happens.
        ///
        /// # Errors
        /// - `NOT_FOUND`: he never was in it.
        /// - `FAILED_PRECONDITION`: his newest entry was matched or has expired.
        pub fn cancel_queue_entry(&self) -> Call<'c, ()> {
            self.0.call("matching/queue/cancelQueueEntry", Kind::Mutation, &Map::new())
        }

        /// The caller's newest entry in the matching queue, or null if he never was in it.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn get_queue_status(&self) -> Call<'c, Option<QueuePlace>> {
            self.0.call("matching/queue/getQueueStatus", Kind::Query, &Map::new())
        }

    }

    /// The functions under `matching/scoring`.
    #[derive(Clone, Copy, Debug)]
    pub struct MatchingScoring<'c>(pub(super) &'c Client);

    impl<'c> MatchingScoring<'c> {
        /// How well two users would fit. Without windows of time, what depends on them counts as unknown.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller is neither a deploy key nor an admin of the organization of both.
        /// - `NOT_FOUND`: one of them does not exist.
        ///
        /// For a deploy key or an identity with the role `admin`.
        pub fn calculate_compatibility_score(&self, args: &CalculateCompatibilityScore) -> Call<'c, Compatibility> {
            self.0.call("matching/scoring/calculateCompatibilityScore", Kind::Query, args)
        }

    }

    /// The functions under `meetings`.
    #[derive(Clone, Copy, Debug)]
    pub struct Meetings<'c>(pub(super) &'c Client);

    impl<'c> Meetings<'c> {
        /// The functions under `meetings/admin`.
        pub fn admin(&self) -> MeetingsAdmin<'c> {
            MeetingsAdmin(self.0)
        }

        /// The functions under `meetings/lifecycle`.
        pub fn lifecycle(&self) -> MeetingsLifecycle<'c> {
            MeetingsLifecycle(self.0)
        }

        /// The functions under `meetings/queries`.
        pub fn queries(&self) -> MeetingsQueries<'c> {
            MeetingsQueries(self.0)
        }

        /// The functions under `meetings/webrtc`.
        pub fn webrtc(&self) -> MeetingsWebrtc<'c> {
            MeetingsWebrtc(self.0)
        }

    }

    /// The functions under `meetings/admin`.
    #[derive(Clone, Copy, Debug)]
    pub struct MeetingsAdmin<'c>(pub(super) &'c Client);

    impl<'c> MeetingsAdmin<'c> {
        /// Makes a participant a host: for a meeting whose only host is gone.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller is no admin of the organization of the meeting's organizer and of the user.
        /// - `NOT_FOUND`: "User not found", "Participant not found in meeting"; for a deploy key also "Meeting not found".
        ///
        /// For a deploy key or an identity with the role `admin`.
        pub fn assign_host(&self, args: &AssignHost) -> Call<'c, ()> {
            self.0.call("meetings/admin/assignHost", Kind::Mutation, args)
        }

    }

    /// The functions under `meetings/lifecycle`.
    #[derive(Clone, Copy, Debug)]
    pub struct MeetingsLifecycle<'c>(pub(super) &'c Client);

    impl<'c> MeetingsLifecycle<'c> {
        /// Adds a user to a meeting, or invites an address.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller does not host it.
        /// - `INVALID_ARGUMENT`: neither or both of `userId` and `email`; an invitation as host.
        /// - `NOT_FOUND`: "User not found".
        /// - `CONFLICT`: "User is already a participant in this meeting".
        /// - `FAILED_PRECONDITION`: "Meeting is already concluded or cancelled"; the meeting has as many people as it may.
        pub fn add_participant(&self, args: &AddParticipant) -> Call<'c, ParticipantAdded> {
            self.0.call("meetings/lifecycle/addParticipant", Kind::Mutation, args)
        }

        /// Calls a scheduled meeting off.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller does not host it.
        /// - `FAILED_PRECONDITION`: "Cannot cancel active meeting - end it instead", "Meeting is already concluded or
        ///   cancelled".
        pub fn cancel_meeting(&self, args: &OneMeeting) -> Call<'c, Done> {
            self.0.call("meetings/lifecycle/cancelMeeting", Kind::Mutation, args)
        }

        /// Creates a meeting that the caller hosts, and invites people to it.
        ///
        /// # Errors
        /// - `INVALID_ARGUMENT`: "Meeting title cannot be empty", "Maximum participants must be at least 1", "Invalid
        ///   participant email: x" (`field` is `participantEmails[i]`).
        /// - `FAILED_PRECONDITION`: more invitations than one user may send a day, or one address may have.
        /// - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
        ///
        /// With an `idempotency_key` it is repeated when its answer is lost; without one it is sent once.
        pub fn create_meeting(&self, args: &CreateMeeting) -> Call<'c, MeetingCreated> {
            self.0.call("meetings/lifecycle/createMeeting", Kind::Mutation, args)
        }

        /// Ends an active meeting: everybody leaves, sessions close, open invitations go.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller does not host it.
        /// - `FAILED_PRECONDITION`: "Can only end active meetings".
        pub fn end_meeting(&self, args: &OneMeeting) -> Call<'c, MeetingEnded> {
            self.0.call("meetings/lifecycle/endMeeting", Kind::Mutation, args)
        }

        /// How the caller connects to a meeting.
        ///
        /// The media server's address, if the meeting has one, and servers that help clients find each other, with credentials
        /// that last an hour.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in it.
        /// - `PROVIDER_ERROR`: its media server is not configured any more.
        pub fn get_meeting_connection_info(&self, args: &OneMeeting) -> Call<'c, ConnectionInfo> {
            self.0.call("meetings/lifecycle/getMeetingConnectionInfo", Kind::Action, args)
        }

        /// Comes to an active meeting; a host who comes to a scheduled one starts it.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in it.
        /// - `FAILED_PRECONDITION`: "Meeting is not currently active", "Meeting is full".
        pub fn join_meeting(&self, args: &OneMeeting) -> Call<'c, MeetingJoined> {
            self.0.call("meetings/lifecycle/joinMeeting", Kind::Mutation, args)
        }

        /// Leaves a meeting: notes when, and closes the caller's sessions. He stays listed, and can come back while the meeting
        /// is active.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has no place in it.
        pub fn leave_meeting(&self, args: &OneMeeting) -> Call<'c, Done> {
            self.0.call("meetings/lifecycle/leaveMeeting", Kind::Mutation, args)
        }

        /// Removes a user from a meeting, who is a stranger to it at once, or takes an invitation back.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller does not host it.
        /// - `INVALID_ARGUMENT`: neither or both of `userId` and `email`.
        /// - `NOT_FOUND`: "Participant not found in meeting".
        /// - `FAILED_PRECONDITION`: "Cannot remove the only host".
        pub fn remove_participant(&self, args: &RemoveParticipant) -> Call<'c, ()> {
            self.0.call("meetings/lifecycle/removeParticipant", Kind::Mutation, args)
        }

        /// Begins a scheduled meeting.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller does not host it.
        /// - `FAILED_PRECONDITION`: "Meeting is already active", "Cannot start a concluded or cancelled meeting".
        pub fn start_meeting(&self, args: &OneMeeting) -> Call<'c, Done> {
            self.0.call("meetings/lifecycle/startMeeting", Kind::Mutation, args)
        }

        /// Changes what a meeting is called, when it is planned and what is allowed in it.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller does not host it.
        /// - `FAILED_PRECONDITION`: "Meeting is already concluded or cancelled"; fewer places than people who are in it; a time
        ///   for a meeting that has begun.
        pub fn update_meeting(&self, args: &UpdateMeeting) -> Call<'c, ()> {
            self.0.call("meetings/lifecycle/updateMeeting", Kind::Mutation, args)
        }

        /// Makes a participant a host, or a host a participant.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller does not host the meeting.
        /// - `NOT_FOUND`: "Participant not found in meeting".
        /// - `FAILED_PRECONDITION`: "Cannot demote the only host".
        pub fn update_participant_role(&self, args: &UpdateParticipantRole) -> Call<'c, ()> {
            self.0.call("meetings/lifecycle/updateParticipantRole", Kind::Mutation, args)
        }

    }

    /// The functions under `meetings/queries`.
    #[derive(Clone, Copy, Debug)]
    pub struct MeetingsQueries<'c>(pub(super) &'c Client);

    impl<'c> MeetingsQueries<'c> {
        /// A meeting, with what the caller is in it and how many sessions are open.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has no place in it.
        pub fn get_meeting(&self, args: &OneMeeting) -> Call<'c, OwnMeeting> {
            self.0.call("meetings/queries/getMeeting", Kind::Query, args)
        }

        /// Everybody who has a place in a meeting, in the order in which they were added.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has no place in it.
        pub fn list_meeting_participants(&self, args: &OneMeeting) -> Call<'c, Vec<ListedParticipant>> {
            self.0.call("meetings/queries/listMeetingParticipants", Kind::Query, args)
        }

        /// The meetings that the caller has a place in, newest first. With `state`, a page can have fewer items than asked for
        /// and still a cursor: the rows it passed over count as well.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn list_user_meetings(&self, args: &ListUserMeetings) -> Call<'c, PageOfOwnMeeting> {
            self.0.call("meetings/queries/listUserMeetings", Kind::Query, args)
        }

    }

    /// The functions under `meetings/webrtc`.
    #[derive(Clone, Copy, Debug)]
    pub struct MeetingsWebrtc<'c>(pub(super) &'c Client);

    impl<'c> MeetingsWebrtc<'c> {
        /// The functions under `meetings/webrtc/index`.
        pub fn index(&self) -> MeetingsWebrtcIndex<'c> {
            MeetingsWebrtcIndex(self.0)
        }

        /// The functions under `meetings/webrtc/rooms`.
        pub fn rooms(&self) -> MeetingsWebrtcRooms<'c> {
            MeetingsWebrtcRooms(self.0)
        }

        /// The functions under `meetings/webrtc/signaling`.
        pub fn signaling(&self) -> MeetingsWebrtcSignaling<'c> {
            MeetingsWebrtcSignaling(self.0)
        }

    }

    /// The functions under `meetings/webrtc/index`.
    #[derive(Clone, Copy, Debug)]
    pub struct MeetingsWebrtcIndex<'c>(pub(super) &'c Client);

    impl<'c> MeetingsWebrtcIndex<'c> {
        /// Notes where a connection is and how good. One that is connected means that its owner has joined. Returns the
        /// record's id. A host may close anybody's.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting; "Requires host role" to close somebody else's session.
        /// - `NOT_FOUND`: "Media session not found", where it is to end before it began.
        /// - `CONFLICT`: "Session ID is already in use" by somebody else.
        /// - `FAILED_PRECONDITION`: "Session is closed", "Meeting is not currently active", "Meeting is full", "Too many open
        ///   sessions".
        pub fn update_session_state(&self, args: &UpdateSessionState) -> Call<'c, SessionId> {
            self.0.call("meetings/webrtc/index/updateSessionState", Kind::Mutation, args)
        }

    }

    /// The functions under `meetings/webrtc/rooms`.
    #[derive(Clone, Copy, Debug)]
    pub struct MeetingsWebrtcRooms<'c>(pub(super) &'c Client);

    impl<'c> MeetingsWebrtcRooms<'c> {
        /// Lets the caller into the meeting's room.
        ///
        /// Makes or renews his session and mints a token for it, another one each time. A host's first request starts a
        /// scheduled meeting.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        /// - `FAILED_PRECONDITION`: "Cannot generate token for inactive meeting", "Meeting is full", "Too many open sessions".
        /// - `CONFLICT`: "Session ID is already in use" by somebody else.
        /// - `PROVIDER_ERROR`: the media server of the meeting is not configured any more.
        pub fn generate_participant_access_token(&self, args: &GenerateParticipantAccessToken) -> Call<'c, AccessGrant> {
            self.0.call("meetings/webrtc/rooms/generateParticipantAccessToken", Kind::Action, args)
        }

    }

    /// The functions under `meetings/webrtc/signaling`.
    #[derive(Clone, Copy, Debug)]
    pub struct MeetingsWebrtcSignaling<'c>(pub(super) &'c Client);

    impl<'c> MeetingsWebrtcSignaling<'c> {
        /// Removes signals for the caller that have arrived. Ids of others, and of signals that are gone, are passed over.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn acknowledge_signals(&self, args: &AcknowledgeSignals) -> Call<'c, SignalsAcknowledged> {
            self.0.call("meetings/webrtc/signaling/acknowledgeSignals", Kind::Mutation, args)
        }

        /// Ends a session of the caller's, in any state of the meeting.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        /// - `NOT_FOUND`: "Media session not found", also for somebody else's.
        pub fn close_session(&self, args: &OneSession) -> Call<'c, ()> {
            self.0.call("meetings/webrtc/signaling/closeSession", Kind::Mutation, args)
        }

        /// Starts a session, or a new attempt under the id of one that was closed or has failed. One that is open stays open.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        /// - `CONFLICT`: "Session ID is already in use" by somebody else.
        /// - `FAILED_PRECONDITION`: "Meeting is not currently active", "Meeting is full", "Too many open sessions".
        pub fn create_session(&self, args: &OneSession) -> Call<'c, SessionCreated> {
            self.0.call("meetings/webrtc/signaling/createSession", Kind::Mutation, args)
        }

        /// The open sessions of a meeting: connecting, connected or disconnected, oldest first.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has no place in it.
        pub fn get_active_sessions(&self, args: &OneMeeting) -> Call<'c, Vec<ListedSession>> {
            self.0.call("meetings/webrtc/signaling/getActiveSessions", Kind::Query, args)
        }

        /// The signals for the caller that he has not acknowledged, in the order in which they were sent. Fewer than asked for
        /// where they would not fit one answer.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has no place in the meeting.
        pub fn list_signals(&self, args: &ListSignals) -> Call<'c, Vec<ListedSignal>> {
            self.0.call("meetings/webrtc/signaling/listSignals", Kind::Query, args)
        }

        /// Sends a session description or candidate to another participant, or to all who have joined. It lies ready until it
        /// is acknowledged, a day at most.
        ///
        /// Somebody who takes no signals is left out of those for all, so that one dead client does not silence a meeting.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        /// - `NOT_FOUND`: "Media session not found"; "Participant not found in meeting".
        /// - `FAILED_PRECONDITION`: "Session is closed"; too many recipients; too many signals that the recipient has not
        ///   acknowledged.
        pub fn send_signal(&self, args: &SendSignal) -> Call<'c, SignalSent> {
            self.0.call("meetings/webrtc/signaling/sendSignal", Kind::Mutation, args)
        }

    }

    /// The functions under `monitoring`.
    #[derive(Clone, Copy, Debug)]
    pub struct Monitoring<'c>(pub(super) &'c Client);

    impl<'c> Monitoring<'c> {
        /// The functions under `monitoring/performanceQueries`.
        pub fn performance_queries(&self) -> MonitoringPerformanceQueries<'c> {
            MonitoringPerformanceQueries(self.0)
        }

    }

    /// The functions under `monitoring/performanceQueries`.
    #[derive(Clone, Copy, Debug)]
    pub struct MonitoringPerformanceQueries<'c>(pub(super) &'c Client);

    impl<'c> MonitoringPerformanceQueries<'c> {
        /// How often each function was called, how long it took and how often it failed.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn get_function_breakdown(&self, args: &GetFunctionBreakdown) -> Call<'c, FunctionBreakdown> {
            self.0.call("monitoring/performanceQueries/getFunctionBreakdown", Kind::Query, args)
        }

        /// How often a function was called, how long it took and how often it failed, over time.
        ///
        /// # Errors
        /// - `INVALID_ARGUMENT`: "Too many buckets (max 2000)".
        /// - `UNAUTHENTICATED`: nobody calls.
        pub fn get_performance_trends(&self, args: &GetPerformanceTrends) -> Call<'c, PerformanceTrends> {
            self.0.call("monitoring/performanceQueries/getPerformanceTrends", Kind::Query, args)
        }

        /// How the caller's subscriptions are doing: an admin sees those of his organization, a deploy key all.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn get_subscription_metrics(&self, args: &GetSubscriptionMetrics) -> Call<'c, SubscriptionMetrics> {
            self.0.call("monitoring/performanceQueries/getSubscriptionMetrics", Kind::Query, args)
        }

    }

    /// The functions under `notes`.
    #[derive(Clone, Copy, Debug)]
    pub struct Notes<'c>(pub(super) &'c Client);

    impl<'c> Notes<'c> {
        /// The functions under `notes/index`.
        pub fn index(&self) -> NotesIndex<'c> {
            NotesIndex(self.0)
        }

        /// The functions under `notes/offline`.
        pub fn offline(&self) -> NotesOffline<'c> {
            NotesOffline(self.0)
        }

        /// The functions under `notes/queries`.
        pub fn queries(&self) -> NotesQueries<'c> {
            NotesQueries(self.0)
        }

    }

    /// The functions under `notes/index`.
    #[derive(Clone, Copy, Debug)]
    pub struct NotesIndex<'c>(pub(super) &'c Client);

    impl<'c> NotesIndex<'c> {
        /// Applies one edit to a meeting's notes, moved past everything that was committed since the text it was made on.
        ///
        /// Positions and lengths count UTF-16 code units. Costs the same in a long document with a long log as in a new one:
        /// read are the entries since the base, written are one or two pieces of the text.
        ///
        /// # Errors
        /// - `FAILED_PRECONDITION`: the meeting is cancelled; "Document too large".
        /// - `CONFLICT`: the version is ahead, or behind and `strict`; the base lies too far behind; the id came with other
        ///   content before.
        /// - `INVALID_ARGUMENT`: the edit does not fit the text it was made on.
        pub fn apply_note_operation(&self, args: &ApplyNoteOperation) -> Call<'c, NoteOperationApplied> {
            self.0.call("notes/index/applyNoteOperation", Kind::Mutation, args)
        }

        /// Applies edits that were made one after the other: all of them, as one version, or none.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        /// - `INVALID_ARGUMENT`: an edit does not fit the text it was made on; `field` begins with `operations[i]`.
        /// - `CONFLICT`: the version is ahead; the base lies too far behind for so many operations; an id is known from
        ///   elsewhere than the same batch.
        /// - `FAILED_PRECONDITION`: "Meeting is cancelled"; "Document too large".
        pub fn batch_apply_note_operations(&self, args: &BatchApplyNoteOperations) -> Call<'c, NoteOperationsApplied> {
            self.0.call("notes/index/batchApplyNoteOperations", Kind::Mutation, args)
        }

        /// Makes the text what it was after an earlier entry of the log. The log only grows: what differs is deleted and
        /// inserted anew, as one version; nothing is appended if the texts are equal. Hosts only, and audited.
        ///
        /// # Errors
        /// - `FAILED_PRECONDITION`: the meeting is cancelled.
        /// - `INVALID_ARGUMENT`: there is no such entry.
        /// - `CONFLICT`: the entry lies too far behind.
        pub fn rollback_to_sequence(&self, args: &RollbackToSequence) -> Call<'c, NotesRolledBack> {
            self.0.call("notes/index/rollbackToSequence", Kind::Mutation, args)
        }

    }

    /// The functions under `notes/offline`.
    #[derive(Clone, Copy, Debug)]
    pub struct NotesOffline<'c>(pub(super) &'c Client);

    impl<'c> NotesOffline<'c> {
        /// Lets the content of synced operations go, 10,000 at most in one call. Their ids stay known for some time, so that a
        /// late repetition is not applied again.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        pub fn clear_synced_operations(&self, args: &ClearSyncedOperations) -> Call<'c, SyncedOperationsCleared> {
            self.0.call("notes/offline/clearSyncedOperations", Kind::Mutation, args)
        }

        /// How the offline queue of one of the caller's clients is.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        pub fn get_offline_queue_status(&self, args: &GetOfflineQueueStatus) -> Call<'c, OfflineQueueStatus> {
            self.0.call("notes/offline/getOfflineQueueStatus", Kind::Query, args)
        }

        /// Takes what a client did to notes while it was offline; a second later it is applied in the background.
        ///
        /// Operations that were queued before are passed over, so that a call may be repeated. All are checked before any is
        /// stored.
        ///
        /// # Errors
        /// - `INVALID_ARGUMENT`: "Too many operations (max 500)", "Invalid operation: …" (its id).
        /// - `CONFLICT`: an id came with other content before; the base is ahead of the notes, or too far behind.
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        /// - `FAILED_PRECONDITION`: "Meeting is cancelled".
        /// - `RATE_LIMITED`: too many calls by this caller, or too many of this client's operations are pending.
        pub fn queue_offline_operations(&self, args: &QueueOfflineOperations) -> Call<'c, OfflineOperationsQueued> {
            self.0.call("notes/offline/queueOfflineOperations", Kind::Mutation, args)
        }

        /// Makes the failed operations of one of the caller's clients pending again.
        ///
        /// They become a chain of its own on the notes as they are now; as many as the limit of pending operations leaves room
        /// for.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        pub fn retry_failed_operations(&self, args: &RetryFailedOperations) -> Call<'c, FailedOperationsRetried> {
            self.0.call("notes/offline/retryFailedOperations", Kind::Mutation, args)
        }

        /// Drains the queue of one of the caller's clients now, instead of in the background.
        ///
        /// Each 50 operations are one version of the notes; operations far behind the notes are fewer a call. Call it again
        /// while `remainingInQueue` is not 0.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        pub fn sync_offline_operations(&self, args: &SyncOfflineOperations) -> Call<'c, OfflineOperationsSynced> {
            self.0.call("notes/offline/syncOfflineOperations", Kind::Mutation, args)
        }

    }

    /// The functions under `notes/queries`.
    #[derive(Clone, Copy, Debug)]
    pub struct NotesQueries<'c>(pub(super) &'c Client);

    impl<'c> NotesQueries<'c> {
        /// The notes of a meeting as they are now: the text, and where its log ends.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        pub fn get_meeting_notes(&self, args: &GetMeetingNotes) -> Call<'c, MeetingNotes> {
            self.0.call("notes/queries/getMeetingNotes", Kind::Query, args)
        }

        /// The log of a meeting's notes from one entry on.
        ///
        /// `limit` entries, or as many as fit a page.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        pub fn list_note_operations(&self, args: &ListNoteOperations) -> Call<'c, NoteOperations> {
            self.0.call("notes/queries/listNoteOperations", Kind::Query, args)
        }

    }

    /// The functions under `profiles`.
    #[derive(Clone, Copy, Debug)]
    pub struct Profiles<'c>(pub(super) &'c Client);

    impl<'c> Profiles<'c> {
        /// The functions under `profiles/queries`.
        pub fn queries(&self) -> ProfilesQueries<'c> {
            ProfilesQueries(self.0)
        }

    }

    /// The functions under `profiles/queries`.
    #[derive(Clone, Copy, Debug)]
    pub struct ProfilesQueries<'c>(pub(super) &'c Client);

    impl<'c> ProfilesQueries<'c> {
        /// The caller's own profile with all its fields, or null before there is one.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn get_current_user_profile(&self) -> Call<'c, Option<ProfileRow>> {
            self.0.call("profiles/queries/getCurrentUserProfile", Kind::Query, &Map::new())
        }

        /// What others see of a user.
        ///
        /// For himself, people of his organization, of a meeting that both have joined, or of a match that neither declined.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has nothing to do with him, or there is no such user.
        pub fn get_public_profile(&self, args: &GetPublicProfile) -> Call<'c, PublicProfile> {
            self.0.call("profiles/queries/getPublicProfile", Kind::Query, args)
        }

    }

    /// The functions under `prompts`.
    #[derive(Clone, Copy, Debug)]
    pub struct Prompts<'c>(pub(super) &'c Client);

    impl<'c> Prompts<'c> {
        /// The functions under `prompts/generation`.
        pub fn generation(&self) -> PromptsGeneration<'c> {
            PromptsGeneration(self.0)
        }

        /// The functions under `prompts/mutations`.
        pub fn mutations(&self) -> PromptsMutations<'c> {
            PromptsMutations(self.0)
        }

        /// The functions under `prompts/queries`.
        pub fn queries(&self) -> PromptsQueries<'c> {
            PromptsQueries(self.0)
        }

    }

    /// The functions under `prompts/generation`.
    #[derive(Clone, Copy, Debug)]
    pub struct PromptsGeneration<'c>(pub(super) &'c Client);

    impl<'c> PromptsGeneration<'c> {
        /// Makes prompts for the caller. `generated` counts the new ones; `promptIds` are all that he has now, best first,
        /// without those that he dismissed.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        /// - `FAILED_PRECONDITION`: "Meeting is not currently active" (it is over or called off; or in-call prompts are wanted
        ///   and it has not begun).
        pub fn generate_prompts(&self, args: &GeneratePrompts) -> Call<'c, Kept> {
            self.0.call("prompts/generation/generatePrompts", Kind::Action, args)
        }

    }

    /// The functions under `prompts/mutations`.
    #[derive(Clone, Copy, Debug)]
    pub struct PromptsMutations<'c>(pub(super) &'c Client);

    impl<'c> PromptsMutations<'c> {
        /// Says what the caller did with a prompt; the last word counts.
        ///
        /// # Errors
        /// `NOT_FOUND`: the caller has no such prompt.
        pub fn record_prompt_feedback(&self, args: &RecordPromptFeedback) -> Call<'c, ()> {
            self.0.call("prompts/mutations/recordPromptFeedback", Kind::Mutation, args)
        }

    }

    /// The functions under `prompts/queries`.
    #[derive(Clone, Copy, Debug)]
    pub struct PromptsQueries<'c>(pub(super) &'c Client);

    impl<'c> PromptsQueries<'c> {
        /// The caller's prompts during a call, best first; dismissed ones are left out.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has no place in the meeting.
        pub fn get_in_call_prompts(&self, args: &GetPrompts) -> Call<'c, Vec<ShownPrompt>> {
            self.0.call("prompts/queries/getInCallPrompts", Kind::Query, args)
        }

        /// The caller's prompts before a call, best first; dismissed ones are left out.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has no place in the meeting.
        pub fn get_pre_call_prompts(&self, args: &GetPrompts) -> Call<'c, Vec<ShownPrompt>> {
            self.0.call("prompts/queries/getPreCallPrompts", Kind::Query, args)
        }

    }

    /// The functions under `realtime`.
    #[derive(Clone, Copy, Debug)]
    pub struct Realtime<'c>(pub(super) &'c Client);

    impl<'c> Realtime<'c> {
        /// The functions under `realtime/batchedOperations`.
        pub fn batched_operations(&self) -> RealtimeBatchedOperations<'c> {
            RealtimeBatchedOperations(self.0)
        }

        /// The functions under `realtime/subscriptions`.
        pub fn subscriptions(&self) -> RealtimeSubscriptions<'c> {
            RealtimeSubscriptions(self.0)
        }

    }

    /// The functions under `realtime/batchedOperations`.
    #[derive(Clone, Copy, Debug)]
    pub struct RealtimeBatchedOperations<'c>(pub(super) &'c Client);

    impl<'c> RealtimeBatchedOperations<'c> {
        /// The caller is there, or is gone. The latest state wins, however many are sent. A host who is there starts a
        /// scheduled meeting; anybody else waits in it.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting.
        /// - `FAILED_PRECONDITION`: "Meeting is not currently active" (joining one that is over or called off), "Meeting is
        ///   full".
        pub fn batch_update_presence(&self, args: &BatchUpdatePresence) -> Call<'c, PresenceQueued> {
            self.0.call("realtime/batchedOperations/batchUpdatePresence", Kind::Mutation, args)
        }

    }

    /// The functions under `realtime/subscriptions`.
    #[derive(Clone, Copy, Debug)]
    pub struct RealtimeSubscriptions<'c>(pub(super) &'c Client);

    impl<'c> RealtimeSubscriptions<'c> {
        /// Ends a subscription of the caller's. Any other id, also somebody else's, is passed over.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn terminate_subscription(&self, args: &TerminateSubscription) -> Call<'c, ()> {
            self.0.call("realtime/subscriptions/terminateSubscription", Kind::Mutation, args)
        }

        /// Confirms that the caller may go on following something. That he may not is an answer, not an error. Opens or renews
        /// his lease of the subscription, which ends ten minutes after the last confirmation.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn validate_subscription(&self, args: &ValidateSubscription) -> Call<'c, SubscriptionValidity> {
            self.0.call("realtime/subscriptions/validateSubscription", Kind::Query, args)
        }

    }

    /// The functions under `system`.
    #[derive(Clone, Copy, Debug)]
    pub struct System<'c>(pub(super) &'c Client);

    impl<'c> System<'c> {
        /// The functions under `system/audit`.
        pub fn audit(&self) -> SystemAudit<'c> {
            SystemAudit(self.0)
        }

    }

    /// The functions under `system/audit`.
    #[derive(Clone, Copy, Debug)]
    pub struct SystemAudit<'c>(pub(super) &'c Client);

    impl<'c> SystemAudit<'c> {
        /// The audit, oldest first: all of it for a deploy key, that of his own organization for an admin. A page can have
        /// fewer items than asked for and still a cursor: the entries it passed over count as well.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller is no admin.
        ///
        /// For a deploy key or an identity with the role `admin`.
        pub fn list_audit_entries(&self, args: &ListAuditEntries) -> Call<'c, PageOfListedEntry> {
            self.0.call("system/audit/listAuditEntries", Kind::Query, args)
        }

    }

    /// The functions under `transcripts`.
    #[derive(Clone, Copy, Debug)]
    pub struct Transcripts<'c>(pub(super) &'c Client);

    impl<'c> Transcripts<'c> {
        /// The functions under `transcripts/ingestion`.
        pub fn ingestion(&self) -> TranscriptsIngestion<'c> {
            TranscriptsIngestion(self.0)
        }

        /// The functions under `transcripts/queries`.
        pub fn queries(&self) -> TranscriptsQueries<'c> {
            TranscriptsQueries(self.0)
        }

    }

    /// The functions under `transcripts/ingestion`.
    #[derive(Clone, Copy, Debug)]
    pub struct TranscriptsIngestion<'c>(pub(super) &'c Client);

    impl<'c> TranscriptsIngestion<'c> {
        /// The figures of a meeting's transcript; zero and empty before anything was said.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has no place in the meeting.
        pub fn get_transcript_stats(&self, args: &GetTranscriptStats) -> Call<'c, TranscriptFigures> {
            self.0.call("transcripts/ingestion/getTranscriptStats", Kind::Query, args)
        }

        /// Adds a stretch of speech to the transcript of an active meeting.
        ///
        /// # Errors
        /// - `INVALID_ARGUMENT`: it ends before it begins; a deploy key that names no speaker.
        /// - `FORBIDDEN`: the caller has no place in the meeting, or names another speaker without hosting it.
        /// - `NOT_FOUND`: "Participant not found in meeting" for such a speaker; "Meeting not found" for a deploy key.
        /// - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
        /// - `FAILED_PRECONDITION`: "Meeting is not currently active", "Transcription is disabled for this meeting".
        ///
        /// With an `idempotency_key` it is repeated when its answer is lost; without one it is sent once.
        pub fn ingest_transcript_chunk(&self, args: &IngestTranscriptChunk) -> Call<'c, ChunkIngested> {
            self.0.call("transcripts/ingestion/ingestTranscriptChunk", Kind::Mutation, args)
        }

        /// Adds several stretches of speech to the transcript of an active meeting: all of them, or none.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller has no place in the meeting, or names another speaker without hosting it.
        /// - `NOT_FOUND`: "Participant not found in meeting" for such a speaker; "Meeting not found" for a deploy key.
        /// - `INVALID_ARGUMENT`: a chunk ends before it begins; a deploy key that names no speaker. `field` names the chunk.
        /// - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
        /// - `FAILED_PRECONDITION`: "Meeting is not currently active", "Transcription is disabled for this meeting".
        ///
        /// With an `idempotency_key` it is repeated when its answer is lost; without one it is sent once.
        pub fn ingest_transcript_chunks(&self, args: &IngestTranscriptChunks) -> Call<'c, ChunksIngested> {
            self.0.call("transcripts/ingestion/ingestTranscriptChunks", Kind::Mutation, args)
        }

    }

    /// The functions under `transcripts/queries`.
    #[derive(Clone, Copy, Debug)]
    pub struct TranscriptsQueries<'c>(pub(super) &'c Client);

    impl<'c> TranscriptsQueries<'c> {
        /// The transcript of a meeting from a place on.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller has no place in the meeting.
        pub fn list_transcript_chunks(&self, args: &ListTranscriptChunks) -> Call<'c, TranscriptChunks> {
            self.0.call("transcripts/queries/listTranscriptChunks", Kind::Query, args)
        }

    }

    /// The functions under `users`.
    #[derive(Clone, Copy, Debug)]
    pub struct Users<'c>(pub(super) &'c Client);

    impl<'c> Users<'c> {
        /// The functions under `users/mutations`.
        pub fn mutations(&self) -> UsersMutations<'c> {
            UsersMutations(self.0)
        }

        /// The functions under `users/queries`.
        pub fn queries(&self) -> UsersQueries<'c> {
            UsersQueries(self.0)
        }

    }

    /// The functions under `users/mutations`.
    #[derive(Clone, Copy, Debug)]
    pub struct UsersMutations<'c>(pub(super) &'c Client);

    impl<'c> UsersMutations<'c> {
        /// Closes an account: every further call of its user is refused, what he has open ends, what he made stays.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller is no admin of the user's organization. `NOT_FOUND`: there is no such user.
        ///
        /// For a deploy key or an identity with the role `admin`.
        pub fn deactivate_user(&self, args: &NamedUser) -> Call<'c, ()> {
            self.0.call("users/mutations/deactivateUser", Kind::Mutation, args)
        }

        /// Opens a closed account again.
        ///
        /// # Errors
        /// `FORBIDDEN`: the caller is no admin of the user's organization. `NOT_FOUND`: there is no such user.
        ///
        /// For a deploy key or an identity with the role `admin`.
        pub fn reactivate_user(&self, args: &NamedUser) -> Call<'c, ()> {
            self.0.call("users/mutations/reactivateUser", Kind::Mutation, args)
        }

        /// Stores the caller's profile, interests and the flag that he is through, all at once.
        ///
        /// Creates or updates his profile with these fields, makes his interests exactly those sent (unknown ones join the
        /// catalog), and marks the onboarding complete.
        ///
        /// # Errors
        /// - `FAILED_PRECONDITION`: the caller would have made more than 100 interests of his own.
        /// - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
        ///
        /// With an `idempotency_key` it is repeated when its answer is lost; without one it is sent once.
        pub fn save_onboarding(&self, args: &SaveOnboarding) -> Call<'c, OnboardingSaved> {
            self.0.call("users/mutations/saveOnboarding", Kind::Mutation, args)
        }

        /// Notes that the caller is here: sets his `lastSeenAt` to now. Clients call it every minute or so.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn update_last_seen(&self) -> Call<'c, ()> {
            self.0.call("users/mutations/updateLastSeen", Kind::Mutation, &Map::new())
        }

        /// Replaces all interests of a user.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller is neither the user nor an admin of his organization.
        /// - `INVALID_ARGUMENT`: "Invalid interests: x, y", and `invalid` lists those that the catalog does not have.
        pub fn update_user_interests(&self, args: &UpdateUserInterests) -> Call<'c, ()> {
            self.0.call("users/mutations/updateUserInterests", Kind::Mutation, args)
        }

        /// Changes the given fields of a profile; creates the profile if there is none. Returns the profile's id.
        ///
        /// # Errors
        /// - `FORBIDDEN`: the caller neither owns the profile nor is an admin of its owner's organization.
        /// - `INVALID_ARGUMENT`: "Display name cannot be empty", "Bio cannot exceed 1000 characters"; "Display name is required
        ///   for new profiles" if neither the arguments nor the claims have one.
        pub fn update_user_profile(&self, args: &UpdateUserProfile) -> Call<'c, ProfileId> {
            self.0.call("users/mutations/updateUserProfile", Kind::Mutation, args)
        }

    }

    /// The functions under `users/queries`.
    #[derive(Clone, Copy, Debug)]
    pub struct UsersQueries<'c>(pub(super) &'c Client);

    impl<'c> UsersQueries<'c> {
        /// The caller's own account, as his claims and his profile make it.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn get_current_user(&self) -> Call<'c, OwnAccount> {
            self.0.call("users/queries/getCurrentUser", Kind::Query, &Map::new())
        }

        /// How far the caller's onboarding is: what a client asks before it shows its first screen.
        ///
        /// # Errors
        /// `UNAUTHENTICATED`: nobody calls.
        pub fn get_onboarding_state(&self) -> Call<'c, OnboardingState> {
            self.0.call("users/queries/getOnboardingState", Kind::Query, &Map::new())
        }

    }
}
