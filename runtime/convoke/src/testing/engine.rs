//! Where the databases of tests are kept.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use convoke_calls::outbound::secret;
use convoke_calls::outbound::store_key::STORE_KEY;
use convoke_store::EngineFactory;

/// Names the server whose databases tests use, in the place of files in their temporary folders.
const STORE: &str = "CONVOKE_TEST_STORE";

/// Schemas that no test uses any more: emptying one takes a fraction of the time that its tables and indexes take.
static FREE: Mutex<Vec<Arc<dyn EngineFactory>>> = Mutex::new(Vec::new());

/// The database of one test, and of nobody else as long as this lives.
pub(crate) struct Lent {
    engine: Arc<dyn EngineFactory>,
    is_kept: bool,
}

impl Lent {
    /// One without rows.
    ///
    /// # Panics
    /// If there is none for what the environment says.
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

    /// What opens it.
    pub(crate) fn engine(&self) -> Arc<dyn EngineFactory> {
        self.engine.clone()
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // What a failed test leaves may still be in use.
        if self.is_kept && !std::thread::panicking() {
            FREE.lock().push(self.engine.clone());
        }
    }
}

fn engine_at(store: Option<&str>) -> Arc<dyn EngineFactory> {
    crate::engines().at(store, None).unwrap_or_else(|error| panic!("{STORE}: {error}"))
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
