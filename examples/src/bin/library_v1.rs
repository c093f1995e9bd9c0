//! A library without shelves: the release before `library_v2`.
//!
//! ```sh
//! cargo run -p examples --bin library_v1 -- run library/addBooks '{"count":1000}'
//! ```

use std::process::ExitCode;

mod library {
    use convoke::prelude::*;

    /// A book without a shelf.
    #[table(name = "books", prefix = "book")]
    pub(crate) struct Book {
        pub title: String,
        /// Number of changes of the row.
        pub edits: i64,
        pub shelf: Option<String>,
    }

    /// Arguments of [`add_books`].
    #[args]
    pub(crate) struct AddBooks {
        /// Number of books.
        pub count: i64,
    }

    /// Adds books with made-up titles, and returns the total number.
    #[mutation]
    pub(crate) fn add_books(ctx: &mut MutationCtx, args: AddBooks) -> Result<i64> {
        let held = i64::try_from(ctx.db().scan::<Book>().count()?).unwrap_or(i64::MAX);
        for number in held..held + args.count {
            let title = format!("{} tales", if number % 3 == 0 { "Tall" } else { "Brief" });
            ctx.db_mut().insert(Book { title, edits: 0, shelf: None })?;
        }
        Ok(held + args.count)
    }
}

fn main() -> ExitCode {
    convoke::embed::main()
}
