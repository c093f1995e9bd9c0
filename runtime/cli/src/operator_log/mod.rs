//! The operator's log: on standard error, as text or as JSON lines, one event a line.

mod call_line;
mod one_line;
mod writer;

use std::io::IsTerminal as _;
use std::sync::Arc;

use convoke_calls::call_log::CallLines;
use convoke_server::config::{Config, LogFormat};

use super::failure::Failure;
use call_line::Lines;
pub(crate) use one_line::visible;
use writer::{Writer, Written};

/// The operator's log, as long as it is kept: what was logged last is written when it is dropped.
#[must_use]
pub(crate) struct OperatorLog {
    /// Where the lines of calls go, if they are to be written.
    pub(crate) calls: Option<Arc<dyn CallLines>>,
    #[expect(dead_code, reason = "it is kept for its end")]
    written: Written,
}

impl OperatorLog {
    /// Installs it. `by_default` is its filter, if no other one was said.
    ///
    /// A thread of its own writes it: no call waits for anyone who reads standard error, or fails because nobody does.
    pub(crate) fn install(config: &Config, by_default: &str) -> Result<Self, Failure> {
        let filter = config.log.as_deref().unwrap_or(by_default);
        let filter = tracing_subscriber::EnvFilter::try_new(filter).map_err(|error| {
            Failure(format!("--log {filter:?}: {error}; write e.g. `info` or `warn,convoke=debug`"))
        })?;
        let (writer, written) = Writer::start(std::io::stderr())?;
        convoke_server::metrics::watch_log(writer.left_out());
        let colored = std::io::stderr().is_terminal();
        let events = one_line::OneLine::new(writer.clone(), colored);
        let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(events).with_ansi(colored);
        match config.log_format {
            LogFormat::Text => log.with_target(false).compact().init(),
            LogFormat::Json => log.json().flatten_event(true).init(),
        }
        // Whoever looks at a terminal sees colors, and reads no thousand lines a second.
        let are_wanted = !colored && tracing::enabled!(target: "convoke::call", tracing::Level::INFO);
        let calls = are_wanted.then(|| Arc::new(Lines::new(writer, config.log_format)) as Arc<dyn CallLines>);
        Ok(Self { calls, written })
    }
}
