//! The log line of a call. It is printed here instead of by `tracing`, whose event costs more than a small call.

use std::cell::RefCell;
use std::fmt::{self, Write as _};
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
    static BUFFER: RefCell<String> = RefCell::default();
}

impl CallLines for Lines {
    fn write(&self, call: &CallLine<'_>) {
        BUFFER.with_borrow_mut(|line| {
            line.clear();
            // Neither can fail: the line is written to memory, and texts and numbers are always JSON.
            match self.format {
                LogFormat::Text => drop(text(call, line)),
                LogFormat::Json => line.push_str(&json(call)),
            }
            line.push('\n');
            let escaped = escaped(line.as_bytes(), false);
            self.writer.add(escaped.as_ref().map_or(line.as_bytes(), String::as_bytes));
        });
    }
}

fn rfc3339(at: Millis) -> humantime::Rfc3339Timestamp {
    let since = Duration::from_millis(u64::try_from(at.0).unwrap_or(0));
    humantime::format_rfc3339_micros(SystemTime::UNIX_EPOCH + since)
}

/// Prints a call as text. `Debug` quotes and escapes what a client can choose.
fn text(call: &CallLine<'_>, line: &mut String) -> fmt::Result {
    let CallLine { at, request_id, function, kind, outcome, took_us, subject, deploy_key, scheduled, cached } = call;
    write!(line, "{}  INFO call request_id={request_id:?} function={function:?}", rfc3339(*at))?;
    write!(line, " kind=\"{kind}\" outcome=\"{outcome}\" took_us={took_us}")?;
    if let Some(subject) = subject {
        write!(line, " subject={subject:?}")?;
    }
    if let Some(deploy_key) = deploy_key {
        write!(line, " deploy_key={deploy_key:?}")?;
    }
    if *scheduled {
        line.push_str(" scheduled=true");
    }
    if *cached {
        line.push_str(" cached=true");
    }
    Ok(())
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

fn json(call: &CallLine<'_>) -> String {
    let timestamp = rfc3339(call.at).to_string();
    let event = Json { timestamp, level: "INFO", message: "call", call, target: "convoke::call" };
    serde_json::to_string(&event).unwrap_or_default()
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn text_line_quotes_and_escapes_values() {
        let line = |call: &CallLine<'_>| {
            let mut line = String::new();
            text(call, &mut line).unwrap();
            line
        };
        let [plain, full] = lines();
        let start = "2026-01-01T00:00:00.123000Z  INFO call request_id=\"0123456789abcdef\" \
                     function=\"users/queries/getCurrentUser\" kind=\"query\"";
        assert_eq!(line(&plain), format!("{start} outcome=\"OK\" took_us=42"));
        assert_eq!(
            line(&full),
            format!(
                "{start} outcome=\"CONFLICT\" took_us=42 \
                 subject=\"a \\\"quoted\\\" é user\\u{{1b}}[2J\\n\\u{{85}}\\u{{2028}}\" deploy_key=\"ci\" scheduled=true cached=true"
            )
        );
    }

    #[test]
    fn json_line_has_flat_members() {
        let [plain, full] = lines();
        assert_eq!(
            json(&plain),
            "{\"timestamp\":\"2026-01-01T00:00:00.123000Z\",\"level\":\"INFO\",\"message\":\"call\",\
             \"request_id\":\"0123456789abcdef\",\"function\":\"users/queries/getCurrentUser\",\"kind\":\"query\",\
             \"outcome\":\"OK\",\"took_us\":42,\"target\":\"convoke::call\"}"
        );
        let members: serde_json::Value = serde_json::from_str(&json(&full)).unwrap();
        assert_eq!(members["subject"], full.subject.unwrap());
        assert_eq!((&members["deploy_key"], &members["cached"]), (&"ci".into(), &true.into()));
    }
}
