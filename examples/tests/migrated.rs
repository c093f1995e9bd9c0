//! Migrations and their tests, in the test's process, on a database of the former release.

use convoke::testing::{FormerTable, TestApp};
use serde_json::json;

mod library {
    use convoke::prelude::*;
    use convoke::{query, table, value};

    /// Damage of a book. The former release called the first variant `minor`.
    #[value]
    pub(crate) enum Damage {
        Low,
        Major,
    }

    /// Place of a book. The former release had only the room.
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

    /// A member. The former release had only the whole name.
    #[table(name = "members", prefix = "member")]
    pub(crate) struct Member {
        pub name: Option<String>,
        pub first_name: String,
        pub last_name: String,
    }

    /// Returns the first and the last name of all members.
    #[query]
    pub(crate) fn names(ctx: &QueryCtx) -> Result<Vec<(String, String)>> {
        let members = ctx.db().scan::<Member>().take(usize::MAX)?;
        Ok(members.into_iter().map(Doc::into_inner).map(|member| (member.first_name, member.last_name)).collect())
    }

    /// The same table in the next release.
    pub(crate) mod next {
        use convoke::table;

        #[table(name = "contacts", prefix = "contact")]
        pub(crate) struct Contact {
            #[retired]
            pub name: Option<String>,
            pub first_name: String,
        }
    }

    /// Returns all titles.
    #[query]
    pub(crate) fn damages(ctx: &QueryCtx) -> Result<Vec<Option<Damage>>> {
        let books = ctx.db().scan::<Book>().take(usize::MAX)?;
        Ok(books.into_iter().map(|book| book.into_inner().damage).collect())
    }
}

mod migrations {
    use convoke::prelude::*;
    use convoke::{Batch, Migrated, mutation, value};

    use crate::library::next::Contact;
    use crate::library::{Book, Damage, Member, Place};

    /// Place of a book in the former release.
    #[value]
    pub(crate) struct Room {
        pub room: String,
    }

    /// Renames the damage, and places every book on the first shelf of its room.
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

    /// Splits the name of every member.
    #[mutation(admin)]
    pub(crate) fn split_names(ctx: &mut MutationCtx, args: Batch) -> Result<Migrated> {
        ctx.migrate::<Member>(&args, |member| {
            // A second run finds the names set, and changes nothing.
            if member.get::<Option<String>>("firstName")?.is_none() {
                let name: String = member.get("name")?;
                let (first, last) = name.split_once(' ').unwrap_or((&name, ""));
                member.set("firstName", &first.to_owned())?;
                member.set("lastName", &last.to_owned())?;
            }
            Ok(())
        })
    }

    /// Reads the name too late: the release has retired it.
    #[mutation(admin)]
    pub(crate) fn too_late(ctx: &mut MutationCtx, args: Batch) -> Result<Migrated> {
        ctx.migrate::<Contact>(&args, |contact| {
            let name: String = contact.get("name")?;
            contact.set("firstName", &name)
        })
    }
}

/// Books of the former release.
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
fn rows_of_the_former_release_are_rejected_until_migrated() {
    let mut app = TestApp::after([former_books()]);
    let difference = app.difference().expect("rows do not fit");
    for part in ["field damage: row book_", "(got \"minor\")", "field place: row book_", "missing field `shelf`"] {
        assert!(difference.contains(part), "{difference}");
    }
    let refused = app.nobody().call("library/damages", json!({}));
    assert_eq!(refused.code(), "NOT_READY");
    assert!(refused.error().message().contains("`migrate --dry-run` shows the difference"), "{:?}", refused.error());

    let migrated = app.migrate("migrations/shelve");
    assert_eq!((migrated.done, migrated.total, app.difference()), (3, 3, None));
    let damages = app.nobody().call("library/damages", json!({}));
    assert_eq!(damages.value(), &json!(["major", null, "low"]));
    app.restart();
    assert_eq!(app.difference(), None);
}

#[test]
fn matching_rows_need_no_migration() {
    let books = FormerTable::new("books", "book")
        .field::<String>("title")
        .field::<Option<String>>("damage")
        .field::<library::Place>("place")
        .row(json!({ "title": "Emma", "damage": "low", "place": { "room": "A", "shelf": 2 } }));
    let app = TestApp::after([books]);
    assert_eq!(app.difference(), None);
    assert_eq!(app.nobody().call("library/damages", json!({})).value(), &json!(["low"]));
}

#[test]
fn field_is_split_while_its_former_field_is_optional() {
    let members = FormerTable::new("members", "member")
        .field::<String>("name")
        .row(json!({ "name": "Emma Woodhouse" }))
        .row(json!({ "name": "Sidney" }));
    let app = TestApp::after([members]);
    let difference = app.difference().expect("the new fields have no values");
    assert!(difference.contains("field firstName was added without a default"), "{difference}");
    assert_eq!(app.migrate("migrations/splitNames").done, 2);
    assert_eq!(app.difference(), None);
    let names = app.nobody().call("library/names", json!({}));
    assert_eq!(names.value(), &json!([["Emma", "Woodhouse"], ["Sidney", ""]]));
}

#[test]
fn migration_that_reads_a_retired_field_fails_and_says_how_to_read_it() {
    let contacts = FormerTable::new("contacts", "contact").field::<String>("name").row(json!({ "name": "Emma" }));
    let app = TestApp::after([contacts]);
    let reply = app.deploy_key(&["admin"]).call("migrations/tooLate", json!({}));
    let said = reply.error().chain();
    assert!(said.contains("field name of table contacts is #[retired]"), "{said}");
    assert!(said.contains("make it an Option without #[retired] until the migration is complete"), "{said}");
}
