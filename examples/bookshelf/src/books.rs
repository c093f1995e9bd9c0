//! The books on the shelf.

use convoke::prelude::*;
use convoke::store::Cursor;

/// A book's title, as it stands on the cover.
#[value(text, trim, min = 1, max = 200, too_short = "A book has a title")]
pub struct Title(String);

/// One book.
#[table(name = "books", prefix = "book")]
#[index(by_title(title))]
#[index(by_isbn(isbn), unique, when(isbn is not null))]
pub struct Book {
    pub title: Title,
    pub isbn: Option<String>,
    /// What stands on its back. Books from before this field existed have none until they are migrated.
    pub mark: Option<String>,
    /// Books from before this field existed read 0.
    #[default(0)]
    pub times_borrowed: i64,
}

/// What [`add`] takes.
#[args]
pub struct Add {
    pub title: Title,
}

/// Puts a book on the shelf.
///
/// # Errors
/// - `UNAUTHENTICATED`: nobody is signed in.
#[mutation(rights = signed_in)]
pub fn add(ctx: &mut MutationCtx, _: String, args: Add) -> Result<Id<Book>> {
    let mark = Some(mark(&args.title));
    let id = ctx.db_mut().insert(Book { title: args.title, isbn: None, mark, times_borrowed: 0 })?;
    info!("{id} is on the shelf");
    Ok(id)
}

/// What [`list`] takes.
#[args]
pub struct List {
    /// Where the last page ended; absent for the first.
    pub cursor: Option<Cursor>,
}

/// The books by title, twenty a page. Everybody may look.
#[query]
pub fn list(ctx: &QueryCtx, args: List) -> Result<Page<Doc<Book>>> {
    Ok(ctx.db().query(Book::by_title).page(args.cursor.as_ref(), 20)?)
}

/// What [`shelf`] takes.
#[args]
pub struct Shelf {
    pub pagination_opts: PaginationOpts,
}

/// The books by title, in parts that stay side by side.
#[query]
pub fn shelf(ctx: &QueryCtx, args: Shelf) -> Result<PaginationResult<Doc<Book>>> {
    Ok(ctx.db().query(Book::by_title).paginate(&args.pagination_opts)?)
}

/// The mark of a book: the first three letters of its title.
pub fn mark(title: &str) -> String {
    title.chars().filter(|c| c.is_alphanumeric()).take(3).flat_map(char::to_uppercase).collect()
}

/// The name of the signed-in caller.
pub fn signed_in(ctx: &impl Read) -> Result<String> {
    let identity = ctx.identity().ok_or_else(|| Error::unauthenticated("Sign in first"))?;
    ctx.charge_call()?;
    Ok(identity.token_identifier())
}
