//! Metrics of workflows.

use super::family::Families;
use convoke_calls::runtime::Runtime;
use convoke_calls::workflow::RunState;

pub(super) async fn write(families: &mut Families, runtime: &Runtime) {
    if runtime.scheduler().workflows().is_empty() {
        return;
    }
    let mut counts = Vec::new();
    for state in RunState::ALL {
        let Ok(count) = runtime.runs().count(*state).await else { return };
        counts.push(([("state", state.as_str())], count as f64));
    }
    families.gauges(
        "convoke_workflow_runs",
        "Runs of workflows in the database, by state. A blocked run waits for code that fits its journal.",
        counts,
    );
}
