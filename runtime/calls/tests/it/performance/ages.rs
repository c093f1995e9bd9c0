//! Figures on their way: into the table, over restarts, from seconds to minutes, and out after a week.

use std::time::Duration;

use convoke::Millis;
use convoke::testing::{START, TestApp};
use convoke_calls::performance::Bucket;
use proptest::prelude::*;

use super::counts::series;

const ANSWER: &str = "performance/functions/answer";
const OTHER: &str = "performance/functions/planLater";
const HOUR: Duration = Duration::from_secs(3_600);

fn calls(buckets: &[Bucket]) -> u64 {
    buckets.iter().map(|bucket| bucket.calls).sum()
}

fn since_start(app: &TestApp, name: Option<&str>, bucket: Duration) -> Vec<Bucket> {
    series(app, name, START, app.now() + Duration::from_millis(1), bucket)
}

#[test]
fn restart_keeps_metrics_and_continues_the_minute() {
    let mut app = TestApp::new();
    app.record_call(ANSWER, Duration::from_millis(5), true);
    app.block_on(app.store_all_performance()).unwrap();
    app.restart();
    app.record_call(ANSWER, Duration::from_millis(7), false);
    let second = Duration::from_secs(1);
    for _ in 0..2 {
        let found = since_start(&app, Some(ANSWER), second);
        assert_eq!((found[0].calls, found[0].errors, found[0].latency_us), (2, 1, 12_000));
        let all = since_start(&app, None, second);
        assert_eq!((all[0].calls, all[0].errors), (2, 1));
        app.block_on(app.store_all_performance()).unwrap();
    }
}

#[test]
fn minute_is_counted_once_before_during_and_after_its_write() {
    let app = TestApp::new();
    for minute in 1..=12u64 {
        app.record_call(ANSWER, Duration::from_millis(minute), true);
        app.clock().advance(Duration::from_secs(60));
        assert_eq!(calls(&since_start(&app, Some(ANSWER), Duration::from_secs(60))), minute);
        app.block_on(app.store_performance()).unwrap();
        assert_eq!(calls(&since_start(&app, Some(ANSWER), Duration::from_secs(60))), minute);
        assert_eq!(calls(&since_start(&app, None, Duration::from_secs(60))), minute);
    }
}

#[test]
fn old_metrics_are_merged_and_expire_after_a_week() {
    let app = TestApp::new();
    for second in 0..120u64 {
        app.clock().set(START + Duration::from_secs(second));
        app.record_call(ANSWER, Duration::from_micros(100 + second), second % 3 != 0);
    }
    let full = |app: &TestApp, bucket| {
        let found = series(app, Some(ANSWER), START, START + HOUR, bucket);
        found.iter().filter(|bucket| bucket.calls > 0).map(|bucket| bucket.calls).collect::<Vec<_>>()
    };
    let second = Duration::from_secs(1);
    assert_eq!(full(&app, second), [1; 120]);
    // Batches leave the memory with the following ones.
    let turn = |app: &TestApp, by: Duration| {
        app.clock().advance(by);
        for _ in 0..6 {
            app.record_call(OTHER, second, true);
            app.clock().advance(Duration::from_secs(60));
            app.block_on(app.store_performance()).unwrap();
        }
    };
    turn(&app, Duration::ZERO);
    assert_eq!(full(&app, second), [1; 120]);
    turn(&app, HOUR + HOUR / 2);
    assert_eq!(full(&app, second), [10; 12]);
    turn(&app, 25 * HOUR);
    assert_eq!(full(&app, second), [60; 2]);
    let merged = &series(&app, Some(ANSWER), START, START + HOUR, HOUR)[0];
    assert_eq!((merged.calls, merged.errors), (120, 40));
    assert_eq!(merged.latency_us, (0..120).map(|second| 100 + second).sum::<u64>());
    assert_eq!((merged.p50_us, merged.p95_us, merged.p99_us), (159.0, 213.0, 218.0));
    turn(&app, 5 * 24 * HOUR);
    assert_eq!(full(&app, second), [60; 2]);
    turn(&app, 2 * 24 * HOUR);
    assert_eq!(full(&app, second), [0; 0]);
}

#[derive(Clone, Debug)]
enum Step {
    Call { which: bool, latency_us: u64, ok: bool },
    Wait(u64),
    Store,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let latency = (0u32..24).prop_flat_map(|bits| 1..=2u64 << bits);
    prop_oneof![
        8 => (any::<bool>(), latency, any::<bool>())
            .prop_map(|(which, latency_us, ok)| Step::Call { which, latency_us, ok }),
        3 => prop_oneof![1u64..5, 30u64..90, 500u64..4_000, 3_600u64..30_000].prop_map(Step::Wait),
        2 => Just(Step::Store),
        1 => Just(Step::Restart),
    ]
}

/// An hour divides no finer than any span that figures are kept by: whatever became of them, it is exact.
fn assert_exact(app: &TestApp, name: &str, model: &[(Millis, u64, bool)]) {
    let hour = 3_600_000;
    for bucket in since_start(app, Some(name), HOUR) {
        let inside = |at: Millis| at.0.div_euclid(hour) * hour == bucket.timestamp.0;
        let mut exact: Vec<u64> = model.iter().filter(|(at, ..)| inside(*at)).map(|(_, latency, _)| *latency).collect();
        exact.sort_unstable();
        let errors = model.iter().filter(|(at, _, ok)| inside(*at) && !ok).count();
        assert_eq!((bucket.calls, bucket.errors), (exact.len() as u64, errors as u64));
        assert_eq!(bucket.latency_us, exact.iter().sum::<u64>());
        for (percent, found) in [(50, bucket.p50_us), (95, bucket.p95_us), (99, bucket.p99_us)] {
            let rank = (exact.len() * percent).div_ceil(100);
            let exact = if rank == 0 { 0.0 } else { exact[rank - 1] as f64 };
            assert!((found - exact).abs() <= exact / 1_000.0, "p{percent}: {found} instead of {exact}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn metrics_are_neither_lost_nor_duplicated(
        steps in prop::collection::vec(step(), 1..60)
    ) {
        let mut app = TestApp::new();
        let mut model = [Vec::new(), Vec::new()];
        let mut waited = 0;
        for step in steps {
            match step {
                Step::Call { which, latency_us, ok } => {
                    let name = if which { ANSWER } else { OTHER };
                    app.record_call(name, Duration::from_micros(latency_us), ok);
                    model[usize::from(which)].push((app.now(), latency_us, ok));
                }
                // Within a week, so that nothing goes.
                Step::Wait(seconds) if waited + seconds < 6 * 86_400 => {
                    waited += seconds;
                    app.clock().advance(Duration::from_secs(seconds));
                }
                Step::Wait(_) => {}
                Step::Store => app.block_on(app.store_performance()).unwrap(),
                Step::Restart => {
                    app.block_on(app.store_all_performance()).unwrap();
                    app.restart();
                }
            }
        }
        assert_exact(&app, OTHER, &model[0]);
        assert_exact(&app, ANSWER, &model[1]);
        prop_assert_eq!(calls(&since_start(&app, None, HOUR)), (model[0].len() + model[1].len()) as u64);
    }
}
