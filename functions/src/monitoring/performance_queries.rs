//! The figures of functions and subscriptions, as clients read them.
//!
//! The runtime counts calls, `realtime/leases` counts validations; here stands who sees what of it, and in which form.

use std::collections::HashMap;
use std::time::Duration;

use convoke::function::Kind;
use convoke::leases::Lease;
use convoke::performance::{self, FunctionStats};
use convoke::prelude::*;
use convoke::{Context, args, query, value};
use schema::{BucketSize, ClientToken, FunctionName, TimeWindow, User};

use super::trend::{self, LastBucket};
use crate::access;
use crate::realtime::leases::{self, Subscription};

/// The longest series: what a chart shows.
const BUCKETS_MAX: i64 = 2_000;
/// Subscriptions of one answer, which thereby stays under the size of a page. The figures over all count the rest too.
const SUBSCRIPTIONS_MAX: usize = 10_000;

/// What [`get_performance_trends`] takes.
///
/// ```json
/// {"functionName": "meetings/lifecycle/createMeeting", "timeWindowMs": 3600000, "bucketSizeMs": 60000}
/// ```
#[args]
pub struct GetPerformanceTrends {
    /// How much time one point covers, in milliseconds.
    #[default(BucketSize::default())]
    pub bucket_size_ms: BucketSize,
    /// A path with `/` or `:` before the function, or a function's bare name. Absent: all functions together.
    pub function_name: Option<FunctionName>,
    /// How far back the series goes, in milliseconds.
    #[default(TimeWindow::default())]
    pub time_window_ms: TimeWindow,
}

/// The course of a function over time.
///
/// ```json
/// {"timeSeries": [{"timestamp": 1767225600000, "callCount": 12, "errorCount": 1, "avgLatency": 0.41,
///   "p95Latency": 1.2, "successRate": 0.9166666666666666}],
///  "trends": {"errorTrend": "stable", "latencyTrend": "improving", "throughputTrend": "increasing"}}
/// ```
#[value(output)]
pub struct PerformanceTrends {
    /// Contiguous buckets, the oldest first; the last one holds this moment.
    pub time_series: Vec<TrendPoint>,
    pub trends: TrendLabels,
}

/// The calls that ended within one bucket. Latencies are in milliseconds.
#[value(output)]
pub struct TrendPoint {
    /// When it begins: a multiple of its size.
    pub timestamp: Millis,
    /// How many there are.
    pub call_count: u64,
    /// How many of them ended with an error.
    pub error_count: u64,
    /// Over all calls; 0 without any.
    pub avg_latency: f64,
    /// By nearest rank; 0 without calls.
    pub p95_latency: f64,
    /// 0 … 1; 1 without calls.
    pub success_rate: f64,
}

/// Where it is going.
#[value(output)]
pub struct TrendLabels {
    /// `improving`, `stable` or `degrading`.
    pub error_trend: String,
    /// `improving`, `stable` or `degrading`.
    pub latency_trend: String,
    /// `increasing`, `stable` or `decreasing`.
    pub throughput_trend: String,
}

/// How often a function was called, how long it took and how often it failed, over time.
///
/// # Errors
/// - `INVALID_ARGUMENT`: "Too many buckets (max 2000)".
/// - `UNAUTHENTICATED`: nobody calls.
#[query(form = fits_a_chart(&args), rights = access::user_or_key)]
pub fn get_performance_trends(
    ctx: &QueryCtx,
    _: Option<Doc<User>>,
    args: GetPerformanceTrends,
) -> Result<PerformanceTrends> {
    let (bucket_ms, buckets) = (args.bucket_size_ms.get(), args.buckets());
    let now = ctx.now().get();
    let from = now.div_euclid(bucket_ms) * bucket_ms - (buckets - 1) * bucket_ms;
    // The end is not part of the series, and this moment is.
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
    /// How many points the series has.
    fn buckets(&self) -> i64 {
        let (bucket_ms, window_ms) = (self.bucket_size_ms.get(), self.time_window_ms.get());
        (window_ms + bucket_ms - 1) / bucket_ms
    }
}

fn judged(bucket: &performance::Bucket) -> trend::Bucket {
    trend::Bucket { call_count: bucket.calls, error_count: bucket.errors, avg_latency: bucket.avg_latency_ms() }
}

