//! Metrics of the streams of log lines.

use super::family::Families;
use convoke_calls::runtime::Runtime;

pub(super) fn write(families: &mut Families, runtime: &Runtime) {
    let Some(streams) = runtime.log_streams() else { return };
    let counts = streams.counts();
    let numbers: Vec<String> = (1..=counts.len()).map(|number| number.to_string()).collect();
    let labelled = |of: fn(&convoke_calls::log_streams::Counts) -> u64| {
        numbers.iter().zip(&counts).map(move |(number, counts)| ([("stream", &**number)], of(counts)))
    };
    families.counters(
        "convoke_log_stream_lines_total",
        "Lines that were written, by the position of the stream in the settings.",
        labelled(|counts| counts.written),
    );
    families.counters(
        "convoke_log_stream_lost_total",
        "Lines that were lost because the file or the webhook accepted none for too long, by the position of the stream.",
        labelled(|counts| counts.lost),
    );
}
