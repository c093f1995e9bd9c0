//! `logs`: completed calls, and the calls that end from now on.

use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::time::Duration;

use chrono::DateTime;
use hyper::Method;
use serde::Deserialize;

use super::asked_node::AskedNode;
use super::connect::ConnectArgs;
use super::durations::duration;
use super::failure::Failure;
use super::local::clock;
use super::operator_log::visible;
use super::output;
use convoke_calls::recent_calls::Wanted;
use convoke_core::counted::counted;
use convoke_store::Engines;

/// Show completed calls: the latest ones, and with --follow those that end from now on
///
/// Each line has the time at which the call ended, its outcome, its duration, its function, its caller and the request
/// id. The lines below it have the error and the log lines of the function. With --details they also have the arguments
/// without secrets, the size of the result, rows and waiting time. Rejected requests are shown too. The server records
/// the latest 100,000 calls for seven days in its data folder, across restarts. If several nodes serve one database,
/// each records its own calls.
///
///   convoke logs                                            the last calls
///   convoke logs --since 2h --outcome failed                failures of the last two hours
///   convoke logs --text 'stand-up' --details                calls with a text in arguments, errors or log lines
///   convoke logs --follow                                   every call from now on
///   convoke logs --follow --function users/ --outcome error
///   convoke logs --function '*/getCurrentUser' --json | jq .durationMs
///   convoke logs --request-id 1956319cddbceebc              what happened to one request
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Logs {
    /// Continue with the calls that end from now on, until interrupted
    #[arg(short, long)]
    follow: bool,
    /// Number of calls, at most 10000 [default: 100; with --since: all; with --follow: 10]
    #[arg(short = 'n', long, value_name = "COUNT")]
    last: Option<usize>,
    /// Only these functions: the beginning of their path, or a pattern in which `*` matches any characters
    #[arg(long, value_name = "PATTERN")]
    function: Option<String>,
    /// Only calls that ended within this time, e.g. 2h
    #[arg(long, value_name = "TIME", value_parser = duration)]
    since: Option<Duration>,
    /// Only calls with this text in the path, the caller, the arguments, the error or the log lines
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Only this caller: a user's subject, the name of a deploy key, `scheduler`, or `anonymous`
    #[arg(long, value_name = "NAME")]
    caller: Option<String>,
    /// Only this outcome: `ok`, `error` (any), `refused` (by a rule), `failed` (by a fault), or a code such as
    /// FORBIDDEN
    #[arg(long, value_name = "OUTCOME", value_parser = outcome)]
    outcome: Option<String>,
    /// Only the user with this subject
    #[arg(long, value_name = "SUBJECT")]
    user: Option<String>,
    /// Only calls that took longer, e.g. 100ms
    #[arg(long, value_name = "TIME", value_parser = duration)]
    slower_than: Option<Duration>,
    /// Only this request
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// Show arguments, the size of the result, rows and waiting time below each call
    #[arg(short, long)]
    details: bool,
    /// Print one JSON object per line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

fn outcome(text: &str) -> Result<String, String> {
    text.parse::<Wanted>().map(|_| text.to_owned())
}

/// The part of the server's overview that identifies the node.
#[derive(Deserialize)]
struct Overview {
    node: Option<AskedNode>,
}

/// Returns true if a line is a call that names its node, as when several nodes serve one database.
fn names_a_node(line: &str) -> serde_json::Result<bool> {
    #[derive(Deserialize)]
    struct At {
        node: Option<String>,
    }
    serde_json::from_str::<At>(line).map(|at| at.node.is_some())
}

/// A line of the response.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Call(Box<Call>),
    Lost { lost: u64 },
}

/// A call in the response.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    time: i64,
    request_id: String,
    function: String,
    kind: Option<String>,
    outcome: String,
    duration_ms: f64,
    subject: Option<String>,
    deploy_key: Option<String>,
    #[serde(default)]
    scheduled: bool,
    error: Option<String>,
    #[serde(default)]
    log_lines: Vec<String>,
    #[serde(default)]
    refused: bool,
    arguments: Option<serde_json::Value>,
    result_bytes: Option<u64>,
    #[serde(default)]
    cached: bool,
    #[serde(default)]
    rows_read: u64,
    #[serde(default)]
    rows_written: u64,
    waited_ms: Option<f64>,
}

