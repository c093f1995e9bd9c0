//! A library of books: the crate of the tutorial in `docs/tutorial/`.

mod books;
mod catalog;
mod loans;
mod migrations;
mod upkeep;

#[cfg(test)]
mod tests;

convoke::main!();
