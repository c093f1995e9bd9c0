//! A shelf of books that people borrow from: the crate that docs/develop.md builds up.

mod books;
mod catalog;
mod loans;
mod migrations;
mod upkeep;

#[cfg(test)]
mod tests;

convoke::main!();
