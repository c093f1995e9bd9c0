/// The functions of a server. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    url: String,
    http: reqwest::Client,
    credentials: Credentials,
    timeout: Option<Duration>,
    retries: u32,
}

/// The credentials of a client's calls.
#[derive(Clone)]
enum Credentials {
    Anonymous,
    Token(String),
    Provider(Arc<dyn TokenProvider>),
    DeployKey(String),
}

/// A boxed future.
type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The error of a token provider.
pub type TokenError = Box<dyn std::error::Error + Send + Sync>;

/// The source of tokens. [`Client::token_provider`] accepts a closure.
pub trait TokenProvider: Send + Sync {
    /// Returns the token of the next call; `None` for a call without credentials. `rejected` is the token that the
    /// server has just rejected, if any: if the result is a different token, the call is sent once more.
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
        // Tokens and keys must not reach logs.
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

impl Client {
    /// Creates a client of the server at `url` (`https://api.example.com`), whose calls have no credentials.
    pub fn new(url: impl Into<String>) -> Self {
        let url = url.into().trim_end_matches('/').to_owned();
        Self { url, http: reqwest::Client::new(), credentials: Credentials::Anonymous, timeout: None, retries: 3 }
    }

    /// Sends calls with this token (a JWT).
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.credentials = Credentials::Token(token.into());
        self
    }

