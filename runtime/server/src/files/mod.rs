//! Files over HTTP: uploads whole or in parts (tus 1.0), and reads by links.

mod disposition;
pub(crate) mod read;
mod range;
mod status;
pub(crate) mod upload;
