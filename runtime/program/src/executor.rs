//! The executor of futures.

/// Builds the multi-threaded executor of a process.
///
/// # Errors
/// The system has no threads.
pub(crate) fn executor() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("convoke").build()
}
