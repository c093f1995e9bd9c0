//! The HTTP statuses of errors on the routes of files. Clients there are browsers, players and tus clients, which read
//! the status and not the envelope.

use hyper::header::{HeaderName, HeaderValue};

use crate::retry_after::retry_after_s;
use convoke_calls::call::envelope;
use convoke_calls::logs::LogLines;
use convoke_core::error::{Code, Error};
use convoke_http::Reply;

/// Returns the response to a request that failed.
pub(super) fn failed(error: &Error, fields: Vec<(HeaderName, HeaderValue)>) -> Reply {
    if error.code() == Code::Internal {
        tracing::error!(target: "convoke::files", "{}", error.chain());
    }
    let status = status(error.code());
    Reply {
        retry_after_s: retry_after_s(status, error),
        fields,
        ..Reply::json(status, envelope::failure(error, &LogLines::default()))
    }
}

fn status(code: Code) -> u16 {
    match code {
        Code::Unauthenticated => 401,
        Code::Forbidden => 403,
        Code::NotFound => 404,
        Code::InvalidArgument => 400,
        Code::Conflict => 409,
        Code::FailedPrecondition => 410,
        Code::RateLimited => 429,
        Code::Timeout | Code::Unavailable => 503,
        code => code.status(),
    }
}
