//! From bytes to values, and back: the body of a call, the two ways in which values are written in JSON, and which
//! arguments are secret.

pub(crate) mod convex_json;
pub mod decode;
mod described;
pub(crate) mod exact;
mod excerpt;
pub(crate) mod secret_fields;

pub use decode::Format;
