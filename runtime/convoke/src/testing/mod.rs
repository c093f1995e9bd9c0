//! In-process tests: a runtime with a temporary database, a stopped clock, and any number of users.
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
//! Routes are requested by their method and path ([`TestApp::request`]).
//!
//! Migrations are tested on the tables of a former release ([`TestApp::after`]).
//!
//! Calls take the same steps as over HTTP, from the registry on. Dropping the app checks the invariants that hold after
//! every test. If `CONVOKE_TEST_STORE` is the address of a database server, each app has its own schema on that server.
//! [`TestApp::serve`] opens a real port for tests of the wire.

pub mod app;
mod engine;
pub mod former;
pub mod live;
pub mod route;
#[cfg(feature = "server")]
pub mod server;

pub use app::{ISSUER, Reply, START, TestApp, TestCaller, WorkflowRun};
pub use former::FormerTable;
pub use live::Watch;
pub use route::{RouteReply, TestRequest};
#[cfg(feature = "server")]
pub use server::{HttpReply, TestServer};
