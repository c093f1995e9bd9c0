//! The outcome of a job, and the mutation that receives it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::job::{Job, JobKind};
use crate::function::{Args, Function};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_store::{DbMut, Doc};

/// The end of a job of the function `F`: the arguments of the mutation that `then` names.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound(serialize = "F::Output: Serialize", deserialize = "F::Output: DeserializeOwned"))]
pub struct Finished<F: Function> {
    /// The job. Its row exists only if it failed.
    pub job: Id<Job>,
    /// The arguments of the job.
    pub args: F::Args,
    /// How it ended.
    pub outcome: Ended<F::Output>,
}

impl<F: Function<Output: Clone>> Clone for Finished<F> {
    fn clone(&self) -> Self {
        Self { job: self.job, args: self.args.clone(), outcome: self.outcome.clone() }
    }
}

impl<F: Function> JsonSchema for Finished<F> {
    fn schema_name() -> Cow<'static, str> {
        format!("Finished_{}", F::DEF.name).into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Only the scheduler sends it.
        json_schema!({ "type": "object" })
    }
}

impl<F: Function<Output: Serialize + DeserializeOwned + Clone>> Args for Finished<F> {}

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

/// Schedules the mutation that receives the outcome of a job, in the transaction of its end.
pub(crate) fn report(db: &mut DbMut, job: &Doc<Job>, outcome: &Ended<&RawValue>, now: Millis) -> Result<()> {
    #[derive(Serialize)]
    struct Report<'a> {
        job: Id<Job>,
        args: &'a RawValue,
        outcome: &'a Ended<&'a RawValue>,
    }
    let Some(path) = job.then.clone() else { return Ok(()) };
    let args = serde_json::from_str(&job.args).map_err(Error::internal)?;
    let args = serde_json::to_string(&Report { job: job.id(), args, outcome }).map_err(Error::internal)?;
    let (issuer, subject) = (job.issuer.clone(), job.subject.clone());
    db.insert(Job { issuer, subject, asked_at: Some(now), ..Job::new(path, JobKind::Mutation, args, now) })?;
    Ok(())
}
