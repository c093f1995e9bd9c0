//! The handler that returns calls, errors and latencies of functions over the last hour, day or week.

use std::str::FromStr;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Admin, AdminRequest, success};
use convoke_calls::performance::{Bucket, FunctionStats};
use convoke_core::error::Result;
use convoke_http::Reply;

/// The length of a period that ends now, and the length of its buckets.
#[derive(Clone, Copy)]
struct Range {
    length: Duration,
    bucket: Duration,
}

impl FromStr for Range {
    type Err = &'static str;

    fn from_str(text: &str) -> std::result::Result<Self, Self::Err> {
        const MINUTE: u64 = 60;
        const HOUR: u64 = 60 * MINUTE;
        let (length, bucket) = match text {
            "hour" => (HOUR, MINUTE),
            "day" => (24 * HOUR, 15 * MINUTE),
            "week" => (7 * 24 * HOUR, 2 * HOUR),
            _ => return Err("must be hour, day or week"),
        };
        Ok(Self { length: Duration::from_secs(length), bucket: Duration::from_secs(bucket) })
    }
}

/// `GET performance?range=&function=`: returns the metrics of one function, or of all, over the last `hour` (by
/// default), `day` or `week`: `{"bucketMs", "buckets": […], "functions": […]}`. Each bucket and each function has
/// `{calls, errors, p50, p95, p99}`, latencies in milliseconds. Functions without calls are omitted.
///
/// # Errors
/// `INVALID_ARGUMENT`: an unknown range; a failure of the store.
pub async fn show(admin: &Admin, request: AdminRequest) -> Result<Reply> {
    let Range { length, bucket } = match request.query_as::<Range>("range")? {
        Some(range) => range,
        None => Range { length: Duration::from_secs(3_600), bucket: Duration::from_secs(60) },
    };
    let function = request.query("function");
    let (history, end) = (admin.runtime.history().clone(), admin.runtime.clock().now());
    let read = admin.runtime.database().read_admin(move |db| {
        let performance = history.at(db);
        let buckets = performance.series(function.as_deref(), end - length, end, bucket)?;
        let functions = if function.is_none() { performance.breakdown(end - length, end)? } else { Vec::new() };
        Ok((buckets, functions))
    });
    let (buckets, functions) = read.await?;
    let buckets: Vec<_> = buckets.iter().map(shown).collect();
    let named = |one: &FunctionStats| {
        let mut value = shown(&one.stats);
        value["path"] = (&*one.function).into();
        value
    };
    let functions: Vec<_> = functions.iter().map(named).collect();
    success(&json!({ "bucketMs": bucket.as_millis() as u64, "buckets": buckets, "functions": functions }))
}

fn shown(bucket: &Bucket) -> Value {
    json!({
        "at": bucket.timestamp,
        "calls": bucket.calls,
        "errors": bucket.errors,
        "p50": bucket.p50_us / 1_000.0,
        "p95": bucket.p95_us / 1_000.0,
        "p99": bucket.p99_us / 1_000.0,
    })
}