impl Call {
    /// Returns `arguments {"title":"Stand-up"}` and `result 120 B, cached, 3 rows read, 1 written, waited 0.20 ms`.
    fn details(&self) -> Vec<String> {
        let arguments = self.arguments.as_ref().map(|arguments| format!("arguments {arguments}"));
        let parts = [
            self.result_bytes.map(|bytes| format!("result {bytes} B")),
            self.cached.then(|| "cached".to_owned()),
            (self.rows_read > 0).then(|| format!("{} read", counted(self.rows_read, "row"))),
            (self.rows_written > 0).then(|| format!("{} rows written", self.rows_written)),
            self.waited_ms.map(|ms| format!("waited {}", shown_duration(ms))),
        ];
        let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        arguments.into_iter().chain(Some(parts).filter(|parts| !parts.is_empty())).collect()
    }
}

impl Logs {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        if self.follow && connection.in_process().is_some() {
            let folder = connection.config().data.display();
            return Err(Failure(format!(
                "no server runs on {folder}, so there are no calls; name another folder with --data, or a server with --url"
            )));
        }
        let follow = self.follow;
        let path = self.path();
        connection.block_on(async {
            let mut lines = connection.request(Method::GET, &path, None).await?.success().await?;
            let look = Look::of_standard_output(self.details);
            let mut is_told = false;
            while let Some(line) = lines.line().await? {
                if !is_told && names_a_node(&line)? {
                    let Overview { node } = connection.admin(Method::GET, "overview", None).await?;
                    node.iter().for_each(|node| node.tell("calls"));
                    is_told = true;
                }
                let text = if self.json { line } else { look.line(&line)? };
                if !output::line(&text)? {
                    return Ok(());
                }
            }
            if follow {
                note!("convoke: the server has ended");
            }
            Ok(())
        })
    }

    fn path(&self) -> String {
        let last = self.last.or(match (self.since, self.follow) {
            (Some(_), _) => None,
            (None, true) => Some(10),
            (None, false) => Some(100),
        });
        let last = last.map(|last| last.to_string());
        let slower_than = self.slower_than.map(|bound| bound.as_millis().to_string());
        let since = self.since.map(|since| (clock().now() - since).0.to_string());
        let members = [
            ("function", &self.function),
            ("outcome", &self.outcome),
            ("requestId", &self.request_id),
            ("user", &self.user),
            ("slowerThanMs", &slower_than),
            ("text", &self.text),
            ("caller", &self.caller),
            ("since", &since),
            ("last", &last),
        ];
        let query = form_urlencoded::Serializer::new(String::new())
            .append_pair("follow", &self.follow.to_string())
            .extend_pairs(members.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))))
            .finish();
        format!("/api/admin/logs?{query}")
    }
}

/// The display of a call for people.
struct Look {
    colored: bool,
    with_details: bool,
}

const GREEN: &str = "32";
const YELLOW: &str = "33";
const RED: &str = "31";
const DIM: &str = "2";

impl Look {
    fn of_standard_output(with_details: bool) -> Self {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Self { colored: wanted && std::io::stdout().is_terminal(), with_details }
    }

    fn line(&self, line: &str) -> serde_json::Result<String> {
        Ok(match serde_json::from_str(line)? {
            Line::Lost { lost } => {
                self.paint(YELLOW, &format!("… {} not shown: there were too many", counted(lost, "call"))).into_owned()
            }
            Line::Call(call) => self.call(&call),
        })
    }

    /// ```text
    /// 11:00:28.804  OK                      0.31 ms  query     greetings/sayHello  ada  1956319cddbceebc
    ///     [INFO] greeting Ada
    /// ```
    fn call(&self, call: &Call) -> String {
        let time = DateTime::from_timestamp_millis(call.time).unwrap_or_default();
        let color = match &*call.outcome {
            "OK" => GREEN,
            _ if call.refused => YELLOW,
            _ => RED,
        };
        let who = match (&call.deploy_key, &call.subject) {
            (Some(key), Some(subject)) => format!("{subject} by key {key}"),
            (Some(key), None) => format!("key {key}"),
            (None, Some(subject)) => subject.clone(),
            (None, None) => "-".to_owned(),
        };
        let who = if call.scheduled { format!("scheduler as {who}").replace(" as -", "") } else { who };
        let mut text = format!(
            "{}  {}  {:>11}  {:8}  {:40}  {:12}  {}",
            self.paint(DIM, &time.format("%H:%M:%S%.3f").to_string()),
            self.paint(color, &format!("{:19}", visible(&call.outcome))),
            shown_duration(call.duration_ms),
            call.kind.as_deref().unwrap_or("rejected"),
            visible(&call.function),
            visible(&who),
            self.paint(DIM, &visible(&call.request_id)),
        );
        let mut below = |color: &str, part: &str| {
            for line in part.split('\n') {
                text.push_str(&format!("\n    {}", self.paint(color, &visible(line))));
            }
        };
        if self.with_details {
            call.details().iter().for_each(|line| below(DIM, line));
        }
        if let Some(error) = &call.error {
            below(color, error);
        }
        for line in &call.log_lines {
            let color = match line.get(..6) {
                Some("[ERROR") => RED,
                Some("[WARN]") => YELLOW,
                _ => DIM,
            };
            below(color, line);
        }
        text
    }

