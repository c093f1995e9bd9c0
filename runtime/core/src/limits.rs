//! All limits of the runtime, with their defaults and reasons.

use std::time::Duration;

/// Declares each limit once: its field, its default, and its description in the configuration reference.
macro_rules! limits {
    ($($(#[doc = $doc:literal])* $name:ident: $type:ty = $default:expr;)*) => {
        /// The limits of the runtime. All are settings (`[limits]` in `convoke.toml`).
        #[derive(Clone, Debug)]
        pub struct Limits { $($(#[doc = $doc])* pub $name: $type,)* }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Limits {
            /// Returns the name, default and description of each limit, for the configuration reference.
            pub fn reference() -> Vec<(&'static str, toml::Value, &'static str)> {
                let defaults = Self::default();
                vec![$((stringify!($name), defaults.$name.show(), concat!($($doc),*).trim()),)*]
            }

            /// Sets the values of `[limits]` in `convoke.toml`.
            ///
            /// # Errors
            /// A line for each unknown limit and each invalid value.
            pub fn set(&mut self, table: &toml::Table) -> Result<(), String> {
                let mut problems = Vec::new();
                for (name, value) in table {
                    let read = match name.as_str() {
                        $(stringify!($name) => Limit::read(value).map(|read| self.$name = read),)*
                        _ => Err("does not exist; `convoke help serve` lists the limits".to_owned()),
                    };
                    if let Err(error) = read.and_then(|()| require_usable(name, value)) {
                        problems.push(format!("limits.{name}: {error}"));
                    }
                }
                if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
            }
        }
    };
}

/// Largest number of reader threads.
const READERS_MAX: i64 = 1_024;

/// Rejects a value with which no server could work.
fn require_usable(name: &str, value: &toml::Value) -> Result<(), String> {
    let (least, most) = match name {
        "disk_free_percent_min" => (0, 99),
        "readers" => (1, READERS_MAX),
        "request_body_bytes_max"
        | "header_bytes_max"
        | "header_fields_max"
        | "json_depth_max"
        | "response_bytes_max"
        | "request_bytes_total_max"
        | "response_bytes_total_max"
        | "page_bytes_max"
        | "connections_max"
        | "connections_per_address_max"
        | "http2_streams_max"
        | "writer_queue_max"
        | "reader_queue_max"
        | "batch_max"
        | "token_bytes_max"
        | "wal_bytes_max" => (1, i64::MAX),
        "first_byte_timeout" | "idle_timeout" | "header_timeout" | "body_timeout" | "query_timeout"
        | "mutation_timeout" | "action_timeout" | "key_fetch_timeout" => {
            return match value.as_str().map(humantime::parse_duration) {
                Some(Ok(Duration::ZERO)) => Err("must be longer than 0s".to_owned()),
                _ => Ok(()),
            };
        }
        _ => return Ok(()),
    };
    match value.as_integer() {
        Some(number) if number < least => Err(format!("must be at least {least} (got {number})")),
        Some(number) if number > most => Err(format!("must be at most {most} (got {number})")),
        _ => Ok(()),
    }
}

/// The form of a limit in the settings: a number, or a time such as `"10s"`.
trait Limit: Sized {
    fn read(value: &toml::Value) -> Result<Self, String>;
    fn show(&self) -> toml::Value;
}

impl Limit for Duration {
    fn read(value: &toml::Value) -> Result<Self, String> {
        let text = value.as_str().ok_or("must be a time such as \"10s\" or \"500ms\"")?;
        humantime::parse_duration(text)
            .map_err(|_| format!("must be a time such as \"10s\" or \"500ms\" (got {text:?})"))
    }
    fn show(&self) -> toml::Value {
        humantime::format_duration(*self).to_string().into()
    }
}

/// Implements [`Limit`] for whole numbers, which have 64 bits in TOML.
macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Limit for $type {
            fn read(value: &toml::Value) -> Result<Self, String> {
                let number = value.as_integer().and_then(|number| <$type>::try_from(number).ok());
                number.ok_or_else(|| format!("must be a whole number from 0 to {}", <$type>::MAX))
            }
            fn show(&self) -> toml::Value {
                toml::Value::Integer(i64::try_from(*self).unwrap_or(i64::MAX))
            }
        }
    )*};
}
numbers!(usize, u32, u64);

limits! {
    /// Bytes of a request body, which has the arguments of one call and is not for files.
    request_body_bytes_max: usize = 1024 * 1024;
    /// Bytes of a request's header block.
    header_bytes_max: usize = 16 * 1024;
    /// Fields of a request's header block.
    header_fields_max: usize = 100;
    /// Levels of nesting in a body's JSON. Deep nesting is an attack on recursive readers.
    json_depth_max: usize = 64;
    /// Bytes of a response body.
    response_bytes_max: usize = 16 * 1024 * 1024;
    /// Bytes of request bodies in memory, over all connections: bodies that are being read, and bodies of running
    /// calls. Above it, a body waits to be read.
    request_bytes_total_max: usize = 128 * 1024 * 1024;
    /// Longest wait for request-body memory; then `OVERLOADED`.
    request_room_timeout: Duration = Duration::from_secs(5);
    /// Bytes of responses that are being produced or not read yet, over all connections. Above it, the connections of
    /// the slowest clients are closed.
    response_bytes_total_max: usize = 128 * 1024 * 1024;
    /// Longest time in which a client reads nothing of a pending response; then its connection is closed.
    response_stall_timeout: Duration = Duration::from_secs(60);
    /// Bytes per second that a client must read while responses are pending, on average over `response_stall_timeout`.
    /// Below it, the connection is closed. 0 = off.
    response_bytes_per_second_min: u64 = 512;
    /// Unsent bytes of a connection's responses that the system buffers (`TCP_NOTSENT_LOWAT`, Linux). Less costs
    /// throughput on fast networks; more costs memory of the system.
    unsent_bytes_max: usize = 64 * 1024;
    /// Response bytes that the clients of one address have not read, in this process and in the system's send buffers.
    /// Above it, new connections of the address are rejected, and after a second the slowest ones are closed. Trusted
    /// proxies are exempt. The limit for the send buffers of all addresses together is `response_bytes_total_max`.
    unread_bytes_per_address_max: usize = 64 * 1024 * 1024;
    /// Bytes after which a page of a list ends, so that a page always fits into a response.
    page_bytes_max: usize = 4 * 1024 * 1024;
    /// Timeout for the first byte on a new connection.
    first_byte_timeout: Duration = Duration::from_secs(10);
    /// Timeout of a connection between two requests.
    idle_timeout: Duration = Duration::from_secs(75);
    /// Timeout for a request's complete header block.
    header_timeout: Duration = Duration::from_secs(10);
    /// Timeout for a request's complete body.
    body_timeout: Duration = Duration::from_secs(30);
    /// Bytes per second that the client of an upload must send, on average over `body_timeout`. Below it, the upload
    /// fails. An upload has no other timeout, because a large file takes long. 0 = one byte per `body_timeout`.
    upload_bytes_per_second_min: u64 = 512;
    /// Bytes that one user may write to the database per hour, on average; above it, `RATE_LIMITED`. Each insert,
    /// update and delete of a row counts, with its index entries; of a changed text, only the difference counts. Uploaded
    /// files count. Deploy keys of the operator and the runtime's own work do not count. An hour of fast typing with one call per keystroke
    /// is 12 MiB. 0 = off.
    user_bytes_written_per_hour: u64 = 64 * 1024 * 1024;
    /// Burst of `user_bytes_written_per_hour`: the largest import of a client after a time offline. 0 = off.
    user_bytes_written_burst: u64 = 32 * 1024 * 1024;
    /// Open connections. At the limit, new connections wait to be accepted.
    connections_max: usize = 10_000;
    /// Open connections per address. Above it, new connections are rejected.
    connections_per_address_max: usize = 1_000;
    /// Calls per address and second. 0 = off.
    calls_per_address_per_second: u32 = 0;
    /// Concurrent HTTP/2 streams per connection.
    http2_streams_max: u32 = 256;
    /// Mutations that may wait for the writer; above it, `OVERLOADED`. While others wait, one identity may have an
    /// eighth of them.
    writer_queue_max: usize = 1_024;
    /// Queries that may wait for a reader; above it, `OVERLOADED`. While others wait, one identity may have an eighth
    /// of them.
    reader_queue_max: usize = 1_024;
    /// Concurrent actions; above it, `OVERLOADED`.
    actions_max: usize = 256;
    /// Timeout of a query, from its start.
    query_timeout: Duration = Duration::from_secs(5);
    /// Timeout of a mutation, from its start, without its time in the queue.
    mutation_timeout: Duration = Duration::from_secs(1);
    /// Timeout of an action.
    action_timeout: Duration = Duration::from_secs(600);
    /// Live queries per connection.
    live_queries_max: usize = 1_000;
    /// Queries per request for live results.
    live_queries_per_request_max: usize = 64;
    /// Bytes of results per live connection.
    live_result_bytes_max: usize = 8 * 1024 * 1024;
    /// Live connections per identity and address; above it, `OVERLOADED`.
    live_connections_per_caller_max: usize = 100;
    /// Queued mutations per live connection. At the limit, the server reads nothing more from the connection.
    live_mutations_queued_max: usize = 64;
    /// Concurrent actions per live connection. At the limit, the server reads nothing more from the connection.
    live_actions_max: usize = 16;
    /// Bytes per message from a client on a live connection.
    live_message_bytes_max: usize = 1024 * 1024;
    /// Timeout for the first message of a client on a live connection.
    live_connect_timeout: Duration = Duration::from_secs(10);
    /// Interval of pings to a client on a live connection. Some clients disconnect after 30 s of silence.
    live_ping_interval: Duration = Duration::from_secs(10);
    /// Runs per live query and second. A query whose result changes more often runs again at the end of the interval.
    live_runs_per_second_max: u32 = 5;
    /// Connections whose live queries run concurrently on readers. The others wait.
    live_runners: usize = 4;
    /// Interval between runs of a live query whose result changes without a commit, such as one that reads the time.
    live_refresh: Duration = Duration::from_secs(10);
    /// Time for which a failed run of a live query is retried before its client gets the error.
    live_retry_timeout: Duration = Duration::from_secs(10);
    /// Rows and index ranges that are tracked per run of a live query. Above it, the query depends on whole tables.
    live_reads_noted_max: usize = 1_000;
    /// Steps per run of a workflow. Each advance reads all of them.
    workflow_steps_max: u32 = 10_000;
    /// Bytes of the values in the journal of a run of a workflow.
    workflow_journal_bytes_max: usize = 16 * 1024 * 1024;
    /// Bytes of the arguments, of a signal or of a step's value of a workflow.
    workflow_value_bytes_max: usize = 1024 * 1024;
    /// Time for which an ended run of a workflow is stored.
    workflow_kept: Duration = Duration::from_secs(30 * 24 * 60 * 60);
    /// Timeout for running calls at shutdown; then they are dropped.
    drain_timeout: Duration = Duration::from_secs(10);
    /// Stored log lines per call.
    log_lines_max: usize = 256;
    /// Bytes per log line.
    log_line_bytes_max: usize = 4 * 1024;
    /// Bytes of a bearer token.
    token_bytes_max: usize = 8 * 1024;
    /// Verified tokens that are cached until they expire.
    tokens_remembered_max: usize = 100_000;
    /// Bytes of cached tokens. The first limit that is reached applies.
    tokens_remembered_bytes_max: usize = 128 * 1024 * 1024;
    /// Tolerated clock difference to an identity provider.
    token_leeway: Duration = Duration::from_secs(5);
    /// Shortest time between two fetches of a provider's keys that calls cause.
    key_refresh_interval_min: Duration = Duration::from_secs(30);
    /// Interval of fetches of a provider's keys in the background.
    key_refresh_interval: Duration = Duration::from_secs(300);
    /// Timeout of a fetch of a provider's keys, and of a call that waits for it.
    key_fetch_timeout: Duration = Duration::from_secs(5);
    /// Bytes of a provider's key set and of its discovery document.
    key_set_bytes_max: usize = 256 * 1024;
    /// Keys in a provider's key set.
    key_set_keys_max: usize = 100;
    /// Read connections, in addition to the writer. One identity has at most half of them while others wait, else all
    /// but one.
    readers: usize = 8;
    /// Memory for cached pages and rows of all database connections. 0 = an eighth of the memory of the machine or
    /// container, from 64 MiB to 2 GiB. The row cache of the writer has a tenth of it, at most 64 MiB, and so has the
    /// row cache of the readers. It is allocated as pages and rows are read.
    page_cache_bytes: u64 = 0;
    /// Memory for cached query results in MiB. A result is cached until a row that it read changes. 0 = off.
    cache_mib: usize = 64;
    /// Mutations per commit.
    batch_max: usize = 256;
    /// Longest time in which a commit collects mutations.
    batch_age_max: Duration = Duration::from_millis(20);
    /// Smallest free space in bytes on the disk of the data folder. Below it, calls that write fail with `NOT_READY`,
    /// except those of the operator. The rest is for the log, the runtime's own work and the cleanup by the operator.
    /// The smaller of this and `disk_free_percent_min` applies: a share suits a small disk and would waste space on a
    /// large one. 0 = off.
    disk_free_bytes_min: u64 = 1024 * 1024 * 1024;
    /// Smallest free share of the disk of the data folder, in percent; see `disk_free_bytes_min`. 0 = off.
    disk_free_percent_min: u32 = 5;
    /// WAL size above which the oldest reader is interrupted.
    wal_bytes_interrupt: u64 = 256 * 1024 * 1024;
    /// WAL size above which writes fail with `OVERLOADED`.
    wal_bytes_max: u64 = 1024 * 1024 * 1024;
}
