//! Every bound of the runtime, with its default and its reason, in one place.

use std::time::Duration;

/// Declares the limits once: the field, its default, and the doc that the configuration reference shows.
macro_rules! limits {
    ($($(#[doc = $doc:literal])* $name:ident: $type:ty = $default:expr;)*) => {
        /// The bounds within which the runtime works. All are settings (`[limits]` in `convoke.toml`).
        #[derive(Clone, Debug)]
        pub struct Limits { $($(#[doc = $doc])* pub $name: $type,)* }

        impl Default for Limits {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl Limits {
            /// Name, default and description of every limit, for the configuration reference.
            pub fn reference() -> Vec<(&'static str, toml::Value, &'static str)> {
                let defaults = Self::default();
                vec![$((stringify!($name), defaults.$name.show(), concat!($($doc),*).trim()),)*]
            }

            /// Takes the values of `[limits]` in `convoke.toml`.
            ///
            /// # Errors
            /// A sentence that names a limit that does not exist, or a value that does not fit.
            pub fn set(&mut self, table: &toml::Table) -> Result<(), String> {
                for (name, value) in table {
                    match name.as_str() {
                        $(stringify!($name) => {
                            self.$name = Limit::read(value).map_err(|error| format!("limits.{name}: {error}"))?;
                        })*
                        _ => return Err(format!("limits.{name} is no limit; `convoke help serve` lists them")),
                    }
                }
                Ok(())
            }
        }
    };
}

/// How a limit stands in the settings: a number, or a time such as `"10s"`.
trait Limit: Sized {
    fn read(value: &toml::Value) -> Result<Self, String>;
    fn show(&self) -> toml::Value;
}

impl Limit for Duration {
    fn read(value: &toml::Value) -> Result<Self, String> {
        let text = value.as_str().ok_or("must be a time such as \"10s\" or \"500ms\"")?;
        humantime::parse_duration(text).map_err(|error| format!("{error}; write a time such as \"10s\" or \"500ms\""))
    }
    fn show(&self) -> toml::Value {
        humantime::format_duration(*self).to_string().into()
    }
}

/// Whole numbers, which TOML holds in 64 bits.
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
    /// Bytes of a request body. One call's arguments, not a file store.
    request_body_bytes_max: usize = 1024 * 1024;
    /// Bytes of a request's header block.
    header_bytes_max: usize = 16 * 1024;
    /// Fields of a request's header block.
    header_fields_max: usize = 100;
    /// Levels of nesting in a body's JSON. Deep nesting is an attack on recursive readers.
    json_depth_max: usize = 64;
    /// Bytes of a response body.
    response_bytes_max: usize = 16 * 1024 * 1024;
    /// Bytes of request bodies in memory, over all connections: of those that are being read, and of those whose calls
    /// are under way. Beyond it a body waits to be read.
    request_bytes_total_max: usize = 128 * 1024 * 1024;
    /// For room for a request's body; then `OVERLOADED`.
    request_room_timeout: Duration = Duration::from_secs(5);
    /// Bytes of answers that are being made or not taken yet, over all connections. Beyond it the slowest readers'
    /// connections are closed.
    response_bytes_total_max: usize = 128 * 1024 * 1024;
    /// How long a client may take nothing of a response that waits for it; then its connection is closed.
    response_stall_timeout: Duration = Duration::from_secs(60);
    /// Bytes per second that a client must take while responses wait for it, on average over `response_stall_timeout`;
    /// below it, its connection is closed. 0 = off.
    response_bytes_per_second_min: u64 = 512;
    /// Bytes of a connection's responses that the system takes before it can send them (`TCP_NOTSENT_LOWAT`, Linux).
    /// Less costs throughput on fast networks, more costs the system's memory.
    unsent_bytes_max: usize = 64 * 1024;
    /// Bytes of responses that the clients of one address have not taken, in this process and in the system's send
    /// buffers. Beyond it new connections of the address are refused, and after a second the slowest ones are closed.
    /// Trusted proxies are exempt. In the send buffers of all addresses together there may be
    /// `response_bytes_total_max`.
    unread_bytes_per_address_max: usize = 64 * 1024 * 1024;
    /// Bytes after which a page of a list ends, so that a page always fits a response.
    page_bytes_max: usize = 4 * 1024 * 1024;
    /// Until the first byte of a request on a new connection.
    first_byte_timeout: Duration = Duration::from_secs(10);
    /// Between two requests of one connection.
    idle_timeout: Duration = Duration::from_secs(75);
    /// For a request's whole header block.
    header_timeout: Duration = Duration::from_secs(10);
    /// For a request's whole body.
    body_timeout: Duration = Duration::from_secs(30);
    /// Bytes that one user may write into the database in an hour, on average; past it, `RATE_LIMITED`. Rows count with
    /// their index entries, when they are made, changed or removed, by whichever function; of a text that changes, what
    /// differs. The operator's deploy keys and the runtime's own work are not counted. An hour of fast typing, each
    /// keystroke a call, is 12 MiB. 0 = off.
    user_bytes_written_per_hour: u64 = 64 * 1024 * 1024;
    /// Bytes of them that may be written at once: the largest import that a client brings after a time offline. 0 = off.
    user_bytes_written_burst: u64 = 32 * 1024 * 1024;
    /// Open connections; past it, accepting waits.
    connections_max: usize = 10_000;
    /// Open connections of one address; past it, they are refused.
    connections_per_address_max: usize = 1_000;
    /// Calls of one address a second; 0 = off.
    calls_per_address_per_second: u32 = 0;
    /// Concurrent HTTP/2 streams of a connection.
    http2_streams_max: u32 = 256;
    /// Mutations that may wait for the writer; past it, `OVERLOADED`. While others wait, an eighth of them may be of one
    /// identity.
    writer_queue_max: usize = 1_024;
    /// Queries that may wait for a reader; past it, `OVERLOADED`. While others wait, an eighth of them may be of one
    /// identity.
    reader_queue_max: usize = 1_024;
    /// Actions that may run at once; past it, `OVERLOADED`.
    actions_max: usize = 256;
    /// One query, from its start.
    query_timeout: Duration = Duration::from_secs(5);
    /// One mutation, from its start (not from its place in the queue).
    mutation_timeout: Duration = Duration::from_secs(1);
    /// One action.
    action_timeout: Duration = Duration::from_secs(600);
    /// Live queries of one connection.
    live_queries_max: usize = 1_000;
    /// Queries of one request for live results.
    live_queries_per_request_max: usize = 64;
    /// Bytes of the results that one live connection holds.
    live_result_bytes_max: usize = 8 * 1024 * 1024;
    /// Live connections of one identity at one address; past it, `OVERLOADED`.
    live_connections_per_caller_max: usize = 100;
    /// Mutations of one live connection that wait for their turn; past it, nothing more is read from it.
    live_mutations_queued_max: usize = 64;
    /// Actions of one live connection that run at once; past it, nothing more is read from it.
    live_actions_max: usize = 16;
    /// Bytes of one message from a client on a live connection.
    live_message_bytes_max: usize = 1024 * 1024;
    /// For the first message of a client on a live connection.
    live_connect_timeout: Duration = Duration::from_secs(10);
    /// Between two signs of life to a client on a live connection. Some clients give up after 30 s of silence.
    live_ping_interval: Duration = Duration::from_secs(10);
    /// Runs of one live query in a second. What changes more often is run again at the end of its turn.
    live_runs_per_second_max: u32 = 5;
    /// Connections whose live queries run at the same moment, on readers. The others wait.
    live_runners: usize = 4;
    /// Between two runs of a live query whose result grows old by itself, such as one that asks for the time.
    live_refresh: Duration = Duration::from_secs(10);
    /// How long a live query that cannot be run is tried again, before its client is told.
    live_retry_timeout: Duration = Duration::from_secs(10);
    /// Rows by id and ranges of indexes that are noted of one run of a live query; beyond it, it depends on whole tables.
    live_reads_noted_max: usize = 1_000;
    /// For open calls at shutdown; then they are cut.
    drain_timeout: Duration = Duration::from_secs(10);
    /// Log lines kept of one call.
    log_lines_max: usize = 256;
    /// Bytes of one log line.
    log_line_bytes_max: usize = 4 * 1024;
    /// Bytes of a bearer token.
    token_bytes_max: usize = 8 * 1024;
    /// Verified tokens remembered until they expire.
    tokens_remembered_max: usize = 100_000;
    /// Bytes that the remembered tokens may take; whichever bound is reached first counts.
    tokens_remembered_bytes_max: usize = 128 * 1024 * 1024;
    /// Clock difference to an identity provider that is forgiven.
    token_leeway: Duration = Duration::from_secs(5);
    /// Least time between two fetches of a provider's keys that calls can cause.
    key_refresh_interval_min: Duration = Duration::from_secs(30);
    /// Between two fetches of a provider's keys in the background.
    key_refresh_interval: Duration = Duration::from_secs(300);
    /// For one fetch of a provider's keys; a call that waits for it waits no longer.
    key_fetch_timeout: Duration = Duration::from_secs(5);
    /// Bytes of a provider's key set, and of its discovery document.
    key_set_bytes_max: usize = 256 * 1024;
    /// Keys in a provider's key set.
    key_set_keys_max: usize = 100;
    /// Read connections, beside the one writer. While others wait, one identity has at most half of them, and else all
    /// but one.
    readers: usize = 8;
    /// Memory in which the connections to the database keep its pages and rows, all together; 0 = an eighth of what the
    /// machine (or the container) has, from 64 MiB to 2 GiB. The rows that the writer knows have a tenth of it, 64 MiB at
    /// most, and those that all readers share as much. It is taken as pages and rows are read.
    page_cache_bytes: u64 = 0;
    /// Memory for results of queries that are kept until something they read is changed, in MiB; 0 keeps none.
    cache_mib: usize = 64;
    /// Mutations of one commit.
    batch_max: usize = 256;
    /// How long a batch may grow while mutations keep coming.
    batch_age_max: Duration = Duration::from_millis(20);
    /// Least free bytes on the disk of the data folder. Below them calls that write answer `NOT_READY`, and the operator's
    /// still run: what is left is for the log, for the runtime's own work, and for anyone who makes room. The smaller one of
    /// this and `disk_free_percent_min` counts: on a small disk a share leaves the most of it to use, on a large one a
    /// share would be a waste. 0 = off.
    disk_free_bytes_min: u64 = 1024 * 1024 * 1024;
    /// Least free share of the disk of the data folder, in percent of its size; see `disk_free_bytes_min`. 0 = off.
    disk_free_percent_min: u32 = 5;
    /// WAL size above which the oldest reader is interrupted.
    wal_bytes_interrupt: u64 = 256 * 1024 * 1024;
    /// WAL size above which writes answer `OVERLOADED`.
    wal_bytes_max: u64 = 1024 * 1024 * 1024;
}