    fn paint<'a>(&self, color: &str, text: &'a str) -> Cow<'a, str> {
        if self.colored { Cow::Owned(format!("\x1b[{color}m{text}\x1b[0m")) } else { Cow::Borrowed(text) }
    }
}

fn shown_duration(ms: f64) -> String {
    if ms < 1_000.0 { format!("{ms:.2} ms") } else { format!("{:.2} s", ms / 1_000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Look = Look { colored: false, with_details: false };

    #[test]
    fn call_is_one_aligned_line_above_its_log_lines() {
        let shown = PLAIN
            .line(
                r#"{"time":1795258828804,"requestId":"r1","function":"a/b","kind":"query","outcome":"FORBIDDEN",
                "durationMs":4.957,"subject":"ada","error":"No","logLines":["[INFO] one\ntwo"]}"#,
            )
            .unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        let pad = " ".repeat(39);
        assert_eq!(
            lines[0],
            format!("11:00:28.804  FORBIDDEN                4.96 ms  query     a/b{}ada           r1", &pad[..])
        );
        assert_eq!(lines[1..], ["    No", "    [INFO] one", "    two"]);
    }

    #[test]
    fn only_calls_name_their_node() {
        for (line, names) in [
            (r#"{"lost":12}"#, false),
            (r#"{"time":0,"function":"a/b"}"#, false),
            (r#"{"time":0,"node":"00c0ffee"}"#, true),
        ] {
            assert_eq!(names_a_node(line).unwrap(), names, "{line}");
        }
    }

    #[test]
    fn details_are_below_the_call_and_rejections_differ_from_failures() {
        let call = |outcome: &str, more: &str| {
            format!(
                r#"{{"time":0,"requestId":"r","function":"a/b","kind":"query","outcome":"{outcome}","durationMs":1{more}}}"#
            )
        };
        let details = Look { colored: false, with_details: true };
        let json =
            call("OK", r#","arguments":{"a":"\u001b"},"resultBytes":7,"cached":true,"rowsRead":3,"waitedMs":0.5"#);
        let shown = details.line(&json).unwrap();
        let below: Vec<&str> = shown.lines().skip(1).collect();
        assert_eq!(below, [r#"    arguments {"a":"\u001b"}"#, "    result 7 B, cached, 3 rows read, waited 0.50 ms"]);
        let colored = Look { colored: true, with_details: false };
        assert!(colored.line(&call("FORBIDDEN", r#","refused":true"#)).unwrap().contains("\x1b[33mFORBIDDEN"));
        assert!(colored.line(&call("PROVIDER_ERROR", "")).unwrap().contains("\x1b[31mPROVIDER_ERROR"));
    }

    #[test]
    fn text_of_a_client_cannot_move_the_cursor() {
        let shown = PLAIN
            .line(r#"{"time":0,"requestId":"r","function":"a\u001b[2K\r\u009b","outcome":"FUNCTION_NOT_FOUND","durationMs":0}"#)
            .unwrap();
        assert!(!shown.contains(|c: char| c.is_control()), "{shown:?}");
        assert!(shown.contains("rejected") && shown.contains(r"a\u001b[2K\r\u009b"), "{shown}");
    }

    #[test]
    fn lost_calls_are_reported() {
        assert_eq!(PLAIN.line(r#"{"lost":1}"#).unwrap(), "… 1 call not shown: there were too many");
        assert_eq!(PLAIN.line(r#"{"lost":12}"#).unwrap(), "… 12 calls not shown: there were too many");
        let colored = Look { colored: true, with_details: false };
        assert!(colored.line(r#"{"lost":12}"#).unwrap().starts_with("\x1b[33m"));
    }
}
