//! The databases of tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use convoke_calls::outbound::secret;
use convoke_calls::outbound::store_key::STORE_KEY;
use convoke_store::EngineFactory;

/// Environment variable with the address of a database server that tests use instead of files in temporary folders.
const STORE: &str = "CONVOKE_TEST_STORE";

/// Schemas that no test uses. Emptying one takes a fraction of the time that creating its tables and indexes takes.
static FREE: Mutex<Vec<Arc<dyn EngineFactory>>> = Mutex::new(Vec::new());

/// The database of one test. No other test uses it during the lifetime of this value.
pub(crate) struct Lent {
    engine: Arc<dyn EngineFactory>,
    is_kept: bool,
}

impl Lent {
    /// Returns a database without rows.
    ///
    /// # Panics
    /// If no engine exists for the address in the environment.
    pub(crate) fn new() -> Self {
        let Ok(store) = std::env::var(STORE) else { return Self { engine: engine_at(None), is_kept: false } };
        let free = FREE.lock().pop();
        let engine = match free {
            Some(engine) => {
                engine.empty().unwrap_or_else(|error| panic!("a database of a test before cannot be emptied: {error}"));
                engine
            }
            None => engine_at(Some(&with_schema(&store))),
        };
        Self { engine, is_kept: true }
    }

    /// Returns the engine that opens it.
    pub(crate) fn engine(&self) -> Arc<dyn EngineFactory> {
        self.engine.clone()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // A failed test may still be using its schema.
        if self.is_kept && !std::thread::panicking() {
            FREE.lock().push(self.engine.clone());
        }
    }
}

fn engine_at(store: Option<&str>) -> Arc<dyn EngineFactory> {
    crate::engines().at(store, None).unwrap_or_else(|error| panic!("{STORE}: {error}"))
}

/// The node key of such a database, equal in all tests.
pub(crate) fn set_key(data: &std::path::Path) {
    if std::env::var_os(STORE).is_some() {
        secret::write(data, STORE_KEY, "of every node in every test, thirty-two characters at least")
            .expect("a secret can be written");
    }
}

/// Returns the address with a schema of its own.
fn with_schema(store: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let sign = if store.contains('?') { '&' } else { '?' };
    // Two test programs can have the same process id, one after the other.
    let random = tempfile::Builder::new().prefix("").rand_bytes(12).tempfile().ok();
    let name = random.as_ref().and_then(|file| file.path().file_name()?.to_str().map(str::to_lowercase));
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("{store}{sign}schema=t{}_{count}_{}", std::process::id(), name.unwrap_or_default())
}