impl TrendPoint {
    fn of(bucket: &performance::Bucket) -> Self {
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

/// What [`get_function_breakdown`] takes.
#[args]
pub struct GetFunctionBreakdown {
    /// How far back, in milliseconds.
    #[default(TimeWindow::default())]
    pub time_window_ms: TimeWindow,
}

/// All functions side by side.
///
/// ```json
/// {"functions": [{"functionName": "users/queries/getCurrentUser", "callCount": 12, "errorCount": 0, "successRate": 1,
///   "avgLatency": 0.2, "p50": 0.1, "p95": 0.4, "p99": 0.5, "sloCompliant": true}],
///  "summary": {"functionCount": 1, "callCount": 12, "errorCount": 0, "successRate": 1, "avgLatency": 0.2,
///   "sloBreaches": 0}}
/// ```
#[value(output)]
pub struct FunctionBreakdown {
    /// Those that were called, by path.
    pub functions: Vec<FunctionPerformance>,
    pub summary: PerformanceSummary,
}

/// The calls of one function. Latencies are in milliseconds.
#[value(output)]
pub struct FunctionPerformance {
    /// Its path.
    pub function_name: String,
    /// How often it was called.
    pub call_count: u64,
    /// How many of the calls ended with an error.
    pub error_count: u64,
    /// 0 … 1.
    pub success_rate: f64,
    /// The mean over all calls.
    pub avg_latency: f64,
    /// Half of the calls took at most so long.
    pub p50: f64,
    /// 95 % of the calls took at most so long.
    pub p95: f64,
    /// 99 % of the calls took at most so long.
    pub p99: f64,
    /// Of a query: whether 95 % took at most 120 ms and 99 % at most 250 ms. Nothing is promised of the others.
    pub slo_compliant: bool,
}

/// All calls together.
#[value(output)]
pub struct PerformanceSummary {
    /// Functions that were called.
    pub function_count: usize,
    /// Calls of all functions.
    pub call_count: u64,
    /// How many of them ended with an error.
    pub error_count: u64,
    /// 0 … 1; 1 without calls.
    pub success_rate: f64,
    /// In milliseconds, over all calls.
    pub avg_latency: f64,
    /// Functions that are not compliant.
    pub slo_breaches: usize,
}

/// The longest that 95 % and 99 % of a query's calls may take, ms.
const QUERY_P95_MS: f64 = 120.0;
const QUERY_P99_MS: f64 = 250.0;

/// How often each function was called, how long it took and how often it failed.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
#[query(rights = access::user_or_key)]
pub fn get_function_breakdown(
    ctx: &QueryCtx,
    _: Option<Doc<User>>,
    args: GetFunctionBreakdown,
) -> Result<FunctionBreakdown> {
    let now = ctx.now();
    let window = Duration::from_millis(args.time_window_ms.get().unsigned_abs());
    let called = ctx.performance().breakdown(now - window, Millis(now.get() + 1))?;
    let mut total = performance::Bucket::default();
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

/// Whether calls of a function of this kind are as quick as is promised; percentiles in ms.
fn is_compliant(kind: Option<Kind>, p95: f64, p99: f64) -> bool {
    match kind {
        Some(Kind::Query) => p95 <= QUERY_P95_MS && p99 <= QUERY_P99_MS,
        Some(Kind::Mutation | Kind::Action) | None => true,
    }
}

/// What [`get_subscription_metrics`] takes.
#[args]
pub struct GetSubscriptionMetrics {
    /// Only this one is listed.
    pub subscription_id: Option<ClientToken>,
}

/// How subscriptions are doing.
///
/// ```json
/// {"subscriptions": [{"subscriptionId": "notes-1", "durationMs": 60000, "updateCount": 3, "avgLatency": 0.2,
///   "updatesPerSecond": 0.05, "errors": 0, "lastUpdate": 1767225600000, "sloCompliant": true}],
///  "globalStats": {"totalActiveSubscriptions": 1, "totalUpdates": 3, "avgUpdatesPerSecond": 0.05, "sloBreaches": 0},
///  "bandwidthStats": {"activeSubscriptions": 1, "totalUpdates": 3}}
/// ```
#[value(output)]
pub struct SubscriptionMetrics {
    /// In the order in which they were opened.
    pub subscriptions: Vec<SubscriptionFigures>,
    /// Over all that the caller may see.
    pub global_stats: GlobalStats,
    /// Of all processes, over the last minute.
    pub bandwidth_stats: BandwidthStats,
}

/// One subscription.
#[value(output)]
pub struct SubscriptionFigures {
    /// The client's own name of it.
    pub subscription_id: String,
    /// Since it follows what it follows.
    pub duration_ms: i64,
    /// How often it was validated.
    pub update_count: u64,
    /// How long that took, in milliseconds.
    pub avg_latency: f64,
    /// How often it is validated.
    pub updates_per_second: f64,
    /// How often it was found not valid.
    pub errors: u64,
    /// When it was validated last.
    pub last_update: Millis,
    /// Whether validating takes at most 150 ms and comes at most ten times a second.
    pub slo_compliant: bool,
}

/// Subscriptions together.
#[value(output)]
pub struct GlobalStats {
    /// How many there are.
    pub total_active_subscriptions: usize,
    /// How often they were validated, all together.
    pub total_updates: u64,
    /// The mean over the subscriptions; 0 without any.
    pub avg_updates_per_second: f64,
    /// Those that are not compliant.
    pub slo_breaches: usize,
}

/// What passed through all processes.
#[value(output)]
pub struct BandwidthStats {
    /// Subscriptions that were validated.
    pub active_subscriptions: u64,
    /// How often.
    pub total_updates: u64,
}

/// The longest that validating may take, ms, and the most often that it may come, a second.
const VALIDATION_MS: f64 = 150.0;
const VALIDATIONS_PER_SECOND: f64 = 10.0;

/// Statistics of the caller's subscriptions; an admin sees those of their organization, a deploy key all.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
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

/// The subscriptions that the caller may see, in the order of opening.
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
    fn only_queries_have_a_promise_to_break() {
        let query = |p95, p99| is_compliant(Some(Kind::Query), p95, p99);
        assert!(query(120.0, 250.0));
        assert!(!query(120.1, 250.0));
        assert!(!query(120.0, 250.1));
        for kind in [Some(Kind::Mutation), Some(Kind::Action), None] {
            assert!(is_compliant(kind, 5_000.0, 5_000.0), "{kind:?}");
        }
    }
}
