//! Performance data of functions and subscriptions for clients.
//!
//! The runtime counts calls, and `realtime/leases` counts validations. This module defines who sees which part, and the
//! format.

use std::collections::HashMap;
use std::time::Duration;

use convoke::embed::{self, FunctionStats, Kind};
use convoke::prelude::*;
use convoke::scheduler::Lease;
use convoke::{Context, args, query, value};
use schema::{BucketSize, ClientToken, FunctionName, TimeWindow, User};

use super::trend::{self, LastBucket};
use crate::access;
use crate::realtime::leases::{self, Subscription};

/// Longest series, for a chart.
const BUCKETS_MAX: i64 = 2_000;
/// Most subscriptions in a response, which keeps it below the size of a page. The totals include the others too.
const SUBSCRIPTIONS_MAX: usize = 10_000;

/// Arguments of [`get_performance_trends`].
///
/// ```json
/// {"functionName": "meetings/lifecycle/createMeeting", "timeWindowMs": 3600000, "bucketSizeMs": 60000}
/// ```
#[args]
pub struct GetPerformanceTrends {
    /// Time covered by one point, in milliseconds.
    #[default(BucketSize::default())]
    pub bucket_size_ms: BucketSize,
    /// A path with `/` or `:` before the function, or only the name of the function. Absent: all functions together.
    pub function_name: Option<FunctionName>,
    /// Length of the series up to now, in milliseconds.
    #[default(TimeWindow::default())]
    pub time_window_ms: TimeWindow,
}

/// Performance of a function over time.
///
/// ```json
/// {"timeSeries": [{"timestamp": 1767225600000, "callCount": 12, "errorCount": 1, "avgLatency": 0.41,
///   "p95Latency": 1.2, "successRate": 0.9166666666666666}],
///  "trends": {"errorTrend": "stable", "latencyTrend": "improving", "throughputTrend": "increasing"}}
/// ```
#[value(output)]
pub struct PerformanceTrends {
    /// Contiguous buckets, oldest first. The last one contains the current time.
    pub time_series: Vec<TrendPoint>,
    pub trends: TrendLabels,
}

/// Calls that ended within one bucket. Latencies are in milliseconds.
#[value(output)]
pub struct TrendPoint {
    /// Start of the bucket: a multiple of the bucket size.
    pub timestamp: Millis,
    /// Number of calls.
    pub call_count: u64,
    /// Number of calls that failed.
    pub error_count: u64,
    /// Mean over all calls; 0 without calls.
    pub avg_latency: f64,
    /// 95th percentile by nearest rank; 0 without calls.
    pub p95_latency: f64,
    /// Share of successful calls, 0 to 1; 1 without calls.
    pub success_rate: f64,
}

/// Directions of the trends.
#[value(output)]
pub struct TrendLabels {
    /// `improving`, `stable` or `degrading`.
    pub error_trend: String,
    /// `improving`, `stable` or `degrading`.
    pub latency_trend: String,
    /// `increasing`, `stable` or `decreasing`.
    pub throughput_trend: String,
}

/// Returns the number, latency and error rate of a function's calls over time.
///
/// # Errors
/// - `INVALID_ARGUMENT`: "Too many buckets (max 2000)".
/// - `UNAUTHENTICATED`: there is no caller.
#[query(form = fits_a_chart(&args), rights = access::user_or_key)]
pub fn get_performance_trends(
    ctx: &QueryCtx,
    _: Option<Doc<User>>,
    args: GetPerformanceTrends,
) -> Result<PerformanceTrends> {
    let (bucket_ms, buckets) = (args.bucket_size_ms.get(), args.buckets());
    let now = ctx.now().get();
    let from = now.div_euclid(bucket_ms) * bucket_ms - (buckets - 1) * bucket_ms;
    // The end is exclusive, and the current time is included.
    let bucket = Duration::from_millis(bucket_ms.unsigned_abs());
    let name = args.function_name.as_ref().map(FunctionName::as_str);
    let series = ctx.performance().series(name, Millis(from), Millis(now + 1), bucket)?;
    let last = if series.len() > 1 { LastBucket::Incomplete } else { LastBucket::Complete };
    let judged: Vec<trend::Bucket> = series.iter().map(judged).collect();
    let trends = trend::trends(&judged, last);
    Ok(PerformanceTrends {
        time_series: series.iter().map(TrendPoint::of).collect(),
        trends: TrendLabels {
            error_trend: trends.error.as_str().to_owned(),
            latency_trend: trends.latency.as_str().to_owned(),
            throughput_trend: trends.throughput.as_str().to_owned(),
        },
    })
}

