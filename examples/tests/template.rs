//! The functions and tests of the template that `convoke new` writes, compiled and run with this workspace.

#![allow(unreachable_pub, reason = "the functions of a program are public")]

#[path = "../../runtime/cli/templates/minimal/src/books.rs"]
mod books;
#[path = "../../runtime/cli/templates/minimal/src/tests.rs"]
mod tests;
