//! The log line of a call: in the form of a `tracing` event with these fields, but without its overhead. There are as
//! many of these lines as calls.

use std::cell::RefCell;
use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use convoke_calls::call_log::{CallLine, CallLines};
use convoke_core::Millis;
use convoke_server::config::LogFormat;

use super::one_line::escaped;
use super::writer::Writer;

/// A writer of call lines.
pub(super) struct Lines {
    writer: Writer,
    format: LogFormat,
}

impl Lines {
    /// Creates a writer to this log, in its format.
    pub(super) fn new(writer: Writer, format: LogFormat) -> Self {
        Self { writer, format }
    }
}

thread_local! {
    static BUFFER: RefCell<(String, Stamp)> = RefCell::default();
}

impl CallLines for Lines {
    fn write(&self, call: &CallLine<'_>) {
        BUFFER.with_borrow_mut(|(line, stamp)| {
            line.clear();
            match self.format {
                // The line has no control characters: fields that may have them are written in `Debug` form.
                LogFormat::Text => {
                    text(call, stamp, line);
                    line.push('\n');
                    self.writer.add(line.as_bytes());
                }
                LogFormat::Json => {
                    json(call, line);
                    line.push('\n');
                    let escaped = escaped(line.as_bytes(), false);
                    self.writer.add(escaped.as_ref().map_or(line.as_bytes(), String::as_bytes));
                }
            }
        });
    }
}

fn rfc3339(at: Millis) -> humantime::Rfc3339Timestamp {
    let since = Duration::from_millis(u64::try_from(at.0).unwrap_or(0));
    humantime::format_rfc3339_micros(SystemTime::UNIX_EPOCH + since)
}

/// The last second in which a line was written: many lines share a second.
#[derive(Default)]
struct Stamp {
    second: i64,
    /// The formatted time up to the dot; empty before the first line.
    text: String,
}

impl Stamp {
    fn write(&mut self, at: Millis, line: &mut String) {
        let (second, millis) = (at.0.div_euclid(1000), at.0.rem_euclid(1000));
        if self.second != second || self.text.is_empty() {
            let text = rfc3339(at).to_string();
            *self = Self { second, text: text.split('.').next().unwrap_or_default().to_owned() };
        }
        line.push_str(&self.text);
        line.push('.');
        let millis = u32::try_from(millis).unwrap_or(0);
        line.extend(
            [millis / 100, millis / 10 % 10, millis % 10].into_iter().filter_map(|digit| char::from_digit(digit, 10)),
        );
        line.push_str("000Z");
    }
}

fn text(call: &CallLine<'_>, stamp: &mut Stamp, line: &mut String) {
    let CallLine { at, request_id, function, kind, outcome, took_us, subject, deploy_key, scheduled, cached } = call;
    stamp.write(*at, line);
    line.push_str("  INFO call request_id=");
    push_text(line, request_id);
    line.push_str(" function=");
    push_text(line, function);
    // Words of the runtime itself.
    line.push_str(" kind=\"");
    line.push_str(kind);
    line.push_str("\" outcome=\"");
    line.push_str(outcome);
    line.push_str("\" took_us=");
    line.push_str(itoa::Buffer::new().format(*took_us));
    if let Some(subject) = subject {
        line.push_str(" subject=");
        push_text(line, subject);
    }
    if let Some(deploy_key) = deploy_key {
        line.push_str(" deploy_key=");
        push_text(line, deploy_key);
    }
    if *scheduled {
        line.push_str(" scheduled=true");
    }
    if *cached {
        line.push_str(" cached=true");
    }
}

/// Writes `"value"` in `Debug` form. A fast check covers nearly all values, which need no escapes.
fn push_text(line: &mut String, value: &str) {
    if is_plain(value.as_bytes()) {
        line.push('"');
        line.push_str(value);
        line.push('"');
    } else {
        // A write to a string cannot fail.
        let _ = write!(line, "{value:?}");
    }
}

