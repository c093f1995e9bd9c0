//! The attributes, with their documentation: what a developer writes above functions, arguments, values and tables.
//!
//! They are made in the crate `convoke-macros`; what they write is in terms of [`convoke_calls::function`], [`convoke_core::wire`]
//! and [`convoke_store`].

/// Registers a function that reads one snapshot of the database.
///
/// The function stays as it is. Beside it stands a type of its name, by which others call it:
/// `ctx.run::<listing::list>(args)`; rustc checks that it exists, its kind and its arguments. Over HTTP its path is its
/// modules and its name in camelCase: `listing/list` here, below the crate.
///
/// ```
/// mod listing {
///     use convoke::prelude::*;
///
///     /// What [`list`] takes.
///     #[args]
///     pub struct List {
///         /// How many at most.
///         #[default(20)]
///         pub limit: i64,
///     }
///
///     /// The first numbers.
///     ///
///     /// # Errors
///     /// - `INVALID_ARGUMENT`: a negative limit.
///     #[query]
///     pub fn list(_ctx: &QueryCtx, args: List) -> Result<Vec<i64>> {
///         if args.limit < 0 {
///             return Err(Error::invalid_argument("limit", "limit cannot be negative"));
///         }
///         Ok((0..args.limit).collect())
///     }
///
///     /// How many there are: a function without arguments takes the context alone.
///     #[query]
///     pub fn count(ctx: &QueryCtx) -> Result<usize> {
///         Ok(ctx.run::<list>(List { limit: 20 })?.len())
///     }
/// }
/// # fn main() {}
/// ```
///
/// A function that clients can call is `pub`; `pub(crate)` and `pub(super)` are enough. A private `fn` with `#[query]` is
/// a compile error, unless it is `internal`: what looks private is not open to the network.
///
/// # Options
/// Of `#[query]`, `#[mutation]` and `#[action]` alike:
/// - `internal`: other functions and the scheduler call it, nobody outside; it is as if it did not exist.
/// - `admin`: a deploy key or an admin identity calls it.
/// - `rate = "class"`: the rate class it is charged to, instead of its kind's.
///
/// Of `#[mutation]` and `#[action]`:
/// - `tries = 3`: how often it is tried when it is scheduled; a mutation five times by default, an action once, since
///   what it did outside cannot be undone.
#[doc(inline)]
pub use convoke_macros::query;

/// Registers a function that reads and writes one serializable transaction.
///
/// It is kept whole or not at all: an error or a panic undoes what it wrote. It may run more than once before it is
/// answered, so it is a pure function of its arguments, the database and `ctx.now()`; it cannot wait.
///
/// ```
/// mod guestbook {
///     use convoke::prelude::*;
///
///     #[table(name = "entries", prefix = "entry")]
///     #[index(by_name(name), unique)]
///     pub struct Entry {
///         pub name: String,
///     }
///
///     #[args]
///     pub struct Sign {
///         pub name: String,
///     }
///
///     /// Signs the guestbook; everybody once.
///     #[mutation]
///     pub fn sign(ctx: &mut MutationCtx, args: Sign) -> Result<Id<Entry>> {
///         Ok(ctx.db_mut().insert(Entry { name: args.name })?)
///     }
///
///     /// Runs every night at three; nobody outside can call it.
///     #[mutation(internal)]
///     #[cron("0 3 * * *")]
///     pub fn forget(ctx: &mut MutationCtx) -> Result<()> {
///         for entry in ctx.db().scan::<Entry>().take(100)? {
///             ctx.db_mut().delete(entry.id())?;
///         }
///         Ok(())
///     }
/// }
/// # fn main() {}
/// ```
///
/// # Options
/// Those of [`macro@query`], and `identity_hook`: the one mutation that runs when an identity is first seen or its
/// claims changed, before the call itself. It takes the context alone and reads `ctx.identity()`.
#[doc(inline)]
pub use convoke_macros::mutation;

/// Registers an `async` function that works outside the database: it waits, calls other services, and reaches the
/// database through queries and mutations, each a transaction of its own.
///
/// ```
/// mod reports {
///     use convoke::prelude::*;
///
///     #[query(internal)]
///     pub fn figures(_ctx: &QueryCtx) -> Result<i64> {
///         Ok(42)
///     }
///
///     /// Writes a report.
///     #[action]
///     pub async fn report(ctx: &ActionCtx) -> Result<String> {
///         let figure = ctx.run::<figures>(NoArgs {}).await?;
///         Ok(format!("The figure is {figure}"))
///     }
/// }
/// # fn main() {}
/// ```
///
/// # Options
/// Those of [`macro@query`].
#[doc(inline)]
pub use convoke_macros::action;

