//! The executor of futures.

use super::failure::Failure;

/// Builds the multi-threaded executor of a process.
///
/// # Errors
/// The system has no threads.
pub(crate) fn executor() -> Result<tokio::runtime::Runtime, Failure> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("convoke").build();
    built.map_err(Failure::of_system("the threads of the program cannot be started"))
}
