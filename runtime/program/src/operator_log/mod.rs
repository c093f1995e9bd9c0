//! The operator's log: on standard error, as text or as JSON lines, one line per event.

mod call_line;
mod forward;
mod one_line;
mod writer;

use std::io::IsTerminal as _;
use std::sync::Arc;

use convoke_calls::call_log::CallLines;
use convoke_server::config::{Config, LogFormat};
use convoke_server::settings::log_filter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use super::failure::Failure;
use call_line::Lines;
use convoke_calls::runtime::Runtime;
use forward::Forward;
pub(crate) use one_line::visible;
use writer::{Writer, Written};

/// The operator's log. When it is dropped, the remaining lines are written.
#[must_use]
pub(crate) struct OperatorLog {
    /// Writer of call lines, if they are enabled.
    pub(crate) calls: Option<Arc<dyn CallLines>>,
    forward: Forward,
    #[expect(dead_code, reason = "its drop writes the remaining lines")]
    written: Written,
}

impl OperatorLog {
    /// Installs the log. `by_default` is the filter if the settings have none.
    ///
    /// A separate thread writes it: calls neither wait for a reader of standard error nor fail without one.
    pub(crate) fn install(config: &Config, by_default: &str) -> Result<Self, Failure> {
        let filter = config.log.as_deref().unwrap_or(by_default);
        log_filter::check(filter).map_err(Failure)?;
        let filter: Targets = filter.parse().map_err(|error| Failure(format!("log: {filter:?}: {error}")))?;
        let (writer, written) =
            Writer::start(std::io::stderr()).map_err(Failure::of_system("the log cannot be started"))?;
        convoke_server::metrics::watch_log(writer.left_out());
        let colored = std::io::stderr().is_terminal();
        let events = one_line::OneLine::new(writer.clone(), colored);
        let log = tracing_subscriber::fmt::layer().with_writer(events).with_ansi(colored);
        let forward = Forward::default();
        let filtered = tracing_subscriber::registry().with(filter).with(forward.clone());
        match config.log_format {
            LogFormat::Text => filtered.with(log.with_target(false).compact()).init(),
            LogFormat::Json => filtered.with(log.json().flatten_event(true)).init(),
        }
        // A terminal shows colors, and its reader does not read a thousand lines per second.
        let are_wanted = !colored && tracing::enabled!(target: "convoke::call", tracing::Level::INFO);
        let calls = are_wanted.then(|| Arc::new(Lines::new(writer, config.log_format)) as Arc<dyn CallLines>);
        Ok(Self { calls, forward, written })
    }

    /// Forwards the lines from now on, if the settings of the runtime have a collector or a stream.
    pub(crate) fn forward_to(&self, runtime: &Runtime) {
        if let Some(sink) = runtime.log_sink() {
            self.forward.to(sink);
        }
    }
}