/// Lets a `#[mutation]` or `#[action]` that takes the context alone run by itself.
///
/// The expression has five fields, separated by spaces: minute, hour, day of the month, month, day of the week (0 and 7
/// are Sunday); or six, with the second first. A field is `*`, a number or name (`jan`, `mon`), a range `1-5`, a step
/// `*/15`, or a list of those; `@hourly`, `@daily` and the like stand for whole expressions. Times are UTC. The attribute
/// may be repeated. A run that was missed while the server was down is made up once.
///
/// ```
/// mod cleaning {
///     use convoke::prelude::*;
///
///     #[mutation(internal)]
///     #[cron("*/15 * * * *")]
///     #[cron("0 0 1 jan *")]
///     pub fn clean(_ctx: &mut MutationCtx) -> Result<()> {
///         Ok(())
///     }
/// }
/// # fn main() {}
/// ```
#[doc(inline)]
pub use convoke_macros::cron;

/// Makes a struct the arguments of a function.
///
/// On the wire it is an object: names in camelCase, an `Option` may be absent or null, anything that is missing,
/// unknown or given twice is refused, and so is an array. The doc comments become the descriptions in the JSON schema.
/// Whole numbers may be written `31`, `31.0` or `3.1e1`; U+0000 is in no text. A tuple is an array of its length. Rules
/// beyond that live in the types of the fields, see [`macro@value`].
///
/// `#[default(…)]` takes a literal, which the type of the field checks by its rule when the program starts, or an
/// expression of that type, such as `vec![]` or `State::Open`. It means the same in `#[args]`, `#[value]` and
/// [`macro@table`].
///
/// In clients and in OpenAPI the type is called like its module and itself: `Add` of the module `todos` is `TodosAdd`. No
/// other type changes that name; `#[args(name = "AddTodo")]` does.
///
/// ```
/// use convoke::args;
///
/// /// What a listing takes.
/// #[args]
/// pub struct Listing {
///     /// How many at most: 20 if it is absent or null.
///     #[default(20)]
///     pub limit: i64,
///     pub cursor: Option<String>,
///     /// The name on the wire is `type`.
///     pub r#type: String,
///     #[args(rename = "_id")]
///     pub id: String,
///     /// No longer used: still accepted, and passed over.
///     #[retired]
///     pub offset: Option<i64>,
/// }
///
/// let listing: Listing = serde_json::from_str(r#"{"type": "a", "_id": "x", "offset": 7}"#)?;
/// assert_eq!(listing.limit, 20);
/// assert_eq!(serde_json::to_string(&listing)?, r#"{"limit":20,"type":"a","_id":"x"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[doc(inline)]
pub use convoke_macros::args;