fn fits_a_chart(_: &impl Context, args: &GetPerformanceTrends) -> Result<()> {
    if args.buckets() <= BUCKETS_MAX {
        return Ok(());
    }
    Err(Error::invalid_argument("bucketSizeMs", format!("Too many buckets (max {BUCKETS_MAX})")))
}

impl GetPerformanceTrends {
    /// Returns the number of points in the series.
    fn buckets(&self) -> i64 {
        let (bucket_ms, window_ms) = (self.bucket_size_ms.get(), self.time_window_ms.get());
        (window_ms + bucket_ms - 1) / bucket_ms
    }
}

fn judged(bucket: &embed::Bucket) -> trend::Bucket {
    trend::Bucket { call_count: bucket.calls, error_count: bucket.errors, avg_latency: bucket.avg_latency_ms() }
}

impl TrendPoint {
    fn of(bucket: &embed::Bucket) -> Self {
        Self {
            timestamp: bucket.timestamp,
            call_count: bucket.calls,
            error_count: bucket.errors,
            avg_latency: bucket.avg_latency_ms(),
            p95_latency: bucket.p95_us / 1_000.0,
            success_rate: bucket.success_rate(),
        }
    }
}

/// Arguments of [`get_function_breakdown`].
#[args]
pub struct GetFunctionBreakdown {
    /// Length of the time window up to now, in milliseconds.
    #[default(TimeWindow::default())]
    pub time_window_ms: TimeWindow,
}

/// Performance of each function.
///
/// ```json
/// {"functions": [{"functionName": "users/queries/getCurrentUser", "callCount": 12, "errorCount": 0, "successRate": 1,
///   "avgLatency": 0.2, "p50": 0.1, "p95": 0.4, "p99": 0.5, "sloCompliant": true}],
///  "summary": {"functionCount": 1, "callCount": 12, "errorCount": 0, "successRate": 1, "avgLatency": 0.2,
///   "sloBreaches": 0}}
/// ```
#[value(output)]
pub struct FunctionBreakdown {
    /// Functions that were called, by path.
    pub functions: Vec<FunctionPerformance>,
    pub summary: PerformanceSummary,
}

/// Calls of one function. Latencies are in milliseconds.
#[value(output)]
pub struct FunctionPerformance {
    /// Its path.
    pub function_name: String,
    /// Number of calls.
    pub call_count: u64,
    /// Number of calls that failed.
    pub error_count: u64,
    /// Share of successful calls, 0 to 1.
    pub success_rate: f64,
    /// Mean over all calls.
    pub avg_latency: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// True if 95 % of a query's calls took at most 120 ms and 99 % at most 250 ms. Always true for other functions.
    pub slo_compliant: bool,
}

/// Calls of all functions.
#[value(output)]
pub struct PerformanceSummary {
    /// Number of functions that were called.
    pub function_count: usize,
    /// Number of calls.
    pub call_count: u64,
    /// Number of calls that failed.
    pub error_count: u64,
    /// Share of successful calls, 0 to 1; 1 without calls.
    pub success_rate: f64,
    /// Mean in milliseconds, over all calls.
    pub avg_latency: f64,
    /// Number of functions with `sloCompliant` false.
    pub slo_breaches: usize,
}

/// Limits of the 95th and 99th percentile of a query, in ms.
const QUERY_P95_MS: f64 = 120.0;
const QUERY_P99_MS: f64 = 250.0;

