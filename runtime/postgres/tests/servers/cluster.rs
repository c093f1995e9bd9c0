//! Servers in temporary folders: primaries, standbys, and a pooler in front of them.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use tempfile::TempDir;

use crate::until;

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

/// A program as a user without rights.
fn as_user(program: &str) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--", program]);
    command
}

fn server_program(name: &str) -> Command {
    let bin = std::env::var("CONVOKE_TEST_POSTGRES_BIN").expect("e2e/postgres.sh names the programs");
    as_user(&format!("{bin}/{name}"))
}

#[track_caller]
fn done(command: &mut Command) -> String {
    let output = command.current_dir("/").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Returns a port that no process listens on. It is below the ports of outgoing connections, of which one could take it
/// before the server does.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let first = std::process::id() % 8_000;
    let mut ports = std::iter::repeat_with(|| 20_000 + (first as u16 + NEXT.fetch_add(1, Relaxed)) % 8_000);
    ports.find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap()
}

/// A temporary folder of the servers' user.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    if is_root() {
        done(Command::new("chown").arg("postgres").arg(folder.path()));
    }
    folder
}

/// A server, stopped when it is dropped.
pub(crate) struct Cluster {
    folder: TempDir,
    pub port: u16,
}

impl Cluster {
    /// A primary that runs.
    pub(crate) fn new() -> Self {
        let cluster = Self { folder: folder(), port: free_port() };
        let data = cluster.data();
        let arguments = ["-U", "convoke", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8"];
        done(server_program("initdb").arg("-D").arg(&data).args(arguments));
        cluster.configure(
            "fsync = off\nmax_connections = 150\nshared_buffers = 32MB\nwal_keep_size = 64MB\nwal_sender_timeout = 0",
        );
        cluster.start();
        cluster
    }

    /// A standby of this one that runs; with its confirmation alone commits count from now on.
    pub(crate) fn synchronous_standby(&self) -> Self {
        let standby = Self { folder: folder(), port: free_port() };
        let from = format!("host=127.0.0.1 port={} user=convoke application_name=standby", self.port);
        done(server_program("pg_basebackup").arg("-D").arg(standby.data()).args([
            "-R",
            "-X",
            "stream",
            "-c",
            "fast",
            "--no-sync",
            "-d",
            &from,
        ]));
        standby.configure("wal_receiver_timeout = 0");
        standby.start();
        self.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
        self.sql("SELECT pg_reload_conf()");
        until("the standby is synchronous", || {
            self.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1"
        });
        standby
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn configure(&self, lines: &str) {
        let socket = self.folder.path().display();
        let settings = format!(
            "\nport = {}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = '{socket}'\n{lines}\n",
            self.port
        );
        let path = self.data().join("postgresql.conf");
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, before + &settings).unwrap();
    }

    pub(crate) fn start(&self) {
        self.control(&["start", "-l", "/dev/null", "-t", "120"]);
    }

    /// Starts it where nodes do not look for it; the address.
    pub(crate) fn start_elsewhere(&self) -> String {
        let port = free_port();
        self.control(&["start", "-l", "/dev/null", "-o", &format!("-p {port}")]);
        format!("postgres://convoke@127.0.0.1:{port}/postgres")
    }

    /// Stops it, as a loss of power would, or after its clients are gone.
    pub(crate) fn stop(&self, mode: &str) {
        self.control(&["stop", "-m", mode]);
    }

    pub(crate) fn promote(&self) {
        self.control(&["promote"]);
    }

    fn control(&self, action: &[&str]) {
        let mut command = server_program("pg_ctl");
        command.arg("-D").arg(self.data()).arg("-w").args(action);
        // The server keeps what it inherits open.
        command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        assert!(command.status().unwrap().success(), "{action:?}");
    }

    /// A copy of the files of a server that is stopped.
    pub(crate) fn copy(&self) -> PathBuf {
        let copy = self.folder.path().join("copy");
        done(as_user("cp").arg("-a").arg(self.data()).arg(&copy));
        copy
    }

    /// Puts a copy in the place of a server's files that is stopped.
    pub(crate) fn put_back(&self, copy: &Path) {
        std::fs::remove_dir_all(self.data()).unwrap();
        std::fs::rename(copy, self.data()).unwrap();
    }

    /// Makes a stopped server a standby without a primary, until it is promoted.
    pub(crate) fn demote(&self) {
        done(as_user("touch").arg(self.data().join("standby.signal")));
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://convoke@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs a statement, as the administrator.
    #[track_caller]
    pub(crate) fn sql(&self, statement: &str) -> String {
        let mut command = server_program("psql");
        command.env("PGOPTIONS", "-c default_transaction_read_only=off -c synchronous_commit=local");
        done(command.args(["-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1", "-c", statement, &self.url()]))
    }

    /// A dump of a schema as statements.
    pub(crate) fn dump(&self) -> PathBuf {
        let path = self.folder.path().join("dump.sql");
        done(server_program("pg_dump").arg("-f").arg(&path).args(["-n", "convoke", &self.url()]));
        path
    }

    pub(crate) fn run_file(&self, path: &Path) {
        done(server_program("psql").args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-f"]).arg(path).arg(self.url()));
    }

    /// The processes that send the log to standbys get this signal.
    pub(crate) fn signal_senders(&self, signal: &str) {
        for process in self.sql("SELECT pid FROM pg_stat_replication").lines() {
            done(Command::new("kill").args(["-s", signal, process]));
        }
    }

    /// Backends whose commit waits for a standby.
    pub(crate) fn waiting(&self) -> usize {
        self.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").parse().unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let mut command = server_program("pg_ctl");
        command.arg("-D").arg(self.data()).args(["-w", "-m", "immediate", "stop"]);
        let _ = command.current_dir("/").stdout(Stdio::null()).stderr(Stdio::null()).status();
    }
}

/// PgBouncer in front of a server, ended when it is dropped.
pub(crate) struct Pooler {
    _folder: TempDir,
    process: Child,
    port: u16,
}

impl Pooler {
    pub(crate) fn new(server: &Cluster, mode: &str) -> Self {
        let (folder, port) = (folder(), free_port());
        let settings = folder.path().join("pgbouncer.ini");
        let text = format!(
            "[databases]\npostgres = host=127.0.0.1 port={} user=convoke\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = 120\n\
             max_client_conn = 400\n",
            server.port
        );
        std::fs::write(&settings, text).unwrap();
        let mut command = as_user("pgbouncer");
        command.arg("-q").arg(&settings).current_dir("/").stdin(Stdio::null()).stdout(Stdio::null());
        let process = command.stderr(Stdio::null()).spawn().unwrap();
        until("the pooler listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { _folder: folder, process, port }
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://convoke@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