    /// Sets a function that returns the token of each call. It is called again with the token if the server rejects it:
    /// `client.token_provider(|_rejected| async { Ok(Some(fetch_token().await?)) })`.
    #[must_use]
    pub fn token_provider<F, Fut>(mut self, provider: F) -> Self
    where
        F: Fn(Option<String>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = std::result::Result<Option<String>, TokenError>> + Send + 'static,
    {
        self.credentials = Credentials::Provider(Arc::new(FromClosure(provider)));
        self
    }

    /// Sends calls with a deploy key.
    #[must_use]
    pub fn deploy_key(mut self, key: impl Into<String>) -> Self {
        self.credentials = Credentials::DeployKey(key.into());
        self
    }

    /// Sets the timeout of a call, including retries. The default is 30 s for queries and mutations, and 11 minutes for
    /// actions.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Sets the largest number of retries of a call that is safe to retry. The default is 3.
    #[must_use]
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Uses a custom HTTP client, with its proxy, certificates and connection pool.
    #[must_use]
    pub fn http(mut self, http: reqwest::Client) -> Self {
        self.http = http;
        self
    }

    fn call<T>(&self, path: &'static str, kind: Kind, args: &impl Serialize) -> Call<'_, T> {
        // Serialization cannot fail: maps in generated types have text keys.
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

/// The kind of a function.
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

/// A call that is sent when it is awaited. A drop of the future ends the wait; a mutation or action that was sent may
/// still run.
#[must_use = "a call is sent when it is awaited"]
pub struct Call<'c, T> {
    client: &'c Client,
    path: &'static str,
    kind: Kind,
    body: String,
    /// The key of a mutation.
    idempotency_key: Option<String>,
    /// True if the arguments have a key.
    keyed: bool,
    timeout: Duration,
    retries: u32,
    request_id: String,
    token: Option<String>,
    value: PhantomData<fn() -> T>,
}

/// The result of a function, with the properties of the call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply<T> {
    /// The value that the function returned.
    pub value: T,
    /// The id of the call in the server's log.
    pub request_id: String,
    /// The log lines of the function, if the server sends them.
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
    /// Sets the timeout of this call, including retries.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Sets the largest number of retries of this call.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Sets the id of this call in the server's log: 1 to 64 of `A-Za-z0-9._-`.
    pub fn request_id(mut self, request_id: impl Into<String>) -> Self {
        self.request_id = request_id.into();
        self
    }

    /// Sets the key of this mutation: 1 to 255 visible ASCII characters, at least 16 without an identity. The server
    /// runs mutations with the same key only once within a week. By default the key is random; set one to retry a
    /// mutation from another process. Ignored for queries and actions.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = (self.kind == Kind::Mutation).then(|| key.into());
        self
    }

    /// Sends this call with this token, for programs that call for many users.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// Sends the call and returns the value with the properties of the call.
    ///
    /// # Errors
    /// The reason for which the call failed.
    pub async fn reply(self) -> Result<Reply<T>> {
        let mut state = Progress::default();
        match tokio::time::timeout(self.timeout, self.attempts(&mut state)).await {
            Ok(done) => done,
            Err(_) => {
                let may_have_run = state.may_have_run || state.sent && self.kind != Kind::Query;
                let failure = Attempt { may_have_run, ..Attempt::new(Code::ClientTimeout, "The call took longer than its timeout") };
                Err(self.failed(failure, &state))
            }
        }
    }

    async fn attempts(&self, state: &mut Progress) -> Result<Reply<T>> {
        let ends = tokio::time::Instant::now() + self.timeout;
        let mut credentials = self.credentials(None).await.map_err(|failure| self.failed(failure, state))?;
        let mut rejected: Option<String> = None;
        loop {
            state.attempts += 1;
            state.sent = true;
            let failure = match self.attempt(credentials.as_ref()).await {
                Ok(reply) => return Ok(reply),
                Err(failure) => failure,
            };
            state.sent = false;
            state.may_have_run |= failure.may_have_run;
            if failure.code == Code::InvalidCredentials && rejected.is_none() && self.asks_for_tokens() {
                // The function did not run. With a different token, the call is sent once more.
                rejected = credentials.take().map(|(_, token)| token);
                credentials = self.credentials(rejected.as_deref()).await.map_err(|failure| self.failed(failure, state))?;
                match &credentials {
                    Some((_, token)) if rejected.as_ref() != Some(token) => continue,
                    Some(_) | None => return Err(self.failed(failure, state)),
                }
            }
            let safe = self.kind != Kind::Action || self.keyed || !failure.may_have_run;
            let pause = failure.wait.unwrap_or_default() + backoff(state.attempts);
            let in_time = tokio::time::Instant::now() + pause < ends;
            if !safe || !failure.is_retryable || state.attempts > self.retries || !in_time {
                return Err(self.failed(failure, state));
            }
            tokio::time::sleep(pause).await;
        }
    }

    fn asks_for_tokens(&self) -> bool {
        self.token.is_none() && matches!(self.client.credentials, Credentials::Provider(_))
    }

    /// Returns the scheme and the secret of the `Authorization` field.
    async fn credentials(&self, rejected: Option<&str>) -> std::result::Result<Option<(&'static str, String)>, Attempt> {
        if let Some(token) = &self.token {
            return Ok(Some(("Bearer", token.clone())));
        }
        match &self.client.credentials {
            Credentials::Anonymous => Ok(None),
            Credentials::Token(token) => Ok(Some(("Bearer", token.clone()))),
            Credentials::DeployKey(key) => Ok(Some(("Convoke", key.clone()))),
            Credentials::Provider(provider) => match provider.token(rejected).await {
                Ok(token) => Ok(token.map(|token| ("Bearer", token))),
                Err(cause) => {
                    let message = format!("The token provider failed: {cause}");
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
            let failure = Attempt::new(Code::ConnectionFailed, format!("The server cannot be reached: {}", root(&error)));
            Attempt { may_have_run, is_retryable: !error.is_builder(), source: Some(Box::new(error)), ..failure }
        };
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status().as_u16();
        let header = |name: &str| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let request_id = header("x-request-id");
        let wait = header("retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let body = response.bytes().await.map_err(unreachable)?;
        self.read(status, &body, request_id.clone()).map_err(|failure| {
            // A function with a rate limit returns the time of the next allowed call.
            let asked = failure.data.get("retryAfterMs").and_then(Value::as_u64).map(Duration::from_millis);
            Attempt { status: Some(status), request_id, wait: asked.or(wait), ..failure }
        })
    }

    fn read(&self, status: u16, body: &[u8], request_id: Option<String>) -> std::result::Result<Reply<T>, Attempt> {
        let changes = self.kind != Kind::Query;
        let unreadable = |what: String| {
            let is_retryable = status == 429 || (502..=504).contains(&status);
            Attempt { may_have_run: changes, is_retryable, ..Attempt::new(Code::InvalidResponse, what) }
        };
        let envelope: Envelope<'_> = serde_json::from_slice(body).map_err(|_| {
            let shown: String = String::from_utf8_lossy(body).chars().take(200).collect();
            unreadable(format!("Status {status} with a body that is not the response of a function: {shown}"))
        })?;
        match (envelope.status, envelope.value) {
            ("success", Some(value)) => {
                let value = serde_json::from_str(value.get())
                    .map_err(|error| unreadable(format!("The result does not have the type that this client expects: {error}")))?;
                let request_id = request_id.unwrap_or_else(|| self.request_id.clone());
                Ok(Reply { value, request_id, log_lines: envelope.log_lines })
            }
            ("error", _) => {
                let name = envelope.error_data.get("code").and_then(Value::as_str).unwrap_or_default();
                let code = Code::named(name);
                let rejected_before = (400..500).contains(&status) || status == 503;
                let unknown = code == Code::CommitUnknown;
                // A failed mutation is rolled back; an action may have run partly.
                let may_have_run = changes && (unknown || self.kind == Kind::Action && !rejected_before);
                Err(Attempt {
                    data: envelope.error_data,
                    log_lines: envelope.log_lines,
                    may_have_run,
                    // A retry with the same key returns the result if the mutation was committed.
                    is_retryable: code.retryable() || unknown,
                    ..Attempt::new(code, envelope.error_message)
                })
            }
            _ => Err(unreadable(format!("Status {status} with a response that is neither a success nor an error"))),
        }
    }

    fn failed(&self, failure: Attempt, state: &Progress) -> Error {
        Error(Box::new(Inner {
            path: self.path,
            request_id: failure.request_id.clone().unwrap_or_else(|| self.request_id.clone()),
            attempts: state.attempts,
            may_have_run: failure.may_have_run || state.may_have_run,
            failure,
        }))
    }
}

/// The progress of a call.
#[derive(Default)]
struct Progress {
    attempts: u32,
    may_have_run: bool,
    /// True while an attempt is in progress.
    sent: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a> {
    status: &'a str,
    #[serde(borrow, default, deserialize_with = "present")]
    value: Option<&'a RawValue>,
    #[serde(default)]
    error_message: String,
    #[serde(default)]
    error_data: Map<String, Value>,
    #[serde(default)]
    log_lines: Vec<String>,
}

/// Deserializes a present value, which may be null.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// A failed attempt.
#[derive(Debug)]
struct Attempt {
    code: Code,
    message: String,
    data: Map<String, Value>,
    status: Option<u16>,
    request_id: Option<String>,
    log_lines: Vec<String>,
    may_have_run: bool,
    /// True if a retry can succeed.
    is_retryable: bool,
    /// The time to wait that the server asked for.
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
            is_retryable: false,
            wait: None,
            source: None,
        }
    }
}

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The error of a call. Use `match` on its [`Error::code`].
pub struct Error(Box<Inner>);

struct Inner {
    failure: Attempt,
    path: &'static str,
    request_id: String,
    attempts: u32,
    may_have_run: bool,
}

impl Error {
    /// The code, to match on.
    pub fn code(&self) -> Code {
        self.0.failure.code
    }

