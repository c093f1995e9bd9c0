//! The same library as `library_v1`, one release later: every book stands on a shelf.
//!
//! A row of the first release has no shelf, and the struct below says that each has one. So this program starts
//! *closed* on the old data: `/readyz` and every caller are told why, and only the operator is served, until the
//! migration has been through all rows. It works in parts, and goes on where it was if it is stopped.
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

    /// Where a book stands.
    #[value]
    #[derive(Clone, Copy, PartialEq, Eq)]
    pub(crate) enum Shelf {
        Tall,
        Others,
    }

    /// A book, which has a shelf now.
    #[table(name = "books", prefix = "book")]
    #[index(by_shelf(shelf))]
    pub(crate) struct Book {
        pub title: String,
        /// How often the row was changed since it was made.
        pub edits: i64,
        pub shelf: Shelf,
        /// Nobody knows that of the books from before.
        pub isbn: Option<String>,
    }

    /// How many books a shelf holds.
    #[value]
    pub(crate) struct Holding {
        pub shelf: Shelf,
        pub books: i64,
        /// Changes of its books, in all.
        pub edits: i64,
    }

    /// The shelves, with what they hold.
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

/// What brings old rows to their new form, one function a change. `convoke migrate` finds them by this module's name.
mod migrations {
    use convoke::prelude::*;
    use convoke::{Batch, Migrated};

    use crate::library::{Book, Shelf};

    /// Gives every book of the time before there were shelves one, by its title.
    #[mutation(admin)]
    pub(crate) fn fill_shelves(ctx: &mut MutationCtx, args: Batch) -> Result<Migrated> {
        ctx.migrate::<Book>(&args, |book| {
            // The row is read as it is stored: its struct would not take one without a shelf.
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
