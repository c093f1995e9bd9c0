//! The typed client of a server's functions, made by `bookshelf codegen rust`. Do not edit it: make it again.
//!
//! ```ignore
//! let client = convoke::Client::new("https://api.example.com").token(token);
//! let value = client.books().list().await?;
//! ```
//!
//! It needs `reqwest`, `serde` with `derive`, `serde_json` with
//! `float_roundtrip` (else the last place of some doubles changes) and `raw_value`, and `tokio` with `time`. What is safe to repeat is repeated when it may pass: queries, mutations (each
//! call carries a key of its own, by which the server does its work once), actions with an `idempotency_key`, and whatever
//! certainly did not run. Nothing else is ever sent twice. Members of results that this file does not know are passed over,
//! so that it outlives additions to the server.

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

    /// The same, with this time for a call in all, retries included; by default 30 s for queries and mutations and
    /// 11 minutes for actions.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// The same, repeating a call that is safe to repeat at most so often; by default three times.
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
        let idempotency_key = (kind == Kind::Mutation).then(random_id);
        let keyed = args.get("idempotencyKey").and_then(Value::as_str).is_some_and(|key| !key.is_empty());
        let body = serde_json::json!({ "args": args }).to_string();
        let (timeout, retries) = (self.timeout.unwrap_or(kind.timeout()), self.retries);
        let request_id = random_id();
        Call {
            client: self,
            path,
            kind,
            body,
            idempotency_key,
            keyed,
            timeout,
            retries,
            request_id,
            token: None,
            value: PhantomData,
        }
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
    /// A mutation's.
    idempotency_key: Option<String>,
    /// Whether the arguments have one.
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

    /// The same mutation, known to the server by this key when it is sent again: 1 … 255 visible characters of ASCII, at
    /// least 16 without an identity. Made up unless given; give one to repeat a mutation in another process. It does its
    /// work once a week. Queries and actions have none.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = (self.kind == Kind::Mutation).then(|| key.into());
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
            let safe = self.kind != Kind::Action || self.keyed || !told.may_have_run;
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
        if let Some(key) = &self.idempotency_key {
            request = request.header("idempotency-key", key);
        }
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
                    // A mutation's key makes asking again the way to find out what happened.
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
    /// Such as `book_01h455vb4pex5vsknk084sn02q`.
    BookId;
    /// Such as `loan_01h455vb4pex5vsknk084sn02q`.
    LoanId;
}

words! {
    /// What is to be done with a page.
    PageStatus {
        SplitRequired = "SplitRequired",
    }
}

/// What a migration takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Batch {
    /// Begin anew, if it has come to its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub again: Option<bool>,
    /// Rows of this call at most: 500 by default, 10,000 at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
}

/// What `add` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BooksAdd {
    /// A book's title, as it stands on the cover. 1 … 200 characters.
    pub title: String,
}

/// What `list` takes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BooksList {
    /// Where the last page ended; absent for the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
}

/// One book.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BooksRow {
    /// Milliseconds since the epoch.
    #[serde(rename = "_creationTime")]
    pub creation_time: i64,
    /// Id of a row of `books`.
    #[serde(rename = "_id")]
    pub id: BookId,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isbn: Option<String>,
    /// What stands on its back. Books from before this field existed have none until they are migrated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// Books from before this field existed read 0.
    pub times_borrowed: i64,
    /// A book's title, as it stands on the cover. 1 … 200 characters.
    pub title: String,
}

/// What `shelf` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BooksShelf {
    pub pagination_opts: PaginationOptsInput,
}

/// What `addByIsbn` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CatalogAddByIsbn {
    /// The number on the back of a book.
    pub isbn: String,
}

/// Where a page ended: opaque to clients, bound to its query.
pub type Cursor = String;

/// What `borrowBook` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoansBorrowBook {
    /// Id of a row of `books`.
    pub book: BookId,
    /// The same key, sent again because no answer came, borrows once and is answered the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

impl LoansBorrowBook {
    /// With what is required, and nothing else.
    pub fn new(book: BookId) -> Self {
        Self {
            book,
            idempotency_key: None,
        }
    }
}

/// What `giveBack` takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoansGiveBack {
    /// Id of a row of `loans`.
    pub loan: LoanId,
}

/// How far a migration has come.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Migrated {
    /// Rows it has looked at, in all its calls.
    pub done: i64,
    /// Whether it is through.
    pub finished: bool,
    /// Rows that there were when it began.
    pub total: i64,
}

/// No arguments: an empty object on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NoArgs {
}

/// A part of a list, and where the next part begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageOfBooksRow {
    /// What to send for the next part; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<Cursor>,
    /// The rows of this part.
    pub items: Vec<BooksRow>,
}

/// Which page of a list is asked for: the argument `paginationOpts` of a query that ends in `paginate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaginationOptsInput {
    /// Where it begins: the `continueCursor` of the page before; null for the first one.
    ///
    /// Where a page begins: behind a cursor, or, as null, at the beginning of the list.
    pub cursor: Option<Cursor>,
    /// Where it ends, which is then its last row whatever `numItems` says: a `continueCursor` or `splitCursor`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end_cursor: Option<Cursor>,
    /// What the client tells its lists apart by; it changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<f64>,
    /// Bytes of JSON that the page has at most, about.
    ///
    /// How many rows, or bytes, something has at most.
    ///
    /// 1 … 4294967295.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_bytes_read: Option<i64>,
    /// Rows that are read at most.
    ///
    /// How many rows, or bytes, something has at most.
    ///
    /// 1 … 4294967295.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximum_rows_read: Option<i64>,
    /// How many rows the page has when it is read first.
    ///
    /// How many rows, or bytes, something has at most.
    ///
    /// 1 … 4294967295.
    pub num_items: i64,
}

