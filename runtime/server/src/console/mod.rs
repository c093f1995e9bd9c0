//! The console: web pages for operators and developers, embedded in the program.
//!
//! The pages call the same admin handlers and functions as other clients. This module adds their authentication. In
//! reading order: the checks of host and origin (`door`), the sessions (`sessions`), and the files of the pages
//! (`assets`, with `app/` and `vendor/`).

mod assets;
mod build_failure;
mod door;
mod sessions;

pub use assets::Assets;
pub use build_failure::BuildFailure;
pub use sessions::{Holder, NoSession, Opened, SESSION_LIFE, Sessions};

use std::sync::{Arc, OnceLock};

use convoke_core::clock::Clock;
use convoke_core::error::{Code, Error, Result};
use convoke_http::{Audience, Browser};
use hyper::Method;

/// The listeners and hosts of the console.
#[derive(Clone, Debug, Default)]
pub struct ConsoleOptions {
    /// True if the main listener serves the console in addition to the ops listener.
    pub on_main: bool,
    /// Additional accepted values of `Host`, besides the server's own addresses and loopback names.
    pub hosts: Vec<String>,
    /// The last build of the program, if its sources are watched (`convoke dev`).
    pub build: Option<BuildFailure>,
}

/// The console of a server.
pub struct Console {
    options: ConsoleOptions,
    /// The address of its listener, once it is served.
    address: OnceLock<String>,
    sessions: Sessions,
    assets: Assets,
}

impl Console {
    /// Creates a console without sessions.
    pub fn new(options: ConsoleOptions, clock: Arc<dyn Clock>) -> Self {
        Self { options, address: OnceLock::new(), sessions: Sessions::new(clock), assets: Assets::default() }
    }

    /// Returns the audience of the console's routes.
    pub fn audience(&self) -> Audience {
        if self.options.on_main { Audience::Everybody } else { Audience::Operators }
    }

    /// Sets the address of its listener, for example `http://127.0.0.1:3211`.
    pub fn serve_at(&self, address: String) {
        let _ = self.address.set(address);
    }

    /// Returns the URL of its pages.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION`: the console is not served.
    pub fn url(&self) -> Result<String> {
        let address = self.address.get().map(|address| format!("{address}/console"));
        address.ok_or_else(|| {
            Error::failed_precondition(
                "The console is not served: give the server an --ops-listen address, or start it with --console",
            )
        })
    }

    /// Returns the last build of the program, if its sources are watched.
    pub fn build(&self) -> Option<&BuildFailure> {
        self.options.build.as_ref()
    }

    /// Returns the sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// Returns the files of the pages.
    pub fn assets(&self) -> &Assets {
        &self.assets
    }

    /// Checks host and origin of a browser's request: see `door.rs`.
    ///
    /// # Errors
    /// `BAD_REQUEST` with the violated rule.
    pub fn admit(&self, browser: &Browser, method: &Method) -> Result<()> {
        door::check(browser, method, &self.options.hosts).map_err(|why| Error::new(Code::BadRequest, why))
    }

    /// Rejects requests that could be intercepted: plain HTTP from another machine.
    ///
    /// # Errors
    /// `BAD_REQUEST`.
    pub fn require_private(&self, browser: &Browser) -> Result<()> {
        if browser.is_secure || browser.is_local {
            return Ok(());
        }
        let message =
            "Over plain HTTP the console is for this machine only: use TLS, or a tunnel to its loopback address";
        Err(Error::new(Code::BadRequest, message))
    }
}
