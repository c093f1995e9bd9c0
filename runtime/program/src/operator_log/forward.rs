//! Forwards the lines of the operator's log to the collector and to the streams of the settings.

use std::fmt;
use std::sync::{Arc, OnceLock};

use convoke_calls::log_sink::{LogLine, LogSink};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer};

/// The libraries that send the lines. Their own lines would cause further ones.
const SENDERS: [&str; 4] = ["hyper", "reqwest", "h2", "rustls"];

/// A layer that forwards each line once the server has a receiver.
#[derive(Clone, Default)]
pub(super) struct Forward(Arc<OnceLock<LogSink>>);

impl Forward {
    /// Sets the receiver. A process has one.
    pub(super) fn to(&self, sink: LogSink) {
        // A second server of the process shares the receiver of the first.
        let _ = self.0.set(sink);
    }
}

impl<S: Subscriber> Layer<S> for Forward {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let Some(sink) = self.0.get() else { return };
        let metadata = event.metadata();
        if SENDERS.iter().any(|sender| metadata.target().starts_with(sender)) {
            return;
        }
        let mut fields = Fields::default();
        event.record(&mut fields);
        let Fields { message, fields } = fields;
        let severity = (*metadata.level()).into();
        sink.add(LogLine { severity, target: metadata.target(), message, fields });
    }
}

#[derive(Default)]
struct Fields {
    message: String,
    fields: Vec<(&'static str, String)>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: String) {
        match field.name() {
            "message" => self.message = value,
            name => self.fields.push((name, value)),
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.to_owned());
    }
}
