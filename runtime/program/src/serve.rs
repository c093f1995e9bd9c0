//! `serve`: the runtime in production.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::executor::executor;
use super::failure::Failure;
use super::follow;
use super::operator_log::OperatorLog;
use super::sockets;
use super::supervisor;
use convoke_calls::migration;
use convoke_calls::outbound::StoreKey;
use convoke_calls::runtime::{Runtime, RuntimeOptions, StartError};
use convoke_copies::CopySettings;
use convoke_core::clock::SystemClock;
use convoke_core::counted::counted;
use convoke_http::{CONTROL, HttpOptions, Listening, Server};
use convoke_server::admin::Admin;
use convoke_server::auth::development::DevelopmentIssuer;
use convoke_server::auth::key_source::http_client;
use convoke_server::auth::{Authenticator, Environment};
use convoke_server::config::{self, Config, EnvironmentFlag, Flags};
use convoke_server::copies::Copies;
use convoke_server::doctor::machine;
use convoke_server::following::Following;
use convoke_server::gateway::Gateway;
use convoke_server::opening::Opening;
use convoke_server::settings::describe::describe;
use convoke_server::settings::effective::rows;
use convoke_server::settings::in_force::{self, SettingInForce};
use convoke_server::site::Site;
use convoke_store::{Engines, OnOpening, OpenError, Stuck, private_folder};

/// Timeout for connections from the time before the database was open.
const OPENING_DRAIN: Duration = Duration::from_secs(1);

/// Longest drain of a follower.
const PROMOTION_DRAIN: Duration = Duration::from_secs(2);

/// Serve the functions of this program over HTTP
///
/// Does not start in production without an identity provider. Prints `convoke: listening on http://ADDR` to standard
/// error when it is ready. On SIGTERM, it lets open calls end, and exits with 0.
#[derive(clap::Args)]
#[command(after_long_help = convoke_server::config::file_help())]
pub(super) struct Serve {
    #[command(flatten)]
    environment: EnvironmentFlag,
    #[command(flatten)]
    flags: Flags,
    /// Follow the copies of another server ([copy] in its convoke.toml): dir:/path or s3://bucket/prefix. The server
    /// restores them at its first start, which needs an empty data folder, applies each change within a second, and
    /// answers queries only, until `convoke promote`
    #[arg(long, value_name = "URL", env = "CONVOKE_FOLLOW")]
    follow: Option<String>,
    /// Serve on the sockets of standard input, after a promotion
    #[arg(long, hide = true)]
    promoted: bool,
}

impl Serve {
    /// Runs the command. `matches` are those of this command: they show which values come from the environment.
    pub(super) fn run(self, engines: &Engines, matches: Option<&clap::ArgMatches>) -> Result<(), Failure> {
        use_small_pages();
        let mut config = Config::resolve(&self.flags, self.environment.env, Environment::Production)?;
        let log = OperatorLog::install(&config, "info")?;
        if config.environment == Environment::Development && config.auth.providers.is_empty() {
            let issuer = open_issuer(&config)?;
            config.auth.providers.push(issuer.provider());
        }
        config.require_provider()?;
        // Before the database is created.
        if let Some(problem) = CopySettings::of(&config.sections).problems().into_iter().next() {
            return Err(Failure(problem));
        }
        if self.follow.is_none() {
            require_no_lost_database(&config, engines)?;
        }
        let settings = in_force(&self.flags, matches, &[])?;
        let sockets = self.promoted.then(sockets::receive).transpose();
        let sockets = sockets.map_err(Failure::of_system("the sockets of the promoted server cannot be received"))?;
        let sockets = sockets.map(|(_, listening)| listening.alone());
        let (server, _) = Serving::start(config, settings, engines, &log, sockets, self.follow.as_deref())?;
        server.announce();
        server.run(Hangup::Stays)
    }
}

/// Rejects a data folder that has traces of a database and no database. An empty one would hide the loss.
fn require_no_lost_database(config: &Config, engines: &Engines) -> Result<(), Failure> {
    let files = config.engine(engines)?.files(&config.data);
    if config.store.is_some() || files.bytes() > 0 || files.is_half_replaced {
        return Ok(());
    }
    machine::lost_database(&config.data).map_or(Ok(()), |(says, advice)| Err(Failure(format!("{says}; {advice}"))))
}

/// The meaning of SIGHUP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hangup {
    /// The terminal is gone, and with it the program that started this process.
    Ends,
    /// A service has no terminal. The server detects changes of reloadable settings by itself; other settings need a
    /// restart.
    Stays,
}

