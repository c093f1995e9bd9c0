//! The memory for pages and rows, and its distribution over the connections. Each connection has a page cache of its
//! own. All caches together stay within one bound.

use convoke_core::limits::Limits;

const MIB: u64 = 1024 * 1024;

/// Largest page cache of the writer, in KiB.
///
/// An insert that splits a page of an index reorders pages, and at the commit SQLite then searches the whole cache. A
/// larger cache gains nothing: in a database of 1.3 GiB, inserts take the same time with 16 MiB and with 128 MiB.
const WRITER_KIB_MAX: u64 = 16 * 1_024;
/// Smallest page cache of a connection, in KiB.
const KIB_MIN: u64 = 64;
/// The page caches of a connection to a file without a server.
pub(crate) const OF_FILE: Kib = Kib { reader: 8 * 1_024, writer: 8 * 1_024 };

/// The page cache of each connection, in KiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kib {
    /// Of each reader.
    pub reader: u64,
    /// Of the writer.
    pub writer: u64,
}

/// Returns the page caches of the connections of a served database.
pub(crate) fn of_connections(limits: &Limits) -> Kib {
    let readers = u64::try_from(limits.readers.max(1)).unwrap_or(u64::MAX);
    let all = (bytes(limits) - bytes_of_rows(limits)) / 1_024;
    let writer = (all / readers.saturating_add(1)).clamp(KIB_MIN, WRITER_KIB_MAX);
    Kib { reader: (all.saturating_sub(writer) / readers).max(KIB_MIN), writer }
}

/// Returns the bytes of the row cache.
pub(crate) fn bytes_of_rows(limits: &Limits) -> u64 {
    (bytes(limits) / 5).min(128 * MIB)
}

fn bytes(limits: &Limits) -> u64 {
    match limits.page_cache_bytes {
        0 => by_default(memory()),
        set => set,
    }
}

fn by_default(memory: Option<u64>) -> u64 {
    (memory.unwrap_or(0) / 8).clamp(64 * MIB, 2_048 * MIB)
}

/// Returns the memory of the container, or else of the machine.
#[cfg(target_os = "linux")]
fn memory() -> Option<u64> {
    let system = rustix::system::sysinfo();
    let machine = u64::from(system.mem_unit).saturating_mul(system.totalram);
    let container = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    Some(container.and_then(|text| text.trim().parse().ok()).map_or(machine, |container: u64| container.min(machine)))
}

#[cfg(not(target_os = "linux"))]
fn memory() -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_is_an_eighth_of_the_memory_within_bounds() {
        let of = |mib: u64| by_default(Some(mib * MIB)) / MIB;
        assert_eq!([of(256), of(1_024), of(8_192), of(1_048_576)], [64, 128, 1_024, 2_048]);
        assert_eq!(by_default(None), 64 * MIB);
    }

    #[test]
    fn small_setting_is_shared_equally() {
        let limits = Limits { page_cache_bytes: 90 * MIB, readers: 8, ..Limits::default() };
        assert_eq!(of_connections(&limits), Kib { reader: 8 * 1_024, writer: 8 * 1_024 });
        assert_eq!(bytes_of_rows(&limits), 18 * MIB);
    }

    #[test]
    fn large_setting_is_for_the_readers() {
        let limits = Limits { page_cache_bytes: 1_000 * MIB, readers: 2, ..Limits::default() };
        assert_eq!(of_connections(&limits), Kib { reader: (1_000 - 128 - 16) * 512, writer: 16 * 1_024 });
    }

    #[test]
    fn each_connection_has_a_minimum() {
        let limits = Limits { page_cache_bytes: 1, readers: 4, ..Limits::default() };
        assert_eq!(of_connections(&limits), Kib { reader: 64, writer: 64 });
    }
}
