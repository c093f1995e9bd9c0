//! Books from an external catalog.

use convoke::prelude::*;
use convoke::serde_json::Value;

use crate::books::{Book, Title, mark, signed_in};

convoke::section! {
    /// The external catalog; its API key is the secret CATALOG_KEY.
    pub struct Catalog in "catalog" {
        /// Base URL, to which `/books/<ISBN>` is added.
        pub url: String = "https://catalog.example.com".to_owned(),
    }
}

convoke::rate_class!(
    /// Each lookup costs money.
    "lookups", 10, per 60 s
);

/// An ISBN-13.
#[value(text, trim, pattern = "^[0-9]{13}$", expected = "thirteen digits, such as 9780131103627")]
pub struct Isbn(String);

/// Arguments of [`add_by_isbn`].
#[args]
pub struct AddByIsbn {
    pub isbn: Isbn,
}

/// Looks up a book in the catalog and adds it.
///
/// # Errors
/// - `NOT_FOUND`: the catalog does not have it.
/// - `PROVIDER_ERROR`, `TIMEOUT`: the catalog does not respond.
#[action(rate = "lookups", rights = signed_in)]
pub async fn add_by_isbn(ctx: &ActionCtx, _: String, args: AddByIsbn) -> Result<Id<Book>> {
    let url = format!("{}/books/{}", ctx.settings::<Catalog>().url, args.isbn.as_str());
    let reply = ctx.http()?.get(&url).bearer(&ctx.secret("CATALOG_KEY")?).send().await?;
    if reply.status() == 404 {
        return Err(Error::not_found("The catalog does not know this book"));
    }
    let found: Value = reply.success()?.json()?;
    let title = found["title"].as_str().unwrap_or_default();
    let title =
        Title::new(title).map_err(|error| Error::provider("The catalog's title cannot be read").caused_by(error))?;
    // A mutation stores the book, because an action has no transaction.
    ctx.run::<keep>(Keep { title, isbn: args.isbn }).await
}

/// Arguments of [`keep`].
#[args]
pub struct Keep {
    pub title: Title,
    pub isbn: Isbn,
}

/// Stores a book from the catalog, once per ISBN.
#[mutation(internal)]
pub fn keep(ctx: &mut MutationCtx, args: Keep) -> Result<Id<Book>> {
    let mark = Some(mark(&args.title));
    let book = Book { title: args.title, isbn: Some(args.isbn.into_string()), mark, times_borrowed: 0 };
    Ok(ctx.db_mut().insert_unique(Book::by_isbn, book)?.into_doc().id())
}
