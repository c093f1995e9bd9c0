//! The address of the database: user, encryption, and the settings of each session.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::poll_fn;
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, CancelToken, Client, Config, Connection, NoTls, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::failure::Failure;
use super::primary::Primary;
use super::sql::{NAME_MAX, quoted};

/// Default schema of the tables.
const SCHEMA: &str = "convoke";
/// Timeout of a connection attempt to one server. A server that stands still accepts connections and never responds.
const CONNECT: Duration = Duration::from_secs(5);

/// Reason why an address is invalid.
#[derive(Debug, thiserror::Error)]
#[error("the address of the database must look like postgres://user@host:5432/database: {0}")]
pub struct AddressError(String);

/// The server of a database.
#[derive(Clone)]
pub(crate) struct Server {
    /// The whole address.
    config: Config,
    /// The same for each of its servers.
    servers: Vec<Config>,
    tls: Option<MakeRustlsConnect>,
    /// The schema of the tables.
    pub schema: String,
    /// Isolation of mutations.
    pub isolation: &'static str,
    /// Time limit of a statement outside of calls.
    pub patience: Duration,
    /// Idle time after which the server ends a transaction, so that a stopped node blocks no others.
    idle_ms: u128,
    /// What is known of its primary.
    pub primary: Arc<Primary>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {:?}", self.schema, self.config.get_hosts())
    }
}

impl Server {
    /// Parses an address in libpq's form, with the additional parameters `schema` and `sslrootcert`.
    pub(crate) fn at(url: &str, password: Option<&str>) -> Result<Self, AddressError> {
        let (base, query) = url.split_once('?').unwrap_or((url, ""));
        let (mut schema, mut roots, mut kept) = (SCHEMA.to_owned(), None, Vec::new());
        let (mut is_plain, mut is_verified) = (false, false);
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            match (&*name, &*value) {
                ("schema", value) => value.clone_into(&mut schema),
                ("sslrootcert", path) => roots = Some(path.to_owned()),
                ("sslmode", "disable") => is_plain = true,
                // Encryption always includes verification.
                ("sslmode", "require" | "verify-ca" | "verify-full") => is_verified = true,
                ("sslmode", other) => {
                    return Err(AddressError(format!("sslmode {other} is not known; say disable or verify-full")));
                }
                (name, value) => kept.push((name.to_owned(), value.to_owned())),
            }
        }
        if schema.is_empty() || schema.len() > NAME_MAX - 24 || schema.contains('\0') {
            return Err(AddressError(format!("the schema's name must have 1 to {} bytes", NAME_MAX - 24)));
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(kept).finish();
        let config = parsed(&format!("{base}?{query}"), password)?;
        is_plain |= !is_verified && roots.is_none() && config.get_hosts().iter().all(is_here);
        let tls = match is_plain {
            true => None,
            false => Some(MakeRustlsConnect::new(client_config(roots.as_deref())?)),
        };
        let servers = each_server(base).into_iter().map(|base| parsed(&format!("{base}?{query}"), password));
        let mut servers = servers.collect::<Result<Vec<_>, _>>()?;
        for server in &mut servers {
            server.ssl_mode(if is_plain { SslMode::Disable } else { SslMode::Require });
        }
        Ok(Self {
            config,
            servers,
            tls,
            schema,
            isolation: "SERIALIZABLE",
            patience: Duration::from_secs(60),
            idle_ms: 10_000,
            primary: Arc::default(),
        })
    }

    /// Returns the same database with another schema.
    pub(crate) fn with_schema(&self, schema: &str) -> Self {
        Self { schema: schema.to_owned(), ..self.clone() }
    }

    /// Returns the same with an insufficient isolation.
    pub(crate) fn with_snapshots_alone(&self) -> Self {
        Self { isolation: "REPEATABLE READ", ..self.clone() }
    }

    /// Returns the same for transactions with this time limit.
    pub(crate) fn with_idle(&self, idle: Duration) -> Self {
        Self { idle_ms: idle.as_millis(), ..self.clone() }
    }

    /// Connects. `hear` receives asynchronous messages of the server, and `None` at the end of the connection.
    ///
    /// # Errors
    /// [`Failure::Cut`], or errors of the server.
    pub(crate) async fn connect(
        &self,
        hear: impl FnMut(Option<AsyncMessage>) + Send + 'static,
    ) -> Result<Client, Failure> {
        match &self.tls {
            None => {
                let (client, connection) = self.dial(NoTls).await?;
                // It ends with its client; its failure reaches the next statement.
                tokio::spawn(drive(connection, hear));
                Ok(client)
            }
            Some(tls) => {
                let (client, connection) = self.dial(tls.clone()).await?;
                tokio::spawn(drive(connection, hear));
                Ok(client)
            }
        }
    }

