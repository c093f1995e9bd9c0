//! Properties of the plain rules, tried on thousands of random cases.
//!
//! No context, no database and no port: what is tested here is the arithmetic that the functions rely on.

mod assignment;
mod chain;
mod drafts;
mod network;
mod pieces;
mod score;
mod transform;
