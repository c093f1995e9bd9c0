//! Webhooks that the server sends: events of mutations, delivered to the endpoints of other programs.
//!
//! A mutation writes one row per endpoint and event in its own transaction. Workers read the rows that are due, sign
//! and send them ([Standard Webhooks](https://www.standardwebhooks.com)), and write each result. A row stays pending
//! until its result is written, so each event arrives at least once, with the same id at each try. The modules in
//! reading order: the settings, the addresses that are not connected to, the two tables, the secrets, the changes by
//! functions and by the operator, one request, and the workers.

pub mod settings;
pub mod address;
pub mod endpoint;
pub mod delivery;
pub mod secret;
mod target;
pub mod event;
pub mod manage;
mod retention;
mod request;
pub(crate) mod deliverer;
mod lane;
pub(crate) mod background;

pub use deliverer::{Deliverer, Stats};
pub use delivery::{Delivery, DeliveryState};
pub use endpoint::{Endpoint, EndpointState};
pub use manage::{EndpointChange, EventRange, NewEndpoint, Webhooks, WebhooksMut};
pub use settings::WebhookSettings;
