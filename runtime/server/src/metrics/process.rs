//! Metrics of the process and its build.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::family::Families;
use convoke_calls::runtime::Runtime;

/// The counter of dropped lines of the operator's log, once the log is installed.
static LOG: OnceLock<Arc<AtomicU64>> = OnceLock::new();

/// Registers the counter of dropped lines of the operator's log.
pub fn watch_log(left_out: Arc<AtomicU64>) {
    // A process has one log.
    let _ = LOG.set(left_out);
}

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    families.gauges("convoke_build_info", "The runtime's version; always 1.", [(version, 1.0)]);
    let ready = if runtime.ready().is_ok() { 1.0 } else { 0.0 };
    families.gauge("convoke_ready", "1 if calls are served, as in /readyz; else 0.", ready);
    if let Some(left_out) = LOG.get() {
        families.counter(
            "convoke_log_lines_dropped_total",
            "Lines of the operator's log that were dropped because its reader was too slow.",
            left_out.load(Ordering::Relaxed),
        );
    }
    write_standard(families);
}

/// Writes the standard `process_…` metrics. The collector of the crate `prometheus` would add a second rustix and
/// procfs to the build of every application.
#[cfg(target_os = "linux")]
fn write_standard(families: &mut Families) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, in brackets, may contain spaces. Field 3 is the first field after it.
    let fields: Vec<f64> = stat
        .rsplit_once(')')
        .map(|(_, rest)| rest.split_ascii_whitespace().map(|field| field.parse().unwrap_or_default()).collect())
        .unwrap_or_default();
    let field = |number: usize| fields.get(number - 3).copied().unwrap_or_default();
    let ticks = rustix::param::clock_ticks_per_second() as f64;
    let gauges = [
        ("process_threads", "Threads of the process.", field(20)),
        ("process_start_time_seconds", "Start of the process, Unix time.", boot_time() + field(22) / ticks),
        ("process_virtual_memory_bytes", "Virtual memory of the process.", field(23)),
        (
            "process_resident_memory_bytes",
            "Resident memory of the process.",
            field(24) * rustix::param::page_size() as f64,
        ),
        (
            "process_open_fds",
            "Open file descriptors.",
            std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as f64,
        ),
        ("process_max_fds", "Most open file descriptors that the system allows.", open_files_max()),
    ];
    for (name, help, value) in gauges {
        families.gauge(name, help, value);
    }
    let seconds = ((field(14) + field(15)) / ticks) as u64;
    families.counter("process_cpu_seconds_total", "Processor time of the process, user and system.", seconds);
}

/// Returns the Unix time of the system's start, in seconds.
#[cfg(target_os = "linux")]
fn boot_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    stat.lines().find_map(|line| line.strip_prefix("btime ")?.parse().ok()).unwrap_or_default()
}

#[cfg(target_os = "linux")]
fn open_files_max() -> f64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(f64::INFINITY, |limit| limit as f64)
}

/// Other systems have no `/proc`.
#[cfg(not(target_os = "linux"))]
fn write_standard(_: &mut Families) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn process_metrics_match_the_system() {
        let mut families = Families::default();
        write_standard(&mut families);
        let families = families.into_inner();
        let value = |name: &str| {
            let family = families.iter().find(|family| family.name() == name).unwrap();
            let metric = &family.get_metric()[0];
            metric.get_gauge().get_value() + metric.get_counter().get_value()
        };
        // The modification time of the process's folder is its start, to the tick.
        let folder = std::fs::metadata("/proc/self/stat").unwrap().modified().unwrap();
        let folder = folder.duration_since(std::time::UNIX_EPOCH).unwrap().as_secs_f64();
        let start = value("process_start_time_seconds");
        assert!(start < folder + 2.0 && start > folder - 86_400.0, "{start} {folder}");
        assert!(value("process_resident_memory_bytes") > 1_000_000.0);
        assert!(value("process_virtual_memory_bytes") >= value("process_resident_memory_bytes"));
        assert!(value("process_open_fds") >= 3.0 && value("process_open_fds") <= value("process_max_fds"));
        assert!(value("process_threads") >= 1.0);
    }
}
