//! How a command reaches the installation it is about: a server elsewhere, the one that runs on this data folder, or
//! the data folder itself. The same handlers answer in all three cases, so commands need not know which it was.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use hyper::Method;
use hyper::header::HeaderValue;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Failure, Log, executor, install_log};
use crate::auth::{AuthConfig, Authenticator, Environment, acting_as};
use crate::call::envelope::LogLinesOn;
use crate::config::{Config, Flags};
use crate::gateway::Gateway;
use crate::http::{Body, CONTROL, Handler as _, operator_request};
use crate::runtime::{Runtime, StartError};
use crate::store::OpenError;

/// The deploy key for `--url`. Never a flag: command lines are everybody's to read.
const DEPLOY_KEY: &str = "CONVOKE_DEPLOY_KEY";
/// How long a server that holds the data folder may take to open its control socket.
const STARTING_MAX: Duration = Duration::from_secs(3);
/// The longest line of a stream.
#[allow(dead_code, reason = "streams are read by some programs' commands only")]
const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Which installation a command is about: that of a server elsewhere, or of a data folder on this machine, whether a
/// server runs on it or not.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Which installation")]
pub(crate) struct ReachArgs {
    /// Address of a server elsewhere, e.g. https://api.example.com; its deploy key is read from CONVOKE_DEPLOY_KEY or
    /// --deploy-key-file
    #[arg(long, value_name = "URL", env = "CONVOKE_URL", hide_env_values = true)]
    pub(crate) url: Option<String>,
    /// File with the deploy key for --url
    #[arg(long, value_name = "FILE", env = "CONVOKE_DEPLOY_KEY_FILE")]
    pub(crate) deploy_key_file: Option<PathBuf>,
    /// Folder of the database, keys and secrets; a server that runs on it is asked, else it is opened [default: ./data]
    #[arg(long, value_name = "DIR", env = "CONVOKE_DATA")]
    pub(crate) data: Option<PathBuf>,
    /// File of settings [default: convoke.toml, if it is there]
    #[arg(long, value_name = "FILE", env = "CONVOKE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Which deployment the data folder is, if no server runs on it [default: production]
    #[arg(long, value_name = "NAME", env = "CONVOKE_ENV")]
    pub(crate) env: Option<Environment>,
    /// What is logged beside the command's own output [default: warn]
    #[arg(long, value_name = "FILTER", env = "CONVOKE_LOG")]
    pub(crate) log: Option<String>,
    /// Say on standard error what was reached
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// An installation that was reached.
pub(crate) struct Reach {
    way: Way,
    config: Config,
    executor: tokio::runtime::Runtime,
    _log: Log,
}

enum Way {
    Remote { url: reqwest::Url, key: String, client: reqwest::Client },
    Socket { path: PathBuf, client: reqwest::Client },
    InProcess { runtime: Runtime, gateway: Box<Gateway> },
}

/// Whom a call is made as: issuer and subject.
pub(crate) struct ActAs {
    pub(crate) issuer: String,
    pub(crate) subject: String,
}

impl ReachArgs {
    /// Finds the installation, and opens the data folder if nobody serves it.
    ///
    /// # Errors
    /// What to change: no key for a server elsewhere, a data folder that cannot be opened.
    pub(crate) fn open(&self) -> Result<Reach, Failure> {
        let flags =
            Flags { config: self.config.clone(), data: self.data.clone(), log: self.log.clone(), ..Flags::default() };
        let config = Config::resolve(&flags, self.env, Environment::Production)?;
        // A call's own lines are printed by the command; those of the runtime would only stand between them.
        let log = install_log(&config, "warn,convoke::function=off")?;
        let executor = executor()?;
        let way = match &self.url {
            Some(url) => remote(url, self.deploy_key_file.as_ref())?,
            None => executor.block_on(local(&config))?,
        };
        let reach = Reach { way, config, executor, _log: log };
        if self.verbose {
            eprintln!("convoke: {}", reach.how());
        }
        Ok(reach)
    }
}

fn remote(url: &str, key_file: Option<&PathBuf>) -> Result<Way, Failure> {
    let url: reqwest::Url = url
        .parse()
        .map_err(|error| Failure(format!("--url cannot be read: {error}; write e.g. https://api.example.com")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(Failure("--url must begin with https:// (or http:// on this machine)".to_owned()));
    }
    let key = match (key_file, std::env::var(DEPLOY_KEY)) {
        (Some(file), _) => std::fs::read_to_string(file)
            .map_err(|error| Failure(format!("the deploy key cannot be read from {}: {error}", file.display())))?,
        (None, Ok(key)) => key,
        (None, Err(_)) => {
            return Err(Failure(format!(
                "a server at --url needs a deploy key: put it in {DEPLOY_KEY}, or in a file named by \
                 --deploy-key-file.\nOn the server's machine one is made by `convoke deploy-key create NAME`"
            )));
        }
    };
    let is_here = match url.host_str() {
        Some("localhost") => true,
        Some(host) => host.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback()),
        None => false,
    };
    if url.scheme() == "http" && !is_here {
        eprintln!("convoke: the deploy key goes over the network unencrypted; use https where you can");
    }
    Ok(Way::Remote { url, key: key.trim().to_owned(), client: client().build()? })
}

/// A client for the operator: it waits as long as an answer takes, and hands a key to nobody it was not given for.
fn client() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .redirect(reqwest::redirect::Policy::none())
        .user_agent(concat!("convoke/", env!("CARGO_PKG_VERSION")))
}

