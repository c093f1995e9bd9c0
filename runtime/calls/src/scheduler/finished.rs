//! The arguments of the mutation that receives the outcome of a job.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::function::{Args, Function};
use crate::rows::job::Job;
use crate::rows::outcome::Ended;
use convoke_core::id::Id;

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