/// Returns the number, latency and error rate of each function's calls.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[query(rights = access::user_or_key)]
pub fn get_function_breakdown(
    ctx: &QueryCtx,
    _: Option<Doc<User>>,
    args: GetFunctionBreakdown,
) -> Result<FunctionBreakdown> {
    let now = ctx.now();
    let window = Duration::from_millis(args.time_window_ms.get().unsigned_abs());
    let called = ctx.performance().breakdown(now - window, Millis(now.get() + 1))?;
    let mut total = embed::Bucket::default();
    for FunctionStats { stats, .. } in &called {
        total.calls += stats.calls;
        total.errors += stats.errors;
        total.latency_us += stats.latency_us;
    }
    let functions: Vec<FunctionPerformance> = called.iter().map(FunctionPerformance::of).collect();
    Ok(FunctionBreakdown {
        summary: PerformanceSummary {
            function_count: functions.len(),
            call_count: total.calls,
            error_count: total.errors,
            success_rate: total.success_rate(),
            avg_latency: total.avg_latency_ms(),
            slo_breaches: functions.iter().filter(|function| !function.slo_compliant).count(),
        },
        functions,
    })
}

impl FunctionPerformance {
    fn of(called: &FunctionStats) -> Self {
        let figures = &called.stats;
        let (p95, p99) = (figures.p95_us / 1_000.0, figures.p99_us / 1_000.0);
        Self {
            function_name: called.function.to_string(),
            call_count: figures.calls,
            error_count: figures.errors,
            success_rate: figures.success_rate(),
            avg_latency: figures.avg_latency_ms(),
            p50: figures.p50_us / 1_000.0,
            p95,
            p99,
            slo_compliant: is_compliant(called.kind, p95, p99),
        }
    }
}

/// Returns true if calls of a function of this kind meet the limits. Percentiles in ms.
fn is_compliant(kind: Option<Kind>, p95: f64, p99: f64) -> bool {
    match kind {
        Some(Kind::Query) => p95 <= QUERY_P95_MS && p99 <= QUERY_P99_MS,
        Some(Kind::Mutation | Kind::Action) | None => true,
    }
}

/// Arguments of [`get_subscription_metrics`].
#[args]
pub struct GetSubscriptionMetrics {
    /// Lists only this subscription.
    pub subscription_id: Option<ClientToken>,
}

/// Performance of subscriptions.
///
/// ```json
/// {"subscriptions": [{"subscriptionId": "notes-1", "durationMs": 60000, "updateCount": 3, "avgLatency": 0.2,
///   "updatesPerSecond": 0.05, "errors": 0, "lastUpdate": 1767225600000, "sloCompliant": true}],
///  "globalStats": {"totalActiveSubscriptions": 1, "totalUpdates": 3, "avgUpdatesPerSecond": 0.05, "sloBreaches": 0},
///  "bandwidthStats": {"activeSubscriptions": 1, "totalUpdates": 3}}
/// ```
#[value(output)]
pub struct SubscriptionMetrics {
    /// Subscriptions in the order of opening.
    pub subscriptions: Vec<SubscriptionFigures>,
    /// Totals of all subscriptions that the caller may see.
    pub global_stats: GlobalStats,
    /// Totals of all processes over the last minute.
    pub bandwidth_stats: BandwidthStats,
}

/// A subscription.
#[value(output)]
pub struct SubscriptionFigures {
    /// Id from the client.
    pub subscription_id: String,
    /// Time since it was opened, in milliseconds.
    pub duration_ms: i64,
    /// Number of validations.
    pub update_count: u64,
    /// Mean duration of a validation, in milliseconds.
    pub avg_latency: f64,
    /// Validations per second.
    pub updates_per_second: f64,
    /// Number of failed validations.
    pub errors: u64,
    /// Time of the last validation.
    pub last_update: Millis,
    /// True if a validation takes at most 150 ms and there are at most ten per second.
    pub slo_compliant: bool,
}

/// Totals of subscriptions.
#[value(output)]
pub struct GlobalStats {
    /// Number of subscriptions.
    pub total_active_subscriptions: usize,
    /// Number of validations.
    pub total_updates: u64,
    /// Mean over the subscriptions; 0 without subscriptions.
    pub avg_updates_per_second: f64,
    /// Number of subscriptions with `sloCompliant` false.
    pub slo_breaches: usize,
}

