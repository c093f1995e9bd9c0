//! The bytes of responses, from their production to the client.
//!
//! A response is produced in pieces. Each piece is charged to one budget before it is written, so that unread bytes are
//! limited over all connections. Pieces are not copied, and are freed when the socket has accepted them.

pub mod budget;
pub mod pieces;
pub mod writer;