    /// The message of the server.
    pub fn message(&self) -> &str {
        &self.0.failure.message
    }

    /// The data of the code.
    pub fn data(&self) -> &Map<String, Value> {
        &self.0.failure.data
    }

    /// The path of the argument of an `INVALID_ARGUMENT`, such as `interests[2].category`.
    pub fn field(&self) -> Option<&str> {
        self.data().get("field").and_then(Value::as_str)
    }

    /// The HTTP status, if there was a response.
    pub fn status(&self) -> Option<u16> {
        self.0.failure.status
    }

    /// True if the call may have changed data; false if it certainly has not.
    pub fn may_have_run(&self) -> bool {
        self.0.may_have_run
    }

    /// The function's path.
    pub fn path(&self) -> &'static str {
        self.0.path
    }

    /// The id of the call in the server's log.
    pub fn request_id(&self) -> &str {
        &self.0.request_id
    }

    /// The log lines of the function, also if its writes were rolled back.
    pub fn log_lines(&self) -> &[String] {
        &self.0.failure.log_lines
    }

    /// The number of times that the call was sent.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.0.path, self.0.failure.message)
    }
}

impl std::fmt::Debug for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} [{}, request {}]", self, self.code().as_str(), self.request_id())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.failure.source.as_deref().map(|source| source as _)
    }
}

/// The root cause of an error.
fn root(error: &dyn std::error::Error) -> &dyn std::error::Error {
    error.source().map_or(error, root)
}

/// The pause before the next attempt. It doubles with each attempt up to five seconds, and half of it is random, so
/// that clients do not synchronize.
fn backoff(attempts: u32) -> Duration {
    let full_ms = (100u64 << attempts.saturating_sub(1).min(6)).min(5_000);
    Duration::from_millis(full_ms / 2 + random() % (full_ms / 2 + 1))
}

/// A random number that is unique enough for ids, but not secret.
fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn random_id() -> String {
    format!("{:016x}{:016x}", random(), random())
}

/// Defines id types, so that the id of another table does not compile.
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

/// Defines enums of texts, with a variant for the unknown texts of newer servers.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident = $text:literal,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(from = "String", into = "String")]
        pub enum $name {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
            /// A text that this client does not know.
            Unrecognized(String),
        }

        impl $name {
            /// The text on the wire.
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
