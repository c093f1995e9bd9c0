//! Where the databases of tests are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use convoke_calls::outbound::secret;
use convoke_calls::outbound::store_key::STORE_KEY;
use convoke_store::EngineFactory;

/// Names the server whose databases tests use, in the place of files in their temporary folders.
const STORE: &str = "CONVOKE_TEST_STORE";

/// The engine of one test, and of nobody else.
///
/// # Panics
/// If there is none for what the environment says.
pub(crate) fn engine() -> Arc<dyn EngineFactory> {
    let store = std::env::var(STORE).ok().map(|store| with_schema(&store));
    crate::engines().at(store.as_deref(), None).unwrap_or_else(|error| panic!("{STORE}: {error}"))
}

/// What every node of such a database has: the same in all tests.
pub(crate) fn set_key(data: &std::path::Path) {
    if std::env::var_os(STORE).is_some() {
        secret::write(data, STORE_KEY, "of every node in every test, thirty-two characters at least")
            .expect("a secret can be written");
    }
}

/// The address with a schema of its own.
fn with_schema(store: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let sign = if store.contains('?') { '&' } else { '?' };
    // Test programs that run one after the other may have the same process id.
    let random = tempfile::Builder::new().prefix("").rand_bytes(12).tempfile().ok();
    let name = random.as_ref().and_then(|file| file.path().file_name()?.to_str().map(str::to_lowercase));
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{store}{sign}schema=t{}_{count}_{}", std::process::id(), name.unwrap_or_default())
}
