//! How many files the process may have open: each connection is one.

/// Files beside the connections: the store, the log, the libraries, calls to services outside.
const OTHERS: u64 = 512;

/// Raises the soft limit, which is often 1,024, towards what `connections_max` needs, as far as the hard limit lets.
/// If that is not far enough a warning says so: connections beyond it wait to be accepted.
#[cfg(unix)]
pub(crate) fn make_room(connections_max: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let needed = u64::try_from(connections_max).unwrap_or(u64::MAX).saturating_add(OTHERS);
    let limit = getrlimit(Resource::Nofile);
    // `None` is no limit.
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    let raised = limit.maximum.map_or(needed, |maximum| maximum.min(needed));
    let set = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum });
    if set.is_err() || raised < needed {
        let may = getrlimit(Resource::Nofile).current;
        tracing::warn!(needed, may, "this process may not open as many files as `connections_max` asks for");
    }
}

#[cfg(not(unix))]
pub(crate) fn make_room(_: usize) {}