impl PaginationOptsInput {
    /// With what is required, and nothing else.
    pub fn new(cursor: Option<Cursor>, num_items: i64) -> Self {
        Self {
            cursor,
            end_cursor: None,
            id: None,
            maximum_bytes_read: None,
            maximum_rows_read: None,
            num_items,
        }
    }
}

/// A page of a list, as `paginate` reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PaginationResultOfBooksRow {
    /// Where the page ends, and the next one begins.
    pub continue_cursor: Cursor,
    /// Whether it is the last page.
    pub is_done: bool,
    /// The rows of this page.
    pub page: Vec<BooksRow>,
    /// What is to be done with the page, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_status: Option<PageStatus>,
    /// A place in the middle of the page, which has become long: it is better asked for as two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub split_cursor: Option<Cursor>,
}

impl Client {
    /// The functions under `books`.
    pub fn books(&self) -> modules::Books<'_> {
        modules::Books(self)
    }

    /// The functions under `catalog`.
    pub fn catalog(&self) -> modules::Catalog<'_> {
        modules::Catalog(self)
    }

    /// The functions under `loans`.
    pub fn loans(&self) -> modules::Loans<'_> {
        modules::Loans(self)
    }

    /// The functions under `migrations`.
    pub fn migrations(&self) -> modules::Migrations<'_> {
        modules::Migrations(self)
    }

    /// The functions under `upkeep`.
    pub fn upkeep(&self) -> modules::Upkeep<'_> {
        modules::Upkeep(self)
    }

}

/// The modules of functions, as [`Client`] opens them.
pub mod modules {
    use super::*;

    /// The functions under `books`.
    #[derive(Clone, Copy, Debug)]
    pub struct Books<'c>(pub(super) &'c Client);

    impl<'c> Books<'c> {
        /// Puts a book on the shelf.
        ///
        /// # Errors
        /// - `UNAUTHENTICATED`: nobody is signed in.
        pub fn add(&self, args: &BooksAdd) -> Call<'c, BookId> {
            self.0.call("books/add", Kind::Mutation, args)
        }

        /// The books by title, twenty a page. Everybody may look.
        pub fn list(&self, args: &BooksList) -> Call<'c, PageOfBooksRow> {
            self.0.call("books/list", Kind::Query, args)
        }

        /// The books by title, in parts that stay side by side.
        pub fn shelf(&self, args: &BooksShelf) -> Call<'c, PaginationResultOfBooksRow> {
            self.0.call("books/shelf", Kind::Query, args)
        }

    }

    /// The functions under `catalog`.
    #[derive(Clone, Copy, Debug)]
    pub struct Catalog<'c>(pub(super) &'c Client);

    impl<'c> Catalog<'c> {
        /// Looks a book up and puts it on the shelf.
        ///
        /// # Errors
        /// - `NOT_FOUND`: the catalog does not know it.
        /// - `PROVIDER_ERROR`, `TIMEOUT`: the catalog does not answer.
        pub fn add_by_isbn(&self, args: &CatalogAddByIsbn) -> Call<'c, BookId> {
            self.0.call("catalog/addByIsbn", Kind::Action, args)
        }

    }

    /// The functions under `loans`.
    #[derive(Clone, Copy, Debug)]
    pub struct Loans<'c>(pub(super) &'c Client);

    impl<'c> Loans<'c> {
        /// Borrows a book, and has its end remembered.
        ///
        /// # Errors
        /// - `NOT_FOUND`: there is no such book.
        /// - `CONFLICT`: somebody has it.
        /// - `FAILED_PRECONDITION`: the person has as many as they may.
        pub fn borrow_book(&self, args: &LoansBorrowBook) -> Call<'c, LoanId> {
            self.0.call("loans/borrowBook", Kind::Mutation, args)
        }

        /// Gives a book back.
        ///
        /// # Errors
        /// - `NOT_FOUND`: there is no such loan, or it is somebody else's.
        pub fn give_back(&self, args: &LoansGiveBack) -> Call<'c, ()> {
            self.0.call("loans/giveBack", Kind::Mutation, args)
        }

    }

    /// The functions under `migrations`.
    #[derive(Clone, Copy, Debug)]
    pub struct Migrations<'c>(pub(super) &'c Client);

    impl<'c> Migrations<'c> {
        /// Gives every book of the time before there were marks one.
        ///
        /// For a deploy key or an identity with the role `admin`.
        pub fn mark_books(&self, args: &Batch) -> Call<'c, Migrated> {
            self.0.call("migrations/markBooks", Kind::Mutation, args)
        }

    }

    /// The functions under `upkeep`.
    #[derive(Clone, Copy, Debug)]
    pub struct Upkeep<'c>(pub(super) &'c Client);

    impl<'c> Upkeep<'c> {
        /// How many books are out. For a deploy key, or `convoke run` beside the data folder.
        ///
        /// For a deploy key or an identity with the role `admin`.
        pub fn books_out(&self) -> Call<'c, i64> {
            self.0.call("upkeep/booksOut", Kind::Query, &Map::new())
        }

    }
}