/// The running server of a data folder, or else the folder. A server that holds it but does not listen yet is starting.
async fn local(config: &Config) -> Result<Way, Failure> {
    let path = config.data.join(CONTROL);
    let mut waited = Duration::ZERO;
    loop {
        if tokio::net::UnixStream::connect(&path).await.is_ok() {
            let client = client().unix_socket(path.as_path()).no_proxy().build()?;
            return Ok(Way::Socket { path, client });
        }
        match Runtime::start(config.clone().into()) {
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
                    ", and its control socket {} does not answer; reach it with --url and a deploy key, or stop it",
                    path.display()
                );
                return Err(failure);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn in_process(config: &Config, runtime: Runtime) -> Result<Way, Failure> {
    // Nobody sends a token here.
    let auth = AuthConfig { environment: config.environment, ..AuthConfig::default() };
    let authenticator = Authenticator::new(auth, runtime.clock().clone(), &config.limits, client().build()?)?;
    let gateway = Box::new(Gateway::new(runtime.clone(), authenticator, LogLinesOn::Always));
    Ok(Way::InProcess { runtime, gateway })
}

impl Reach {
    /// What was reached, for people.
    pub(crate) fn how(&self) -> String {
        match &self.way {
            Way::Remote { url, .. } => format!("the server at {}", url.origin().ascii_serialization()),
            Way::Socket { path, .. } => format!("the running server, by {}", path.display()),
            Way::InProcess { .. } => format!("the data folder {}, which no server serves", self.config.data.display()),
        }
    }

    /// The settings on this machine. Those of a server elsewhere are its own.
    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    #[allow(dead_code, reason = "a command may want to know")]
    /// The runtime, if the data folder was opened by this process.
    pub(crate) fn in_process(&self) -> Option<&Runtime> {
        match &self.way {
            Way::InProcess { runtime, .. } => Some(runtime),
            Way::Remote { .. } | Way::Socket { .. } => None,
        }
    }

    /// Runs a command's work.
    pub(crate) fn block_on<F: Future>(&self, work: F) -> F::Output {
        self.executor.block_on(work)
    }

    /// An admin request without its `/api/admin/`, and the value that it is answered with.
    ///
    /// # Errors
    /// As [`Reach::request`]; the refusal, as `CODE: sentence`.
    pub(crate) async fn admin<T: DeserializeOwned>(
        &self,
        method: Method,
        path_and_query: &str,
        body: Option<&Value>,
    ) -> Result<T, Failure> {
        self.request(method, &format!("/api/admin/{path_and_query}"), body).await?.value().await
    }

    /// Sends a request and waits for the head of its answer, whatever its status is.
    ///
    /// # Errors
    /// No answer.
    pub(crate) async fn request(
        &self,
        method: Method,
        path_and_query: &str,
        body: Option<&Value>,
    ) -> Result<Response, Failure> {
        self.request_as(method, path_and_query, body.map(|body| body.to_string().into()), None).await
    }

    /// As [`Reach::request`], with a body of JSON text, as a user.
    ///
    /// # Errors
    /// As [`Reach::request`].
    pub(crate) async fn request_as(
        &self,
        method: Method,
        path_and_query: &str,
        body: Option<Bytes>,
        user: Option<&ActAs>,
    ) -> Result<Response, Failure> {
        let suffix = user.map(|user| acting_as::write(&user.issuer, &user.subject));
        match &self.way {
            Way::Remote { url, key, client } => {
                let text = match suffix {
                    None => format!("Convoke {key}"),
                    Some(suffix) => format!("Convoke {key}:{suffix}"),
                };
                let unfit = |_| Failure("the deploy key holds characters that no deploy key has".to_owned());
                let mut credentials = HeaderValue::from_str(&text).map_err(unfit)?;
                credentials.set_sensitive(true);
                let base = url.as_str().trim_end_matches('/');
                let request = client.request(method, format!("{base}{path_and_query}"));
                sent(request.header("authorization", credentials), body).await
            }
            Way::Socket { client, .. } => {
                let mut request = client.request(method, format!("http://localhost{path_and_query}"));
                if let Some(suffix) = suffix {
                    request = request.header("x-convoke-act-as", suffix);
                }
                sent(request, body).await
            }
            Way::InProcess { runtime, gateway } => {
                let act_as = suffix.map(|suffix| HeaderValue::from_str(&suffix)).transpose()?;
                let id = runtime.request_id();
                let body = body.unwrap_or_default();
                let reply = match operator_request(&method, path_and_query, act_as, id.clone(), body) {
                    Ok(incoming) => gateway.call(incoming).await,
                    Err(reply) => reply,
                };
                Ok(Response {
                    status: reply.status,
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
        failure.0.insert_str(0, "no answer: ");
        failure
    })?;
    let text = |name: &str| {
        let value = response.headers().get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    Ok(Response {
        status: response.status().as_u16(),
        content_type: text("content-type"),
        request_id: text("x-request-id"),
        source: Source::Http(response),
        held: BytesMut::new(),
    })
}

/// What the data folder's last words are: written before the process ends.
impl Drop for Reach {
    fn drop(&mut self) {
        if let Way::InProcess { runtime, .. } = &self.way {
            self.executor.block_on(runtime.settle_keys());
            runtime.store().close();
        }
    }
}

/// An answer whose body is still to be read.
pub(crate) struct Response {
    /// The HTTP status.
    pub(crate) status: u16,
    /// The type of the body.
    pub(crate) content_type: String,
    /// The id under which the server's log speaks of the request.
    pub(crate) request_id: String,
    source: Source,
    /// Read, and not handed out yet.
    held: BytesMut,
}

enum Source {
    Http(reqwest::Response),
    InProcess(Body),
}

/// An envelope, as it came.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Envelope {
    status: String,
    value: Option<Box<RawValue>>,
    #[serde(default)]
    error_message: String,
    #[serde(default)]
    error_data: Value,
    /// What the function logged.
    #[serde(default)]
    pub(crate) log_lines: Vec<String>,
}

impl Envelope {
    /// The value's JSON, to the letter.
    ///
    /// # Errors
    /// The refusal, as `CODE: sentence`.
    pub(crate) fn into_value(self, request_id: &str) -> Result<Box<RawValue>, Failure> {
        if self.status == "success" {
            // A null is a value too, and serde takes it for none.
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

#[allow(dead_code, reason = "streams are read by some programs' commands only")]
impl Response {
    /// The next bytes of the body; none at its end.
    ///
    /// # Errors
    /// A body that breaks off.
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

    /// The next line of the body, without its end and never blank; none at its end.
    ///
    /// # Errors
    /// A body that breaks off, or has a line without an end.
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
                return Err(Failure("a line of the answer is longer than any should be".to_owned()));
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

    /// The whole body.
    ///
    /// # Errors
    /// A body that breaks off.
    pub(crate) async fn bytes(&mut self) -> Result<Bytes, Failure> {
        let mut whole = BytesMut::new();
        while let Some(chunk) = self.chunk().await? {
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    }

    /// The whole body as an envelope.
    ///
    /// # Errors
    /// A body that breaks off or is no envelope, as that of something else than a server of functions.
    pub(crate) async fn envelope(&mut self) -> Result<Envelope, Failure> {
        let body = self.bytes().await?;
        serde_json::from_slice(&body).map_err(|_| {
            Failure(format!("the answer ({}) is not one of a Convoke server; is the address right?", self.status))
        })
    }

    /// The value of a success.
    ///
    /// # Errors
    /// As [`Response::envelope`]; the refusal.
    pub(crate) async fn value<T: DeserializeOwned>(mut self) -> Result<T, Failure> {
        let value = self.envelope().await?.into_value(&self.request_id)?;
        Ok(serde_json::from_str(value.get())?)
    }

    /// The answer itself if it is a success, for bodies that are no envelope.
    ///
    /// # Errors
    /// The refusal.
    pub(crate) async fn success(mut self) -> Result<Self, Failure> {
        // A refusal of the application's kind is an envelope with this status too.
        if self.status == 200 && self.content_type != "application/json" {
            return Ok(self);
        }
        self.envelope().await?.into_value(&self.request_id)?;
        Err(Failure(format!("the answer has the status {}", self.status)))
    }
}
