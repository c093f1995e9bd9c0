//! The reading and the schemas of JSON values: the rules that many value types share, and their error messages.
//!
//! A typical error is "must be an integer between 13 and 120 (got 7)"; the decoder of a call puts the argument's path
//! in front. A message that does not begin with "must be" is a complete sentence (see `call::decode`). The expansions
//! of the attributes call this module, so that they stay short.

pub mod default;
pub mod forms;
pub mod free_form;
pub mod invalid;
pub mod number;
pub mod object;
pub mod schema;
pub mod text;
pub mod union;

pub use invalid::Invalid;
pub use number::{INTEGER_MAX, integer_between as integer};
pub use text::one_of;
