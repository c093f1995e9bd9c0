//! The envelope of every response body under `/api/*`.

use bytes::Bytes;
use serde::Serialize;

use super::dispatch::Outcome;
use crate::codec::{Format, convex_json};
use crate::logs::LogLines;
use convoke_core::answer::pieces::Pieces;
use convoke_core::error::{Code, Error};

/// The responses that carry `logLines`. An error always does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
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
/// The value is already in the call's format.
pub fn write(outcome: Outcome, format: Format, log_lines: LogLinesOn) -> (u16, Pieces) {
    match outcome.result.and_then(|value| of_value(value, &outcome.log_lines, log_lines)) {
        Ok(body) => (200, body),
        Err(error) => {
            let error = match format {
                Format::Json => error,
                Format::ConvexEncoded => encoded_error(error),
            };
            (error.code().status(), Bytes::from(failure(&error, &outcome.log_lines)).into())
        }
    }
}

/// Returns an error whose data is in Convex's value format.
///
/// Convex clients throw the data alone, so the data also has the message, as `message`, unless the function set that
/// member itself.
pub fn encoded_error(error: Error) -> Error {
    let error = match error.data().contains_key(MESSAGE) {
        true => error,
        false => {
            let message = error.message().to_owned();
            error.with(MESSAGE, message)
        }
    };
    error.with_data(convex_json::encode_members)
}

/// Returns the body of a success with this JSON, without log lines.
pub fn success(value: Bytes) -> Pieces {
    Pieces::from(value).between(HEAD, [TAIL, b"}"].concat())
}

/// Writes the same body to a buffer of the caller.
///
/// # Errors
/// The value has no JSON form.
pub fn write_success(body: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    body.extend_from_slice(HEAD);
    serde_json::to_writer(&mut *body, value)?;
    body.extend_from_slice(TAIL);
    body.push(b'}');
    Ok(())
}

const MESSAGE: &str = "message";
const HEAD: &[u8] = b"{\"status\":\"success\",\"value\":";
const TAIL: &[u8] = b",\"errorMessage\":\"\",\"errorData\":{}";

fn of_value(value: Pieces, lines: &LogLines, log_lines: LogLinesOn) -> Result<Pieces, Error> {
    let mut tail = Vec::with_capacity(TAIL.len() + 1);
    tail.extend_from_slice(TAIL);
    if log_lines == LogLinesOn::Always {
        tail.extend_from_slice(b",\"logLines\":");
        serde_json::to_writer(&mut tail, lines).map_err(Error::internal)?;
    }
    tail.push(b'}');
    Ok(value.between(HEAD, tail))
}

/// Returns the body of an error.
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
