//! In-process testing: the runtime with a database of its own, a clock that stands still, and users at will.
//!
//! ```no_run
//! # use convoke::testing::TestApp; use serde_json::json;
//! let app = TestApp::new();
//! let ada = app.user("ada");
//! let reply = ada.call("greetings/sayHello", json!({ "name": "Grace" }));
//! assert_eq!(reply.value(), &json!("Hello, Grace!"));
//!
//! let mut seen = ada.watch("greetings/list", json!({}));
//! seen.next(); // the first result; after a mutation that changes it, the next one
//! ```
//!
//! A migration is tested on tables as a former release had them ([`TestApp::after`]).
//!
//! Calls go through the same steps as over HTTP, from the registry on. Dropping the app checks what must hold after
//! any test. With `CONVOKE_TEST_STORE`, the address of a database server, each app has a schema there that nobody else uses
//! meanwhile. Where the wire itself is the subject, [`TestApp::serve`] opens a real port.

pub mod app;
mod engine;
pub mod former;
pub mod live;
#[cfg(feature = "server")]
pub mod server;

pub use app::{ISSUER, Reply, START, TestApp, TestCaller};
pub use former::FormerTable;
pub use live::Watch;
#[cfg(feature = "server")]
pub use server::{HttpReply, TestServer};