/// Makes a type a value: its wire form, its stored form and its rule stand in one place.
///
/// # A text or number with a rule
/// ```
/// use convoke::value;
///
/// /// The name that others see.
/// #[value(text, trim, min = 1, max = 100, too_short = "Display name cannot be empty")]
/// pub struct DisplayName(String);
///
/// /// Years.
/// #[value(integer, min = 13, max = 120)]
/// pub struct Age(i64);
///
/// /// How sure it is.
/// #[value(number, min = 0.0, max = 1.0)]
/// pub struct Confidence(f64);
///
/// assert_eq!(DisplayName::new(" Ada ")?.as_str(), "Ada");
/// assert_eq!(DisplayName::new(" ").unwrap_err().to_string(), "Display name cannot be empty");
/// assert_eq!(Age::new(7).unwrap_err().to_string(), "must be an integer between 13 and 120 (got 7)");
/// # Ok::<(), convoke::Invalid>(())
/// ```
/// Of a text (around a `String`): `trim` drops Unicode's white space at both ends before anything else; `min` and `max`
/// bound its Unicode scalar values, and `too_short`, `too_long` are the sentences for what is outside; `pattern` is a
/// regular expression that a part of it must match; `expected` says in words what it must be; `check` names a
/// `fn(String) -> Result<String, String>` that normalizes or refuses what passed the rest. U+0000 is always refused.
/// It has `new`, `as_str`, `into_string`, and derefs to `str`.
///
/// Of a whole number (around an `i64`, `i32` or `u32`) and of a number (around an `f64`, always finite): `min`, `max`,
/// `too_small`, `too_large`. It has `new` and `get`.
///
/// A value that is read from the database is taken as it is: a rule that was tightened since judges what comes in.
///
/// # One of a list
/// ```
/// use convoke::value;
///
/// #[value]
/// pub enum Gender {
///     Male,
///     Female,
///     NonBinary,
///     #[value(rename = "unsaid")]
///     PreferNotToSay,
/// }
///
/// assert_eq!(Gender::NonBinary.as_str(), "non-binary");
/// assert_eq!("unsaid".parse(), Ok(Gender::PreferNotToSay));
/// assert_eq!(Gender::ALL.len(), 4);
/// assert_eq!(
///     "x".parse::<Gender>().unwrap_err().to_string(),
///     "must be one of male, female, non-binary, unsaid (got \"x\")"
/// );
/// ```
/// Texts are kebab-case, or as `#[value(rename_all = "camelCase")]` says. A column holds the text.
///
/// # One of several variants
/// An enum with fields is an object whose tag says which variant it is. The tag is `type`, or what `tag` names.
/// ```
/// use convoke::value;
///
/// #[value(tag = "kind")]
/// pub enum Event {
///     Moved {
///         to: String,
///         #[default(1)]
///         hours: u8,
///     },
///     Closed,
/// }
///
/// let event: Event = serde_json::from_str(r#"{"kind": "moved", "to": "Turin"}"#)?;
/// assert_eq!(event, Event::Moved { to: "Turin".to_owned(), hours: 1 });
/// assert_eq!(serde_json::to_string(&Event::Closed)?, r#"{"kind":"closed"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
/// Its fields are read like those of [`macro@args`]; a column holds the object as JSON. OpenAPI describes it by `oneOf` with
/// a discriminator, TypeScript by a union, the generated Rust client by an enum.
///
/// # Several values together
/// On a struct with named fields it gives the wire form of [`macro@args`], and a column holds it as JSON.
/// `#[value(output)]` is for a type that only goes out: a function's result whose fields need not be readable.
///
/// A struct or an enum is called like its module and itself in clients and in OpenAPI, or as `#[value(name = "Place")]` says:
/// no other type changes that name. Where its form in arguments differs from that in results, as by an `Option`, which may
/// come in as null, arguments have the name `PlaceInput`.
/// ```
/// use convoke::value;
///
/// #[value]
/// pub struct Place {
///     pub city: String,
///     pub street: Option<String>,
/// }
///
/// let place = Place { city: "Turin".to_owned(), street: None };
/// assert_eq!(serde_json::to_string(&place)?, r#"{"city":"Turin"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[doc(inline)]
pub use convoke_macros::value;

/// Makes a struct a table.
///
/// `name` is the table's, in camelCase; `prefix` is what its ids begin with (`participant_01h455vb4pex5vsknk084sn02q`).
/// Each `#[index(name(field, …))]` becomes a constant of the struct, which queries name; the keys are given in the
/// index's order, and rustc checks each against its field.
///
/// ```
/// mod schema {
///     use convoke::prelude::*;
///
///     #[value]
///     pub enum Status {
///         Waiting,
///         Matched,
///     }
///
///     /// Somebody who waits for company.
///     #[table(name = "queueEntries", prefix = "queue")]
///     #[index(by_status(status, priority desc))]
///     #[index(one_waiting(name), unique, when(status = Status::Waiting))]
///     #[index(ended(ended_at), when(ended_at is not null))]
///     pub struct QueueEntry {
///         pub name: String,
///         pub status: Status,
///         /// Rows from before this field existed read 0.
///         #[default(0)]
///         pub priority: i64,
///         pub ended_at: Option<Millis>,
///         /// Removed: the column stays in old databases, and nothing reads it.
///         #[retired]
///         pub nickname: Option<String>,
///     }
///
///     pub fn first(ctx: &impl Read) -> Result<Option<Doc<QueueEntry>>> {
///         Ok(ctx.db().query(QueueEntry::by_status).eq(Status::Waiting).range(1..).first()?)
///     }
///
///     pub fn waiting(ctx: &impl Read, name: &str) -> Result<Option<Doc<QueueEntry>>> {
///         Ok(ctx.db().query(QueueEntry::one_waiting).eq(name).unique()?)
///     }
/// }
/// # fn main() {}
/// ```
///
/// After its fields an index may say `unique`, and which rows are in it: `when(field = value)`, `when(field is null)`,
/// `when(field is not null)`. A key may be followed by `desc`. Every index ends in `_id`.
///
/// Fields are numbers, `bool`, `String`, `Id<T>`, `Millis`, types with [`macro@value`], and `Option` and `Vec` of them.
/// A row is written as [`macro@args`] says, as [`Doc`](crate::Doc) with `_id` and `_creationTime` before its fields.
#[doc(inline)]
pub use convoke_macros::table;
