//! How a job ended.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use convoke_core::error::Error;

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "status", content = "value", rename_all = "camelCase")]
pub enum Ended<T> {
    /// The function returned this value.
    Value(T),
    /// The last attempt failed with this error.
    Error(JobError),
    /// The job was cancelled before it ran, or a newer job took its place.
    Cancelled,
}

/// The error of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobError {
    /// The code, such as `PROVIDER_ERROR`.
    pub code: String,
    /// The message, as a client sees it.
    pub message: String,
}

impl JobError {
    pub(crate) fn of(error: &Error) -> Self {
        Self { code: error.code().as_str().to_owned(), message: error.message().to_owned() }
    }
}

/// Returns the outcome of a function that returned this JSON.
pub(crate) fn value(json: Option<&RawValue>) -> Ended<&RawValue> {
    Ended::Value(json.unwrap_or(RawValue::NULL))
}
