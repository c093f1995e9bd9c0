//! How values are read from JSON and described: the rules that many value types share, and the sentences of their
//! refusal.
//!
//! A refusal reads "must be an integer between 13 and 120 (got 7)"; the decoder of a call puts the argument's path
//! before it. A sentence that does not begin with "must be" stands for itself (see `call::decode`). The attributes
//! call what is here, so that what they write stays short.

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
