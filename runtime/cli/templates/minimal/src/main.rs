//! The program. A new module of functions needs its `mod` line here, and nothing else.

mod books;

#[cfg(test)]
mod tests;

convoke::main!();
