//! Conversion between bytes and values: the body of a call, the two value formats in JSON, and the secret arguments.

pub(crate) mod convex_json;
pub mod decode;
mod described;
pub(crate) mod exact;
mod excerpt;
mod finite;
pub(crate) mod secret_fields;

pub use decode::Format;
