//! Migrations and their tests: a database as the release before left it, in the test's process.

use convoke::testing::{FormerTable, TestApp};
use serde_json::json;

mod library {
    use convoke::prelude::*;
    use convoke::{query, table, value};

    /// How badly a book is damaged. The release before called the first one `minor`.
    #[value]
    pub(crate) enum Damage {
        Low,
        Major,
    }

    /// Where a book is. The release before knew the room alone.
    #[value]
    pub(crate) struct Place {
        pub room: String,
        pub shelf: i64,
    }

    #[table(name = "books", prefix = "book")]
    pub(crate) struct Book {
        pub title: String,
        pub damage: Option<Damage>,
        pub place: Place,
    }

    /// All titles.
    #[query]
    pub(crate) fn damages(ctx: &QueryCtx) -> Result<Vec<Option<Damage>>> {
        let books = ctx.db().scan::<Book>().take(usize::MAX)?;
        Ok(books.into_iter().map(|book| book.into_inner().damage).collect())
    }
}

mod migrations {
    use convoke::prelude::*;
    use convoke::{Batch, Migrated, mutation, value};

    use crate::library::{Book, Damage, Place};

    /// The place of a book as it was.
    #[value]
    pub(crate) struct Room {
        pub room: String,
    }

    /// Renames the damage, and puts every book on the first shelf of its room.
    #[mutation(admin)]
    pub(crate) fn shelve(ctx: &mut MutationCtx, args: Batch) -> Result<Migrated> {
        ctx.migrate::<Book>(&args, |book| {
            if book.get::<Option<String>>("damage")?.as_deref() == Some("minor") {
                book.set("damage", &Damage::Low)?;
            }
            if book.get::<Place>("place").is_err() {
                let former: Room = book.get("place")?;
                book.set("place", &Place { room: former.room, shelf: 1 })?;
            }
            Ok(())
        })
    }
}

/// The books of the release before.
fn former_books() -> FormerTable {
    let place = json!({ "room": "A" });
    FormerTable::new("books", "book")
        .field::<String>("title")
        .field::<Option<String>>("damage")
        .field::<migrations::Room>("place")
        .row(json!({ "title": "Emma", "damage": "major", "place": place }))
        .row(json!({ "title": "Persuasion", "place": place }))
        .row(json!({ "title": "Sanditon", "damage": "minor", "place": place }))
}

#[test]
fn rows_of_the_release_before_are_refused_until_their_migration_has_run() {
    let mut app = TestApp::after([former_books()]);
    let difference = app.difference().expect("rows do not fit");
    for part in ["field damage: row book_", "(got \"minor\")", "field place: row book_", "missing field `shelf`"] {
        assert!(difference.contains(part), "{difference}");
    }
    assert_eq!(app.nobody().call("library/damages", json!({})).code(), "NOT_READY");

    let migrated = app.migrate("migrations/shelve");
    assert_eq!((migrated.done, migrated.total, app.difference()), (3, 3, None));
    let damages = app.nobody().call("library/damages", json!({}));
    assert_eq!(damages.value(), &json!(["major", null, "low"]));
    app.restart();
    assert_eq!(app.difference(), None);
}

#[test]
fn a_database_whose_rows_fit_needs_no_migration() {
    let books = FormerTable::new("books", "book")
        .field::<String>("title")
        .field::<Option<String>>("damage")
        .field::<library::Place>("place")
        .row(json!({ "title": "Emma", "damage": "low", "place": { "room": "A", "shelf": 2 } }));
    let app = TestApp::after([books]);
    assert_eq!(app.difference(), None);
    assert_eq!(app.nobody().call("library/damages", json!({})).value(), &json!(["low"]));
}