/// Returns true if `Debug` writes a text without escapes: printable ASCII without quotes and backslashes. The loop has
/// no branch per byte, so that eight bytes are checked together.
fn is_plain(value: &[u8]) -> bool {
    let is_plain = |all, byte: &u8| all & (b' '..0x7f).contains(byte) & (*byte != b'"') & (*byte != b'\\');
    let (eights, rest) = value.as_chunks::<8>();
    eights.iter().all(|eight| eight.iter().fold(true, is_plain)) && rest.iter().fold(true, is_plain)
}

#[derive(serde::Serialize)]
struct Json<'a> {
    timestamp: String,
    level: &'static str,
    message: &'static str,
    #[serde(flatten)]
    call: &'a CallLine<'a>,
    target: &'static str,
}

fn json(call: &CallLine<'_>, line: &mut String) {
    let timestamp = rfc3339(call.at).to_string();
    let event = Json { timestamp, level: "INFO", message: "call", call, target: "convoke::call" };
    // Texts and numbers are always JSON.
    line.push_str(&serde_json::to_string(&event).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;

    use super::*;

    fn lines() -> [CallLine<'static>; 2] {
        let line = CallLine {
            at: Millis(1_767_225_600_123),
            request_id: "0123456789abcdef",
            function: "users/queries/getCurrentUser",
            kind: "query",
            outcome: "OK",
            took_us: 42,
            subject: None,
            deploy_key: None,
            scheduled: false,
            cached: false,
        };
        let other = CallLine {
            outcome: "CONFLICT",
            subject: Some("a \"quoted\" é user\u{1b}[2J\n\u{85}\u{2028}"),
            deploy_key: Some("ci"),
            scheduled: true,
            cached: true,
            ..line
        };
        [line, other]
    }

    /// Returns the line that `tracing` writes for it.
    fn event(call: &CallLine<'_>, format: LogFormat) -> String {
        #[derive(Clone, Default)]
        struct Out(Arc<Mutex<Vec<u8>>>);
        impl std::io::Write for Out {
            fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
                self.0.lock().extend_from_slice(bytes);
                Ok(bytes.len())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        let out = Out::default();
        let writer = out.clone();
        let log = tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false);
        match format {
            LogFormat::Text => {
                tracing::subscriber::with_default(log.with_target(false).compact().finish(), || call.emit());
            }
            LogFormat::Json => {
                tracing::subscriber::with_default(log.json().flatten_event(true).finish(), || call.emit())
            }
        }
        let bytes = out.0.lock().clone();
        String::from_utf8(bytes).unwrap().trim_end().to_owned()
    }

    #[test]
    fn text_line_equals_the_line_of_tracing() {
        for call in lines() {
            let mut line = String::new();
            text(&call, &mut Stamp::default(), &mut line);
            let without_time = |line: &str| line.split_once('Z').unwrap().1.to_owned();
            let theirs = event(&call, LogFormat::Text);
            assert_eq!(without_time(&line), without_time(&theirs));
            assert_eq!(line.find('Z'), theirs.find('Z'), "the times have the same precision");
        }
    }

    #[test]
    fn each_line_has_its_own_time_even_if_the_clock_goes_back() {
        let mut stamp = Stamp::default();
        for at in [0, 7, 999, 1_000, 1_767_225_600_123, 1_767_225_600_040, 1_767_225_599_999, 1_767_225_600_000] {
            let mut line = String::new();
            stamp.write(Millis(at), &mut line);
            assert_eq!(line, rfc3339(Millis(at)).to_string());
        }
    }

    #[test]
    fn json_line_has_the_members_of_tracing() {
        for call in lines() {
            let mut line = String::new();
            json(&call, &mut line);
            let members = |line: &str| {
                let mut members: serde_json::Map<_, _> = serde_json::from_str(line).unwrap();
                assert!(members.remove("timestamp").unwrap().is_string());
                members
            };
            assert_eq!(members(&line), members(&event(&call, LogFormat::Json)));
        }
    }
}
