//! A library before it had shelves: the first release of what `library_v2` goes on with.
//!
//! ```sh
//! cargo run -p examples --bin library_v1 -- run library/addBooks '{"count":1000}'
//! ```

use std::process::ExitCode;

mod library {
    use convoke::prelude::*;

    /// A book. Nobody has given it a shelf yet.
    #[table(name = "books", prefix = "book")]
    pub(crate) struct Book {
        pub title: String,
        /// How often the row was changed since it was made.
        pub edits: i64,
        pub shelf: Option<String>,
    }

    /// What [`add_books`] takes.
    #[args]
    pub(crate) struct AddBooks {
        /// How many.
        pub count: i64,
    }

    /// Adds books with made-up titles, and returns how many there are.
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
