//! The envelope every body of `/api/*` is.

use serde::Serialize;

use super::decode::Format;
use super::dispatch::Outcome;
use super::encoded;
use crate::error::{Code, Error};
use crate::logs::LogLines;

/// When a success carries `logLines`; an error always does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLinesOn {
    /// Errors only.
    #[default]
    Error,
    /// Successes too.
    Always,
}

/// `{"status":"success","value":…,"errorMessage":"","errorData":{}}` or
/// `{"status":"error","errorMessage":"…","errorData":{"code":…},"logLines":[…]}`, and its HTTP status.
///
/// The value is in the call's format already.
pub fn write(outcome: Outcome, format: Format, log_lines: LogLinesOn) -> (u16, Vec<u8>) {
    match outcome.result.and_then(|value| of_value(&value, &outcome.log_lines, log_lines)) {
        Ok(body) => (200, body),
        Err(error) => {
            let error = match format {
                Format::Json => error,
                Format::ConvexEncoded => error.with_data(encoded::encode_members),
            };
            (error.code().status(), failure(&error, &outcome.log_lines))
        }
    }
}

/// The body of a success with this JSON, without lines.
pub fn success(value: &[u8]) -> Vec<u8> {
    let mut body = open(value);
    body.push(b'}');
    body
}

fn of_value(value: &[u8], lines: &LogLines, log_lines: LogLinesOn) -> Result<Vec<u8>, Error> {
    let mut body = open(value);
    if log_lines == LogLinesOn::Always {
        body.extend_from_slice(b",\"logLines\":");
        serde_json::to_writer(&mut body, lines).map_err(Error::internal)?;
    }
    body.push(b'}');
    Ok(body)
}

/// The envelope of a value, all but its last brace.
fn open(value: &[u8]) -> Vec<u8> {
    const HEAD: &[u8] = b"{\"status\":\"success\",\"value\":";
    const TAIL: &[u8] = b",\"errorMessage\":\"\",\"errorData\":{}";
    let mut body = Vec::with_capacity(HEAD.len() + value.len() + TAIL.len() + 1);
    body.extend_from_slice(HEAD);
    body.extend_from_slice(value);
    body.extend_from_slice(TAIL);
    body
}

/// The body of an error.
pub fn failure(error: &Error, lines: &LogLines) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Failure<'a> {
        status: &'static str,
        error_message: &'a str,
        error_data: &'a Error,
        log_lines: &'a LogLines,
    }
    let failure = Failure { status: "error", error_message: error.message(), error_data: error, log_lines: lines };
    serde_json::to_vec(&failure).unwrap_or_else(|_| {
        format!(r#"{{"status":"error","errorMessage":"","errorData":{{"code":"{}"}},"logLines":[]}}"#, Code::Internal)
            .into_bytes()
    })
}
