//! The limit of open files of the process. Each connection is an open file.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Open files in addition to connections: the store, the log, the libraries, outgoing calls.
const OTHERS: u64 = 512;

/// Raises the soft limit, which is often 1,024, to the needs of `connections_max`, up to the hard limit. Logs a warning
/// if that is not enough: further connections wait to be accepted.
pub(crate) fn raise_limit(connections_max: usize) {
    let needed = u64::try_from(connections_max).unwrap_or(u64::MAX).saturating_add(OTHERS);
    let limit = getrlimit(Resource::Nofile);
    // `None` means no limit.
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    let raised = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    let set = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum });
    if set.is_err() || raised < needed {
        let may = getrlimit(Resource::Nofile).current;
        tracing::warn!(needed, may, "this process may not open as many files as `connections_max` needs");
    }
}
