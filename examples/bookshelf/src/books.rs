//! The books on the shelf.

use convoke::prelude::*;
use convoke::store::Cursor;

/// The title of a book.
#[value(text, trim, min = 1, max = 200, too_short = "A book has a title")]
pub struct Title(String);

/// A book.
#[table(name = "books", prefix = "book")]
#[index(by_title(title))]
#[index(by_isbn(isbn), unique, when(isbn is not null))]
pub struct Book {
    pub title: Title,
    pub isbn: Option<String>,
    /// Mark on its spine. Older books have none until the migration.
    pub mark: Option<String>,
    /// Books that are older than this field have 0.
    #[default(0)]
    pub times_borrowed: i64,
}

/// Arguments of [`add`].
#[args]
pub struct Add {
    pub title: Title,
}

/// Adds a book.
///
/// # Errors
/// - `UNAUTHENTICATED`: there is no caller.
#[mutation(rights = signed_in)]
pub fn add(ctx: &mut MutationCtx, _: String, args: Add) -> Result<Id<Book>> {
    let mark = Some(mark(&args.title));
    let id = ctx.db_mut().insert(Book { title: args.title, isbn: None, mark, times_borrowed: 0 })?;
    info!("{id} is on the shelf");
    Ok(id)
}

/// Arguments of [`list`].
#[args]
pub struct List {
    /// Cursor of the previous page; absent for the first page.
    pub cursor: Option<Cursor>,
}

/// Returns the books by title, twenty per page. Needs no identity.
#[query]
pub fn list(ctx: &QueryCtx, args: List) -> Result<Page<Doc<Book>>> {
    Ok(ctx.db().query(Book::by_title).page(args.cursor.as_ref(), 20)?)
}

/// Arguments of [`shelf`].
#[args]
pub struct Shelf {
    pub pagination_opts: PaginationOpts,
}

/// Returns the books by title, in live pages without gaps.
#[query]
pub fn shelf(ctx: &QueryCtx, args: Shelf) -> Result<PaginationResult<Doc<Book>>> {
    Ok(ctx.db().query(Book::by_title).paginate(&args.pagination_opts)?)
}

/// Returns the mark of a book: the first three letters of its title.
pub fn mark(title: &str) -> String {
    title.chars().filter(|c| c.is_alphanumeric()).take(3).flat_map(char::to_uppercase).collect()
}

/// Returns the name of the authenticated caller.
pub fn signed_in(ctx: &impl Read) -> Result<String> {
    let identity = ctx.identity().ok_or_else(|| Error::unauthenticated("Sign in first"))?;
    ctx.charge_call()?;
    Ok(identity.token_identifier())
}