/// Totals of all processes.
#[value(output)]
pub struct BandwidthStats {
    /// Number of validated subscriptions.
    pub active_subscriptions: u64,
    /// Number of validations.
    pub total_updates: u64,
}

/// Longest validation in ms, and most validations per second.
const VALIDATION_MS: f64 = 150.0;
const VALIDATIONS_PER_SECOND: f64 = 10.0;

/// Returns statistics of the caller's subscriptions. An admin sees those of the own organization, a deploy key all.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[query(rights = access::user_or_key)]
pub fn get_subscription_metrics(
    ctx: &QueryCtx,
    user: Option<Doc<User>>,
    args: GetSubscriptionMetrics,
) -> Result<SubscriptionMetrics> {
    let now = ctx.now();
    let visible: Vec<SubscriptionFigures> =
        visible(ctx, user)?.iter().map(|lease| SubscriptionFigures::of(lease, now)).collect();
    let mean = |sum: f64| if visible.is_empty() { 0.0 } else { sum / visible.len() as f64 };
    let global_stats = GlobalStats {
        total_active_subscriptions: visible.len(),
        total_updates: visible.iter().map(|figures| figures.update_count).sum(),
        avg_updates_per_second: mean(visible.iter().map(|figures| figures.updates_per_second).sum()),
        slo_breaches: visible.iter().filter(|figures| !figures.slo_compliant).count(),
    };
    let (active_subscriptions, total_updates) = leases::traffic(ctx)?;
    let asked = |figures: &SubscriptionFigures| {
        args.subscription_id.as_ref().is_none_or(|id| id.as_str() == figures.subscription_id)
    };
    Ok(SubscriptionMetrics {
        subscriptions: visible.into_iter().filter(asked).take(SUBSCRIPTIONS_MAX).collect(),
        global_stats,
        bandwidth_stats: BandwidthStats { active_subscriptions, total_updates },
    })
}

/// Returns the subscriptions that the caller may see, in the order of opening.
fn visible(ctx: &QueryCtx, user: Option<Doc<User>>) -> Result<Vec<Lease<Id<User>, Subscription>>> {
    let Some(user) = user else { return leases::all(ctx) };
    if !access::is_admin(&user) {
        return leases::of_user(ctx, user.id());
    }
    let mut all = leases::all(ctx)?;
    let mut owners: Vec<Id<User>> = all.iter().map(|lease| lease.owner).collect();
    owners.sort_unstable();
    owners.dedup();
    let rows = ctx.db().get_many(&owners)?;
    let sees = |owner: Option<Doc<User>>| {
        owner.is_some_and(|owner| owner.id() == user.id() || access::administers(&user, &owner))
    };
    let seen: HashMap<Id<User>, bool> = owners.into_iter().zip(rows.into_iter().map(sees)).collect();
    all.retain(|lease| seen.get(&lease.owner).copied().unwrap_or(false));
    Ok(all)
}

impl SubscriptionFigures {
    fn of(lease: &Lease<Id<User>, Subscription>, now: Millis) -> Self {
        let held = &lease.value;
        let duration_ms = (now.get() - held.since.get()).max(0);
        let updates = held.updates as f64;
        let avg_latency = if held.updates == 0 { 0.0 } else { held.latency.as_secs_f64() * 1_000.0 / updates };
        let updates_per_second = updates / duration_ms.max(1_000) as f64 * 1_000.0;
        Self {
            subscription_id: lease.id.to_string(),
            duration_ms,
            update_count: held.updates,
            avg_latency,
            updates_per_second,
            errors: held.errors,
            last_update: held.last_update,
            slo_compliant: avg_latency <= VALIDATION_MS && updates_per_second <= VALIDATIONS_PER_SECOND,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_queries_have_latency_limits() {
        let query = |p95, p99| is_compliant(Some(Kind::Query), p95, p99);
        assert!(query(120.0, 250.0));
        assert!(!query(120.1, 250.0));
        assert!(!query(120.0, 250.1));
        for kind in [Some(Kind::Mutation), Some(Kind::Action), None] {
            assert!(is_compliant(kind, 5_000.0, 5_000.0), "{kind:?}");
        }
    }
}
