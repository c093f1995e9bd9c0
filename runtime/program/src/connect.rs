//! The connection of a command to its installation: a remote server, the server that runs on this data folder, or the
//! data folder itself. The same handlers serve all three, so commands do not need to distinguish them.

use std::fmt::Write as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::Method;
use hyper::header::HeaderValue;
use secrecy::{ExposeSecret as _, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;
use zeroize::Zeroizing;

use super::executor::executor;
use super::failure::Failure;
use super::local::{development_without_a_provider, lacks_database, require_folder};
use super::operator_log::OperatorLog;
use convoke_calls::call::envelope::LogLinesOn;
use convoke_calls::outbound::secret_file::open_to_others;
use convoke_calls::runtime::{Runtime, RuntimeOptions, StartError};
use convoke_http::{Body, CONTROL, Handler as _, operator_request};
use convoke_server::admin::Admin;
use convoke_server::auth::acting_as::{self, ActingAs};
use convoke_server::auth::{AuthConfig, Authenticator, Environment, development};
use convoke_server::config::{Config, Flags};
use convoke_server::gateway::{Gateway, USER_CREATED};
use convoke_store::{Engines, OpenError};

/// Variable with the deploy key for `--url`. There is no flag for it: other users can read command lines.
const DEPLOY_KEY: &str = "CONVOKE_DEPLOY_KEY";
/// Time that a server with a locked data folder may take to open its control socket.
const STARTING_MAX: Duration = Duration::from_secs(3);
/// Maximum bytes of a line in a stream.
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The installation of a command: a remote server, or a data folder on this machine, with or without a running server.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Which installation")]
pub(crate) struct ConnectArgs {
    /// Address of a remote server, e.g. https://api.example.com; its deploy key is read from CONVOKE_DEPLOY_KEY or
    /// --deploy-key-file
    #[arg(long, value_name = "URL", env = "CONVOKE_URL", hide_env_values = true)]
    pub(crate) url: Option<String>,
    /// File with the deploy key for --url; a warning is printed if other users can read it
    #[arg(long, value_name = "FILE", env = "CONVOKE_DEPLOY_KEY_FILE")]
    pub(crate) deploy_key_file: Option<PathBuf>,
    /// Folder of the database, keys and secrets; the command uses the server that runs on it, else it opens the folder
    /// [default: ./data]
    #[arg(long, value_name = "DIR", env = "CONVOKE_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// Address of the database, if it is not in the data folder
    #[arg(long, value_name = "URL", env = "CONVOKE_STORE")]
    pub(crate) store: Option<String>,
    /// Settings file [default: convoke.toml, if it exists]
    #[arg(long, value_name = "FILE", env = "CONVOKE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Deployment of the data folder, if no server runs on it [default: production]
    #[arg(long, value_name = "NAME", env = "CONVOKE_ENV")]
    pub(crate) env: Option<Environment>,
    /// Filter of the log that is written beside the command's own output [default: warn]
    #[arg(long, value_name = "FILTER", env = "CONVOKE_LOG")]
    pub(crate) log: Option<String>,
    /// Print to standard error which installation was reached
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// A connection to an installation.
pub(crate) struct Connection {
    transport: Transport,
    config: Config,
    executor: tokio::runtime::Runtime,
    _log: Option<OperatorLog>,
}

enum Transport {
    Remote { url: reqwest::Url, key: SecretString, client: reqwest::Client },
    Socket { path: PathBuf, client: reqwest::Client },
    InProcess { admin: Admin, gateway: Box<Gateway> },
}

impl ConnectArgs {
    /// Connects to the installation, and opens the data folder if no server runs on it.
    ///
    /// # Errors
    /// A remote server without a key; a data folder that cannot be opened.
    pub(crate) fn open(&self, engines: &Engines) -> Result<Connection, Failure> {
        let config = self.config()?;
        self.require_folder(&config)?;
        let log = self.install_log(&config)?;
        self.reach(engines, config, Some(log))
    }

    /// Like [`ConnectArgs::open`], in a process that connects several times and has installed its log.
    pub(crate) fn open_again(&self, engines: &Engines) -> Result<Connection, Failure> {
        let config = self.config()?;
        self.require_folder(&config)?;
        if self.url.is_none() && !config.data.is_dir() {
            let folder = config.data.display();
            return Err(Failure(format!("there is no data folder {folder} yet; `convoke dev` creates it and serves")));
        }
        self.reach(engines, config, None)
    }

    /// Installs the log of a command. The command prints a call's own lines; log lines of the runtime would mix with
    /// them.
    ///
    /// # Errors
    /// The filter of the log is invalid.
    pub(crate) fn install_log(&self, config: &Config) -> Result<OperatorLog, Failure> {
        OperatorLog::install(config, "warn,convoke::function=off")
    }

    /// Returns the settings of a named data folder that has no database yet, and that no server uses.
    ///
    /// # Errors
    /// As [`ConnectArgs::config`]; there is no such folder.
    pub(crate) fn without_database(&self, engines: &Engines) -> Result<Option<Config>, Failure> {
        if self.url.is_some() {
            return Ok(None);
        }
        let config = self.config()?;
        self.require_folder(&config)?;
        let lacks = lacks_database(&config, self.data.as_deref(), engines)?;
        Ok((lacks && UnixStream::connect(config.data.join(CONTROL)).is_err()).then_some(config))
    }

    /// Rejects a data folder that is named and does not exist.
    ///
    /// # Errors
    /// There is no such folder.
    pub(crate) fn require_folder(&self, config: &Config) -> Result<(), Failure> {
        if self.url.is_none() { require_folder(config, self.data.as_deref()) } else { Ok(()) }
    }

    fn reach(&self, engines: &Engines, config: Config, log: Option<OperatorLog>) -> Result<Connection, Failure> {
        let executor = executor()?;
        let transport = match &self.url {
            Some(url) => remote(url, self.deploy_key_file.as_ref())?,
            None => executor.block_on(local(&config, self.data.as_deref(), engines))?,
        };
        let connection = Connection { transport, config, executor, _log: log };
        if self.verbose {
            note!("convoke: {}", connection.how());
        }
        Ok(connection)
    }

    /// Returns the settings on this machine.
    ///
    /// # Errors
    /// The settings cannot be read, or are invalid.
    pub(crate) fn config(&self) -> Result<Config, Failure> {
        let flags = Flags {
            config: self.config.clone(),
            data: self.data.clone(),
            store: self.store.clone(),
            log: self.log.clone(),
            ..Flags::default()
        };
        let config = Config::resolve(&flags, self.env, Environment::Production)?;
        match development_without_a_provider(&config) {
            true => Ok(Config::resolve(&flags, self.env, Environment::Development)?),
            false => Ok(config),
        }
    }
}

/// Returns the part of a path that an operator named and that has a slash. No name and no id has one, and servers reject
/// the encoded slash with a message about proxies.
fn with_slash(path_and_query: &str) -> Option<String> {
    let path = path_and_query.split('?').next().unwrap_or_default();
    let part = path.split('/').find(|part| part.contains("%2F"))?;
    Some(percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned())
}

fn remote(url: &str, key_file: Option<&PathBuf>) -> Result<Transport, Failure> {
    let url: reqwest::Url = url
        .parse()
        .map_err(|_| Failure("--url is not the address of a server; write e.g. https://api.example.com".to_owned()))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(Failure("--url must begin with https:// (or http:// on this machine)".to_owned()));
    }
    // The environment keeps its own copy for the life of the process: it cannot be removed safely.
    let key = match key_file {
        Some(file) => {
            if let Ok(Some(advice)) = open_to_others(file) {
                note!("convoke: {advice}");
            }
            std::fs::read_to_string(file)
                .map_err(|error| Failure(format!("the deploy key cannot be read from {}: {error}", file.display())))?
        }
        None => std::env::var(DEPLOY_KEY).map_err(|_| {
            Failure(format!(
                "a server at --url needs a deploy key: set {DEPLOY_KEY}, or name a file with --deploy-key-file.\n\
                 To create a key, run `convoke deploy-key create NAME --scope SCOPE` on the server's machine"
            ))
        })?,
    };
    let key = Zeroizing::new(key);
    let is_here = match url.host_str() {
        Some("localhost") => true,
        Some(host) => host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        None => false,
    };
    if url.scheme() == "http" && !is_here {
        note!("convoke: the deploy key is sent unencrypted; use https if possible");
    }
    Ok(Transport::Remote { url, key: key.trim().into(), client: client().build()? })
}

/// Returns a client for the operator: it has no timeout, and sends a key only to the server that it was given for.
fn client() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")))
}