    /// Connects to the first server of the address that accepts it. With `target_session_attrs=read-write` only the
    /// primary does, so all are asked at once: one that stands still delays none.
    async fn dial<T>(&self, tls: T) -> Result<(Client, Connection<Socket, T::Stream>), Failure>
    where
        T: MakeTlsConnect<Socket> + Clone,
    {
        let dial = |server: &Config| {
            let (server, tls) = (server.clone(), tls.clone());
            async move {
                match timeout(CONNECT, server.connect(tls)).await {
                    Ok(dialled) => dialled.map_err(|error| Failure::of(&error)),
                    Err(_) => Err(Failure::Cut("the server did not respond to the connection attempt".to_owned())),
                }
            }
        };
        let at_once = match self.config.get_target_session_attrs() {
            TargetSessionAttrs::Any => 1,
            _ => self.servers.len(),
        };
        let mut failed = None;
        let mut waiting = self.servers.iter();
        let mut dialling: FuturesUnordered<_> = waiting.by_ref().take(at_once).map(dial).collect();
        while let Some(dialled) = dialling.next().await {
            match dialled {
                Ok(dialled) => return Ok(dialled),
                // A server that rejects writes says more than one that does not respond.
                Err(failure) => {
                    if failed.is_none() || matches!(failure, Failure::NotWritable(_)) {
                        failed = Some(failure);
                    }
                }
            }
            dialling.extend(waiting.next().map(dial));
        }
        Err(failed.unwrap_or_else(|| Failure::Other("the address names no server".to_owned())))
    }

    /// Returns true if the address names several servers.
    pub(crate) fn has_several(&self) -> bool {
        self.servers.len() > 1
    }

    /// Cancels a statement on the server.
    pub(crate) async fn cancel(&self, token: CancelToken) -> Result<(), tokio_postgres::Error> {
        match &self.tls {
            None => token.cancel_query(NoTls).await,
            Some(tls) => token.cancel_query(tls.clone()).await,
        }
    }

    /// Settings of each session. They avoid table scans and sorts, also for small tables, because a table scan
    /// conflicts with every write to the table. Every statement has one plan, made once.
    pub(crate) fn settle(&self) -> String {
        format!(
            "SET search_path TO {}; SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off; \
             SET plan_cache_mode = force_generic_plan; SET jit = off; SET idle_in_transaction_session_timeout = {}; \
             SET client_min_messages = warning; \
             SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
            quoted(&self.schema),
            self.idle_ms
        )
    }

    /// Returns its location for users.
    pub(crate) fn hosts(&self) -> String {
        let (hosts, ports) = (self.config.get_hosts(), self.config.get_ports());
        let host = |(number, host): (usize, &Host)| {
            let port = ports.get(number).or(ports.first()).copied().unwrap_or(5432);
            match host {
                Host::Tcp(name) => format!("{name}:{port}"),
                Host::Unix(path) => format!("{} (port {port})", path.display()),
            }
        };
        hosts.iter().enumerate().map(host).collect::<Vec<_>>().join(", ")
    }
}

/// Parses an address without the parameters of this program.
fn parsed(url: &str, password: Option<&str>) -> Result<Config, AddressError> {
    let mut config: Config = url.parse().map_err(|error: tokio_postgres::Error| AddressError(error.to_string()))?;
    if config.get_password().is_some() {
        return Err(AddressError("it must not hold the password, which is a secret of its own".to_owned()));
    }
    if let Some(password) = password {
        config.password(password);
    }
    config.connect_timeout(CONNECT).tcp_user_timeout(Duration::from_secs(10)).keepalives_idle(Duration::from_secs(30));
    if config.get_application_name().is_none() {
        config.application_name("convoke");
    }
    Ok(config)
}

/// Returns the address of each server of an address without parameters: `scheme://user@host:port,host:port/database`.
fn each_server(base: &str) -> Vec<String> {
    let Some((scheme, rest)) = base.split_once("://") else { return vec![base.to_owned()] };
    let (authority, database) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, servers) = authority.split_at(authority.rfind('@').map_or(0, |at| at + 1));
    servers.split(',').map(|server| format!("{scheme}://{user}{server}{database}")).collect()
}

/// Drives a connection to its end.
async fn drive<S, T>(mut connection: Connection<S, T>, mut hear: impl FnMut(Option<AsyncMessage>))
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
        hear(Some(message));
    }
    hear(None);
}

fn is_here(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

/// Returns the roots to verify the server's certificate: these, or those of the system.
fn client_config(roots: Option<&str>) -> Result<ClientConfig, AddressError> {
    use rustls_pki_types::pem::PemObject as _;
    let mut store = RootCertStore::empty();
    match roots {
        Some(path) => {
            let failed = |error: &dyn fmt::Display| AddressError(format!("sslrootcert {path} cannot be read: {error}"));
            for certificate in rustls_pki_types::CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))? {
                let certificate = certificate.map_err(|error| failed(&error))?;
                store.add(certificate).map_err(|error| failed(&error))?;
            }
        }
        None => {
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    let provider = Arc::new(tokio_rustls::rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| AddressError(error.to_string()))?;
    Ok(config.with_root_certificates(store).with_no_client_auth())
}
