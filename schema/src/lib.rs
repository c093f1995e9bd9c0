//! Tables and value types of the application, and limits that several functions share.
//!
//! The type of a value holds its rule, so that decoding, error messages, OpenAPI bounds and docs have one source. This
//! crate knows no HTTP, no functions and no callers. The functions decide which caller may read or write a row.
//! Reading order: values, tables, limits.

pub mod limits;
pub mod tables;
pub mod values;

pub use tables::*;
pub use values::*;
