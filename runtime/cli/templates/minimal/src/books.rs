//! The books on the shelf.

use convoke::prelude::*;

/// The title of a book.
#[value(text, trim, min = 1, max = 200, too_short = "A book has a title")]
pub struct Title(String);

/// A book.
#[table(name = "books", prefix = "book")]
#[index(by_title(title))]
pub struct Book {
    pub title: Title,
}

/// Arguments of [`add`].
#[args]
pub struct Add {
    pub title: Title,
}

/// Adds a book.
#[mutation]
pub fn add(ctx: &mut MutationCtx, args: Add) -> Result<Id<Book>> {
    let id = ctx.db_mut().insert(Book { title: args.title })?;
    info!("{id} is on the shelf");
    Ok(id)
}

/// Returns the first 100 books by title.
#[query]
pub fn list(ctx: &QueryCtx) -> Result<Vec<Doc<Book>>> {
    Ok(ctx.db().query(Book::by_title).take(100)?)
}
