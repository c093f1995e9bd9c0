//! From bytes to values, and back: the body of a call, and the two ways in which values are written in JSON.

pub(crate) mod convex_json;
pub mod decode;

pub use decode::Format;
