//! The responses of the listener while the database is opened: the process is alive, but not ready.
//!
//! Opening a database may take minutes, for example to build a large index or to check stored values against the types
//! in code. Without a response in that time, a supervisor would kill the process.

use hyper::Method;
use parking_lot::Mutex;

use convoke_calls::call::envelope;
use convoke_calls::logs::LogLines;
use convoke_core::error::Error;
use convoke_http::{Class, Handler, Incoming, Reply, Routes};

/// Serves requests until the runtime is open: `/readyz` returns the current step, every other route `NOT_READY`. The
/// listener serves `/healthz`.
pub struct Opening {
    routes: Routes<()>,
    step: Mutex<String>,
}

impl Default for Opening {
    fn default() -> Self {
        let mut routes = Routes::new();
        routes.add(Method::GET, "/", Class::PROBE, ());
        routes.add_fallback("/{*path}", Class::PROBE, ());
        Self { routes, step: Mutex::new("opening the database".to_owned()) }
    }
}

impl Opening {
    /// Records that a step of opening the database begins.
    pub fn begins(&self, step: &str) {
        *self.step.lock() = format!("opening the database: {step}");
    }

    /// Returns the current step, in one line.
    pub fn step(&self) -> String {
        self.step.lock().clone()
    }
}

impl Handler for Opening {
    type Endpoint = ();

    fn routes(&self) -> &Routes<()> {
        &self.routes
    }

    async fn call(&self, _: Box<Incoming<()>>) -> Reply {
        let error = Error::not_ready("The server is starting; try again in a few seconds");
        let reply = Reply::json(error.code().status(), envelope::failure(&error, &LogLines::default()));
        Reply { retry_after_s: Some(1), ..reply }
    }

    fn ready(&self) -> Result<(), String> {
        Err(self.step())
    }
}
