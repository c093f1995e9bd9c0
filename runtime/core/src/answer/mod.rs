//! The bytes of answers, from where they are made to where a client takes them.
//!
//! They are made in pieces, and each piece is charged to one budget before there is anything in it, so that what
//! clients do not take has a bound over all connections. Nobody copies a piece; it goes when the socket has it.

pub mod budget;
pub mod pieces;
pub mod writer;