/// Connects to the running server of a data folder, or opens the folder. A server that locks it but does not listen yet
/// is starting.
async fn local(config: &Config, named: Option<&Path>, engines: &Engines) -> Result<Transport, Failure> {
    let path = config.data.join(CONTROL);
    let mut waited = Duration::ZERO;
    loop {
        if tokio::net::UnixStream::connect(&path).await.is_ok() {
            let client = client().unix_socket(path.as_path()).no_proxy().build()?;
            return Ok(Transport::Socket { path, client });
        }
        if lacks_database(config, named, engines)? {
            return Err(Failure(format!(
                "there is no database in {}: name the data folder of the server with --data. `convoke serve` and \
                 `convoke dev` create the database at their first start, and `convoke restore` and `convoke import` restore \
                 one",
                config.data.display()
            )));
        }
        let options = RuntimeOptions { requires_secrets: false, ..config.clone().into_options(engines)? };
        match Runtime::start(options) {
            Ok(runtime) => return in_process(config, runtime),
            Err(StartError::Store(OpenError::Locked { .. })) if waited < STARTING_MAX => {
                let pause = Duration::from_millis(50);
                tokio::time::sleep(pause).await;
                waited += pause;
            }
            Err(error @ StartError::Store(OpenError::Locked { .. })) => {
                let mut failure = Failure::from(error);
                let _ = write!(
                    failure.0,
                    ", and its control socket {} does not respond; connect with --url and a deploy key, or stop it",
                    path.display()
                );
                return Err(failure);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn in_process(config: &Config, runtime: Runtime) -> Result<Transport, Failure> {
    // No request carries a token here.
    let auth = AuthConfig { environment: config.environment, ..AuthConfig::default() };
    let authenticator = Authenticator::new(auth, runtime.clock().clone(), &config.limits, client().build()?)?;
    let admin = Admin::new(runtime, config.environment);
    let gateway = Box::new(Gateway::new(admin.clone(), authenticator, LogLinesOn::Always));
    Ok(Transport::InProcess { admin, gateway })
}

impl Connection {
    /// Describes the connection for people.
    pub(crate) fn how(&self) -> String {
        match &self.transport {
            Transport::Remote { url, .. } => format!("the server at {}", url.origin().ascii_serialization()),
            Transport::Socket { path, .. } => format!("the running server, by {}", path.display()),
            Transport::InProcess { .. } => {
                format!("the data folder {}, which no server serves", self.config.data.display())
            }
        }
    }

    /// Returns the settings on this machine. Those of a remote server are not known here.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the runtime, if this process has opened the data folder.
    pub(crate) fn in_process(&self) -> Option<&Runtime> {
        match &self.transport {
            Transport::InProcess { admin, .. } => Some(&admin.runtime),
            Transport::Remote { .. } | Transport::Socket { .. } => None,
        }
    }

    /// Ends the work that this process does for the command, if it has opened the data folder. No request can follow.
    pub(crate) fn abandon(&self) {
        if let Some(runtime) = self.in_process() {
            runtime.store().close();
        }
    }

    /// Adds the issuer to a user. A running server on this machine knows its default issuer.
    fn with_issuer(&self, user: &ActingAs) -> ActingAs {
        let own = match &self.transport {
            Transport::Socket { .. } => None,
            Transport::Remote { .. } | Transport::InProcess { .. } => {
                let provider = self.config.auth.providers.first();
                Some(provider.map_or_else(|| development::ISSUER.to_owned(), |provider| provider.issuer.clone()))
            }
        };
        ActingAs { issuer: user.issuer.clone().or(own), ..user.clone() }
    }

    /// Returns true for a server that is reached with a deploy key.
    pub(crate) fn is_remote(&self) -> bool {
        matches!(self.transport, Transport::Remote { .. })
    }

    /// Runs a future of the command.
    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        // The executor's code is compiled for each type of future. A box has one type.
        let work: Pin<Box<dyn Future<Output = T> + '_>> = Box::pin(work);
        self.executor.block_on(work)
    }

    /// As [`Connection::admin`], outside of a future.
    pub(crate) fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path_and_query: &str,
        body: Option<&Value>,
    ) -> Result<T, Failure> {
        self.block_on(self.admin(method, path_and_query, body))
    }

    /// Sends an admin request, whose path omits `/api/admin/`, and returns the value of the response.
    ///
    /// # Errors
    /// As [`Connection::request`]; the rejection, as `CODE: message`.
    pub(crate) async fn admin<T: DeserializeOwned>(
        &self,
        method: Method,
        path_and_query: &str,
        body: Option<&Value>,
    ) -> Result<T, Failure> {
        if let Some(name) = with_slash(path_and_query) {
            return Err(Failure(format!("{name:?} is not a name or an id: it has a slash")));
        }
        self.request(method, &format!("/api/admin/{path_and_query}"), body).await?.value().await
    }

    /// Sends a request and waits for the head of the response, with any status.
    ///
    /// # Errors
    /// There is no response.
    pub(crate) async fn request(
        &self,
        method: Method,
        path_and_query: &str,
        body: Option<&Value>,
    ) -> Result<Response, Failure> {
        self.request_as(method, path_and_query, body.map(|body| body.to_string().into()), None).await
    }

    /// As [`Connection::request`], with a body of JSON text, as a user.
    pub(crate) async fn request_as(
        &self,
        method: Method,
        path_and_query: &str,
        body: Option<Bytes>,
        user: Option<&ActingAs>,
    ) -> Result<Response, Failure> {
        let suffix = user.map(|user| acting_as::write(&self.with_issuer(user)));
        match &self.transport {
            Transport::Remote { url, key, client } => {
                let (colon, user) = suffix.as_deref().map_or(("", ""), |suffix| (":", suffix));
                let text = Zeroizing::new(["Convoke ", key.expose_secret(), colon, user].concat());
                let unfit = |_| Failure("the deploy key has invalid characters".to_owned());
                let mut credentials = HeaderValue::from_str(&text).map_err(unfit)?;
                credentials.set_sensitive(true);
                let base = url.as_str().trim_end_matches('/');
                let request = client.request(method, format!("{base}{path_and_query}"));
                sent(request.header("authorization", credentials), body).await
            }
            Transport::Socket { client, .. } => {
                let mut request = client.request(method, format!("http://localhost{path_and_query}"));
                if let Some(suffix) = suffix {
                    request = request.header("x-convoke-act-as", suffix);
                }
                sent(request, body).await
            }
            Transport::InProcess { admin, gateway } => {
                let act_as = suffix.map(|suffix| HeaderValue::from_str(&suffix)).transpose()?;
                let id = admin.runtime.request_id();
                let body = body.unwrap_or_default();
                let reply = match operator_request(gateway.routes(), method, path_and_query, act_as, id.clone(), body) {
                    Ok(incoming) => gateway.call(incoming).await,
                    Err(reply) => *reply,
                };
                Ok(Response {
                    status: reply.status,
                    has_created_user: reply.fields.iter().any(|(name, _)| *name == USER_CREATED),
                    content_type: reply.content_type.to_owned(),
                    request_id: id.to_string(),
                    source: Source::InProcess(reply.body),
                    held: BytesMut::new(),
                })
            }
        }
    }
}

async fn sent(request: reqwest::RequestBuilder, body: Option<Bytes>) -> Result<Response, Failure> {
    let request = match body {
        Some(body) => request.header("content-type", "application/json").body(body),
        None => request,
    };
    let response = request.send().await.map_err(|error| {
        let mut failure = Failure::from(error.without_url());
        failure.0.insert_str(0, "no response: ");
        failure
    })?;
    let text = |name: &str| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    Ok(Response {
        status: response.status().as_u16(),
        has_created_user: response.headers().contains_key(USER_CREATED),
        content_type: text("content-type"),
        request_id: text("x-request-id"),
        source: Source::Http(response),
        held: BytesMut::new(),
    })
}

/// Writes the last data of the data folder before the process ends.
impl Drop for Connection {
    fn drop(&mut self) {
        if let Transport::InProcess { admin, .. } = &self.transport {
            self.executor.block_on(admin.flush());
            admin.runtime.store().close();
        }
    }
}

/// A response with an unread body.
pub(crate) struct Response {
    /// The HTTP status.
    pub(crate) status: u16,
    /// True if the call created the user that it was made as.
    pub(crate) has_created_user: bool,
    /// The type of the body.
    pub(crate) content_type: String,
    /// Request id, as in the server's log.
    pub(crate) request_id: String,
    source: Source,
    /// Bytes that were read, but not returned yet.
    held: BytesMut,
}

enum Source {
    Http(reqwest::Response),
    InProcess(Body),
}

/// An envelope as received.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope {
    status: String,
    value: Option<Box<RawValue>>,
    #[serde(default)]
    error_message: String,
    #[serde(default)]
    error_data: Value,
    /// Log lines of the function.
    #[serde(default)]
    pub(crate) log_lines: Vec<String>,
}

impl Envelope {
    /// Returns the value's JSON, unchanged.
    ///
    /// # Errors
    /// The rejection, as `CODE: message`.
    pub(crate) fn into_value(self, request_id: &str) -> Result<Box<RawValue>, Failure> {
        if self.status == "success" {
            // A null is a value too, but serde reads it as `None`.
            return match self.value {
                Some(value) => Ok(value),
                None => Ok(RawValue::from_string("null".to_owned())?),
            };
        }
        let code = self.error_data["code"].as_str().unwrap_or("ERROR");
        let mut text = format!("{code}: {}", self.error_message);
        if let Some(field) = self.error_data["field"].as_str().filter(|field| !text.contains(field)) {
            let _ = write!(text, " ({field})");
        }
        if code == "INTERNAL" {
            let _ = write!(text, " (request id {request_id})");
        }
        Err(Failure(text))
    }
}

impl Response {
    /// Returns the next bytes of the body; none at its end.
    ///
    /// # Errors
    /// The body is incomplete.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Bytes>, Failure> {
        if !self.held.is_empty() {
            return Ok(Some(self.held.split().freeze()));
        }
        match &mut self.source {
            Source::Http(response) => match response.chunk().await {
                Ok(chunk) => Ok(chunk),
                Err(error) => Err(Failure::from(error.without_url())),
            },
            Source::InProcess(body) => Ok(body.next().await.transpose()?),
        }
    }

    /// Returns the next line of the body, without its line break and never blank; none at its end.
    ///
    /// # Errors
    /// The body is incomplete, or has a line without an end.
    pub(crate) async fn line(&mut self) -> Result<Option<String>, Failure> {
        let mut looked_at = 0;
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.held[looked_at..]) {
                let line = self.held.split_to(looked_at + end + 1);
                looked_at = 0;
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if !line.is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            looked_at = self.held.len();
            if looked_at > LINE_BYTES_MAX {
                return Err(Failure("a line of the response is too long".to_owned()));
            }
            let held = std::mem::take(&mut self.held);
            let next = self.chunk().await;
            self.held = held;
            match next? {
                Some(chunk) => self.held.extend_from_slice(&chunk),
                None => {
                    let line = String::from_utf8_lossy(&self.held.split()).trim().to_owned();
                    return Ok((!line.is_empty()).then_some(line));
                }
            }
        }
    }

    /// Returns the whole body.
    ///
    /// # Errors
    /// The body is incomplete.
    pub(crate) async fn bytes(&mut self) -> Result<Bytes, Failure> {
        let mut whole = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    }

    /// Returns the whole body as an envelope.
    ///
    /// # Errors
    /// The body is incomplete, or is not an envelope, for example because the address is not that of a server of
    /// functions.
    pub(crate) async fn envelope(&mut self) -> Result<Envelope, Failure> {
        let body = self.bytes().await?;
        serde_json::from_slice(&body).map_err(|_| {
            Failure(format!("the response ({}) is not from a Convoke server; check the address", self.status))
        })
    }

    /// Returns the value of a success.
    ///
    /// # Errors
    /// As [`Response::envelope`]; the rejection.
    pub(crate) async fn value<T: DeserializeOwned>(mut self) -> Result<T, Failure> {
        let value = self.envelope().await?.into_value(&self.request_id)?;
        Ok(serde_json::from_str(value.get())?)
    }

    /// Returns the response if it is a success, for bodies that are not envelopes.
    ///
    /// # Errors
    /// The rejection.
    pub(crate) async fn success(mut self) -> Result<Self, Failure> {
        // A rejection by a function is an envelope with this status too.
        if self.status == 200 && self.content_type != "application/json" {
            return Ok(self);
        }
        self.envelope().await?.into_value(&self.request_id)?;
        Err(Failure(format!("the response has the status {}", self.status)))
    }
}
