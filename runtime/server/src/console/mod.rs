//! The console: pages for whoever operates and develops, in this program, for a browser.
//!
//! A page asks the same admin handlers and functions as everybody else; what is here is only who may ask from a page. In
//! reading order: which requests are let in at all (`door`), who logged in (`sessions`), and the files that the pages
//! are made of (`assets`, with `app/` and `vendor/`).

mod assets;
mod door;
mod sessions;

pub use assets::Assets;
pub use sessions::{Holder, NoSession, Opened, SESSION_LIFE, Sessions};

use std::sync::{Arc, OnceLock};

use convoke_core::clock::Clock;
use convoke_core::error::{Code, Error, Result};
use convoke_http::{Audience, Browser};
use hyper::Method;

/// Where the console is served, and by which names.
#[derive(Clone, Debug, Default)]
pub struct ConsoleOptions {
    /// Also where calls are served, beside the ops listener.
    pub on_main: bool,
    /// Hosts by which it is asked beside its own addresses and this machine's names, as browsers write them.
    pub hosts: Vec<String>,
}

/// The console of a server.
pub struct Console {
    options: ConsoleOptions,
    /// Where it is served, once it is.
    address: OnceLock<String>,
    sessions: Sessions,
    assets: Assets,
}

impl Console {
    /// A console that nobody has logged in to.
    pub fn new(options: ConsoleOptions, clock: Arc<dyn Clock>) -> Self {
        Self { options, address: OnceLock::new(), sessions: Sessions::new(clock), assets: Assets::default() }
    }

    /// By which listeners it is served.
    pub fn audience(&self) -> Audience {
        if self.options.on_main { Audience::Everybody } else { Audience::Operators }
    }

    /// Where it is served from now on: `http://127.0.0.1:3211`.
    pub fn serve_at(&self, address: String) {
        let _ = self.address.set(address);
    }

    /// The address of its pages.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION`: it is not served.
    pub fn url(&self) -> Result<String> {
        let address = self.address.get().map(|address| format!("{address}/console"));
        address.ok_or_else(|| {
            Error::failed_precondition(
                "The console is not served: give the server an --ops-listen address, or start it with --console",
            )
        })
    }

    /// Who logged in.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The files of the pages.
    pub fn assets(&self) -> &Assets {
        &self.assets
    }

    /// Lets in what a browser may ask of the console: see `door.rs`.
    ///
    /// # Errors
    /// `BAD_REQUEST` with the rule that it breaks.
    pub fn admit(&self, browser: &Browser, method: &Method) -> Result<()> {
        door::check(browser, method, &self.options.hosts).map_err(|why| Error::new(Code::BadRequest, why))
    }

    /// Refuses what others on the way could read, such as a login over plain HTTP from another machine.
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
