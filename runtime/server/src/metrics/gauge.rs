//! Figures of the application, as it registers them.

use super::family::Families;
use convoke_calls::gauge::SubmittedGauge;
use convoke_calls::runtime::Runtime;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let mut gauges: Vec<&SubmittedGauge> = inventory::iter::<SubmittedGauge>().collect();
    gauges.sort_by_key(|gauge| gauge.name);
    // A page with two families of one name is refused whole.
    gauges.dedup_by_key(|gauge| gauge.name);
    for gauge in gauges {
        families.gauge(gauge.name, gauge.help, (gauge.read)(runtime));
    }
}
