//! The tables and value types of the application, and the numbers that several functions share.
//!
//! A rule that a value must obey lives in its type, so that decoding, the message of a refusal, the OpenAPI bounds and
//! the docs come from one place. Knows no HTTP, no function and no caller: who may read or write a row is decided
//! above. In reading order: the values, the tables made of them, the limits.

pub mod limits;
pub mod tables;
pub mod values;

pub use tables::*;
pub use values::*;
