//! The next release of `library_v1`: every book has a shelf.
//!
//! A row of the first release has no shelf, but the struct below requires one. So this program starts *closed* on the
//! old data: `/readyz` and every call report the reason, and only the operator is served until the migration has
//! changed all rows. The migration runs in parts, and continues after an interruption.
//!
//! ```sh
//! cargo run -p examples --bin library_v1 -- run library/addBooks '{"count":1000}'
//! cargo run -p examples --bin library_v2 -- migrate
//! cargo run -p examples --bin library_v2 -- run library/shelves
//! ```

use std::process::ExitCode;

mod library {
    use convoke::prelude::*;
    use convoke::value;

    /// The shelf of a book.
    #[value]
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Shelf {
        Tall,
        Others,
    }

    /// A book with a shelf.
    #[table(name = "books", prefix = "book")]
    #[index(by_shelf(shelf))]
    pub(crate) struct Book {
        pub title: String,
        /// Number of changes of the row.
        pub edits: i64,
        pub shelf: Shelf,
        /// Unknown for older books.
        pub isbn: Option<String>,
    }

    /// Statistics of a shelf.
    #[value]
    pub(crate) struct Holding {
        pub shelf: Shelf,
        pub books: i64,
        /// Total number of changes of its books.
        pub edits: i64,
    }

    /// Returns the shelves with their statistics.
    #[query]
    pub(crate) fn shelves(ctx: &QueryCtx) -> Result<Vec<Holding>> {
        let mut shelves = Vec::new();
        for shelf in [Shelf::Tall, Shelf::Others] {
            let books = ctx.db().query(Book::by_shelf).eq(shelf).take(usize::MAX)?;
            let edits = books.iter().map(|book| book.edits).sum();
            shelves.push(Holding { shelf, books: i64::try_from(books.len()).unwrap_or(i64::MAX), edits });
        }
        Ok(shelves)
    }
}

/// Migrations of old rows, one function per change. `convoke migrate` finds them by the name of this module.
mod migrations {
    use convoke::prelude::*;
    use convoke::{Batch, Migrated};

    use crate::library::{Book, Shelf};

    /// Assigns a shelf to every book without one, by its title.
    #[mutation(admin)]
    pub(crate) fn fill_shelves(ctx: &mut MutationCtx, args: Batch) -> Result<Migrated> {
        ctx.migrate::<Book>(&args, |book| {
            // The row is read in its stored form, because its struct requires a shelf.
            if book.get::<Option<Shelf>>("shelf")?.is_some() {
                return Ok(());
            }
            let title: String = book.get("title")?;
            let edits: i64 = book.get("edits")?;
            book.set("shelf", &if title.starts_with("Tall") { Shelf::Tall } else { Shelf::Others })?;
            book.set("edits", &(edits + 1))
        })
    }
}

fn main() -> ExitCode {
    convoke::embed::main()
}
