//! Gauges that the application registers.

use super::family::Families;
use convoke_calls::gauge::SubmittedGauge;
use convoke_calls::runtime::Runtime;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let mut gauges: Vec<&SubmittedGauge> = inventory::iter::<SubmittedGauge>().collect();
    gauges.sort_by_key(|gauge| gauge.name);
    // Scrapers reject a page with two families of the same name.
    gauges.dedup_by_key(|gauge| gauge.name);
    for gauge in gauges {
        families.gauge(gauge.name, gauge.help, (gauge.read)(runtime));
    }
}