/// A runtime whose listener is bound.
pub(super) struct Serving {
    executor: tokio::runtime::Runtime,
    admin: Admin,
    server: Server<Gateway>,
    scheme: &'static str,
    drain: Duration,
    signals: Signals,
    /// The addresses of a follower, for the process after its promotion.
    kept: Option<Listening>,
}

/// Makes the system use memory pages of the usual size. With huge pages, an idle server takes twice as much memory,
/// because idle connections seldom free a whole huge page. It must be called first: memory in use is not converted.
#[cfg(target_os = "linux")]
pub(super) fn use_small_pages() {
    // A system without this setting has no huge pages.
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

#[cfg(not(target_os = "linux"))]
pub(super) fn use_small_pages() {}

/// The listener while the database is opened, and the messages to the supervisor in that time. Dropping it ends both.
struct StillOpening {
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
    supervisor: Option<AbortOnDrop>,
}

impl StillOpening {
    fn begin(
        executor: &tokio::runtime::Runtime,
        listening: Listening,
        http: &HttpOptions,
        answers: Arc<Opening>,
    ) -> Result<Self, Failure> {
        let mut options = HttpOptions { control: None, ..http.clone() };
        options.limits.drain_timeout = options.limits.drain_timeout.min(OPENING_DRAIN);
        let server = executor.block_on(Server::on(listening, options, answers.clone()))?;
        let (stop, stopped) = oneshot::channel::<()>();
        let server = executor.spawn(async {
            server.run(async { stopped.await.unwrap_or_default() }).await;
        });
        let supervisor = supervisor::watch_opening(answers).map(AbortOnDrop);
        Ok(Self { stop, server, supervisor })
    }

    /// Ends the listener, and waits until it accepts no more connections.
    async fn end(self) {
        drop((self.stop, self.supervisor));
        let _ = self.server.await;
    }
}

struct AbortOnDrop(JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The data of [`Serving::start`] that a command may print.
pub(super) struct Started {
    pub(super) functions: usize,
}

impl Serving {
    /// Opens the database, fetches keys, binds the listener. On inherited sockets, connections wait until the server is
    /// ready; otherwise they get `NOT_READY` until then. With `follow`, the server follows these copies.
    pub(super) fn start(
        config: Config,
        settings: Vec<SettingInForce>,
        engines: &Engines,
        log: &OperatorLog,
        inherited: Option<Listening>,
        follow: Option<&str>,
    ) -> Result<(Self, Started), Failure> {
        let executor = executor()?;
        let within = executor.enter();
        let signals = Signals::catch().map_err(Failure::of_system("signals cannot be caught"))?;
        let scheme = if config.http.tls.is_some() { "https" } else { "http" };
        let (mut http, auth, log_lines) = (config.http.clone(), config.auth.clone(), config.log_lines);
        http.control = Some(config.data.join(CONTROL));
        let drain = config.limits.drain_timeout;
        let (limits, environment, console) = (config.limits.clone(), config.environment, config.console.clone());
        let site = config.site.as_ref().map(|(folder, is_spa)| Site::open(folder, *is_spa)).transpose();
        let site = site.map_err(|error| Failure(error.to_string()))?;
        let answers = Arc::new(Opening::default());
        let (listening, opening) = match inherited {
            Some(listening) => (listening, None),
            None => {
                let listening = Listening::open(&http)?;
                let opening = StillOpening::begin(&executor, listening.share()?, &http, answers.clone())?;
                (listening, Some(opening))
            }
        };
        let begins = {
            let answers = answers.clone();
            move |step: &str| {
                answers.begins(step);
                supervisor::opening(&answers.step());
            }
        };
        let followed = follow::prepare(&config, engines, follow, &begins)?;
        if followed.is_some() {
            // Only reads are open, and clients wait for the promoted server.
            http.limits.drain_timeout = http.limits.drain_timeout.min(PROMOTION_DRAIN);
        }
        let kept = followed.as_ref().map(|_| listening.share()).transpose()?;
        let copied = CopySettings::of(&config.sections).acknowledgement().filter(|_| followed.is_none());
        // No acknowledged write is lost, and the supervisor starts the process again.
        let options = RuntimeOptions {
            stuck: Stuck::EndProcess,
            call_lines: log.calls.clone(),
            on_opening: OnOpening::new(begins),
            copied,
            ..config.into_options(engines)?
        };
        let runtime = start_when_free(options)?;
        match followed {
            Some(note) => Following::start(&runtime, note).map_err(Failure)?,
            None => Copies::start(&runtime).map_err(Failure)?,
        }
        log.forward_to(&runtime);
        let authenticator = Authenticator::new(auth, runtime.clock().clone(), &limits, http_client().build()?)?;
        executor.block_on(authenticator.start());
        let is_on_main = console.on_main;
        let host = console.hosts.first().cloned();
        let admin = Admin::new(runtime, environment).with_console(console).with_settings(settings);
        let mut gateway = Gateway::new(admin.clone(), authenticator, log_lines);
        if let Some(site) = site {
            gateway = gateway.with_site(site);
        }
        let server = executor.block_on(async {
            if let Some(opening) = opening {
                opening.end().await;
            }
            Server::on(listening, http, gateway).await
        })?;
        let main = || (scheme, server.local_addr());
        admin.runtime.serve_at(format!("{scheme}://{}", reached_here(server.local_addr())));
        let served = server.ops_addr().map(|ops| ("http", ops)).or_else(|| is_on_main.then(main));
        if let Some((scheme, address)) = served {
            admin.console.serve_at(match host {
                Some(host) if server.ops_addr().is_none() => format!("https://{host}"),
                _ => format!("{scheme}://{}", reached_here(address)),
            });
        }
        let started = Started { functions: admin.runtime.registry().all().count() };
        drop(within);
        Ok((Self { executor, admin, server, scheme, drain, signals, kept }, started))
    }

    /// Prints that calls are served now, in the line that supervisors and tests wait for.
    pub(super) fn announce(&self) {
        let mut out = std::io::stderr().lock();
        if let Some(ops) = self.server.ops_addr() {
            let _ = writeln!(out, "convoke: metrics on http://{ops}/metrics");
        }
        let _ = writeln!(out, "convoke: listening on {}", self.url());
        supervisor::ready(&self.admin.runtime, &self.url());
    }

    /// Returns the difference that keeps the database closed, if its schema does not fit.
    pub(super) fn difference(&self) -> Option<String> {
        self.admin.runtime.store().difference()
    }

    /// Returns true if the program has a migration that is not complete, or its progress cannot be read.
    pub(super) fn has_open_migration(&self) -> bool {
        let runtime = &self.admin.runtime;
        let begun = runtime.database().read_blocking(migration::begun).unwrap_or_default();
        let is_finished = |path: &str| begun.iter().any(|row| row.name == path && row.finished_at.is_some());
        runtime.registry().all().any(|function| function.is_migration() && !is_finished(&function.path))
    }

    /// Returns the address of the console, if it is served.
    pub(super) fn console(&self) -> Option<String> {
        self.admin.console.url().ok()
    }

    /// Returns the address of the calls.
    pub(super) fn url(&self) -> String {
        format!("{}://{}", self.scheme, self.server.local_addr())
    }

    /// Returns a command that calls a function as the user of `token`. It prefers a query without arguments, then a
    /// query with generated values for the required arguments.
    pub(super) fn example_call(&self, token: &str) -> String {
        let Some(function) = self.admin.runtime.registry().example() else {
            return "no function is public: write one without `internal` and `admin`".to_owned();
        };
        let (url, path, args) = (self.url(), &function.path, function.example_arguments());
        // In the shell's single quotes, a single quote ends them.
        let body = serde_json::json!({ "args": args }).to_string().replace('\'', "'\\''");
        format!(
            "curl -s {url}/api/run/{path} \\\n  -H 'Content-Type: application/json' \\\n  \
             -H 'Authorization: Bearer {token}' \\\n  -d '{body}'\n"
        )
    }

    /// Serves until SIGTERM or SIGINT, lets open calls end, and closes the database. After a promotion, this process
    /// then starts again.
    pub(super) fn run(self, hangup: Hangup) -> Result<(), Failure> {
        let url = self.url();
        let Self { executor, admin, server, drain, mut signals, kept, .. } = self;
        let background = executor.block_on(async { admin.start_background() });
        let watch = executor.block_on(async { supervisor::watch(admin.runtime.clone(), url) });
        let (mut is_promoted, runtime) = (false, admin.runtime.clone());
        let shutdown = async {
            tokio::select! {
                () = signals.end(hangup) => supervisor::stopping(),
                () = Following::promoted(&runtime) => is_promoted = true,
            }
            background.wind_down();
        };
        let outcome = executor.block_on(server.run(shutdown));
        executor.block_on(async {
            background.stop().await;
            admin.flush().await;
        });
        if let Some(watch) = watch {
            watch.abort();
        }
        admin.runtime.store().close();
        Copies::finish(&admin.runtime);
        Following::finish(&admin.runtime);
        if let Some(kept) = kept.filter(|_| is_promoted) {
            return Err(start_again(&kept));
        }
        executor.shutdown_timeout(Duration::from_millis(100));
        match outcome.cut {
            0 => Ok(()),
            cut => Err(Failure(format!("{} still open after {drain:?}, and cut", counted(cut, "call")))),
        }
    }
}

/// Replaces this process by a new one with the same arguments, on the same addresses. Returns only if that fails.
fn start_again(listening: &Listening) -> Failure {
    // Each way out is an error.
    let replace = || {
        let (channel, other) = UnixStream::pair()?;
        sockets::pass(&channel, listening)?;
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_default();
        // The file of the program may have been replaced.
        let own = Path::new("/proc/self/exe");
        let program = if own.exists() { own.to_owned() } else { std::env::current_exe()? };
        let mut command = Command::new(program);
        command.arg0(name).args(arguments).arg("--promoted").stdin(Stdio::from(OwnedFd::from(other)));
        Ok(command.exec())
    };
    let error: std::io::Error = replace().unwrap_or_else(|error| error);
    Failure(format!("this server is promoted, and must be started again: {error}"))
}

/// Returns the address by which this machine reaches a listener, which may listen on all addresses.
fn reached_here(listener: SocketAddr) -> SocketAddr {
    let ip = match listener.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listener.port())
}

/// Returns the settings of the server and the source of each, to be shown later. `own` are the defaults of the command
/// itself.
pub(super) fn in_force(
    flags: &Flags,
    matches: Option<&clap::ArgMatches>,
    own: &[(&str, &str)],
) -> Result<Vec<SettingInForce>, Failure> {
    let (_, file) = config::read_table(flags.config.as_deref())?;
    let given = |id: &str| super::config::given(matches?, id);
    let described = describe();
    let mut shown = in_force::in_force(&described, &rows(&described, &file, &given));
    for setting in shown.iter_mut().filter(|setting| setting.from == "default") {
        if let Some((_, value)) = own.iter().find(|(name, _)| *name == setting.name) {
            (setting.value, setting.from) = (Some((*value).to_owned()), "convoke dev".to_owned());
        }
    }
    Ok(shown)
}

/// Opens the development issuer of an installation.
pub(super) fn open_issuer(config: &Config) -> Result<DevelopmentIssuer, Failure> {
    if config.store.is_some() {
        // Its tokens are valid on every node.
        let key = StoreKey::read(&config.data).map_err(StartError::StoreKey)?;
        return Ok(DevelopmentIssuer::of_store(&key, config.environment, Arc::new(SystemClock::new()))?);
    }
    // Its key is in the data folder, which the first start creates.
    let created = private_folder(&config.data);
    created.map_err(Failure::at(&config.data))?;
    Ok(DevelopmentIssuer::open(&config.data, config.environment, Arc::new(SystemClock::new()))?)
}

/// The signals that end a server. They are caught before the server is announced: a program that waits for that line
/// may send one.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    /// Catches the signals from now on. Must be called within a tokio runtime.
    pub(super) fn catch() -> std::io::Result<Self> {
        // A file that may not grow any further (`ulimit -f`) is a full disk: the write fails and the error is handled.
        // By default this signal would end the process instead. One handler is enough, and nothing needs to receive the
        // signal.
        drop(signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?);
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    /// Waits for a signal that ends the server.
    pub(super) async fn end(&mut self, hangup: Hangup) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return tracing::info!("SIGTERM: letting open calls end"),
                _ = self.interrupt.recv() => return tracing::info!("interrupted: letting open calls end"),
                _ = self.hangup.recv() => match hangup {
                    Hangup::Ends => return tracing::info!("SIGHUP: letting open calls end"),
                    Hangup::Stays => tracing::info!(
                        "SIGHUP: certificates, identity keys and secrets are reloaded automatically; \
                         other settings take effect at the next start"
                    ),
                },
            }
        }
    }
}

/// Starts a runtime, and waits up to three seconds for another process that holds its data folder. A command of the
/// operator holds it for a moment only, and must not prevent a server from starting. Commands do not wait here: they
/// look for the server meanwhile.
fn start_when_free(options: RuntimeOptions) -> Result<Runtime, StartError> {
    const PAUSE: Duration = Duration::from_millis(20);
    for _ in 0..150 {
        match Runtime::start(options.clone()) {
            Err(StartError::Store(OpenError::Locked { .. })) => std::thread::sleep(PAUSE),
            started => return started,
        }
    }
    Runtime::start(options)
}
