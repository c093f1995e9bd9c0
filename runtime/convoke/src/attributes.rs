//! The attributes and their documentation.
//!
//! The crate `convoke-macros` implements them. Their expansions use [`convoke_calls::function`], [`convoke_core::wire`] and
//! [`convoke_store`].

/// Registers a function that reads one snapshot of the database.
///
/// The function does not change. The attribute adds a type of the same name, with which other functions call it:
/// `ctx.run::<listing::list>(args)`. The compiler checks that the function exists, its kind and its arguments. The HTTP
/// path consists of the modules below the crate and the name, in camelCase: `listing/list` in this example.
///
/// ```
/// mod listing {
///     use convoke::prelude::*;
///
///     /// Arguments of [`list`].
///     #[args]
///     pub struct List {
///         /// The largest number of results.
///         #[default(20)]
///         pub limit: i64,
///     }
///
///     /// Returns the first numbers.
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
///     /// Returns the number of results. A function without arguments takes only the context.
///     #[query]
///     pub fn count(ctx: &QueryCtx) -> Result<usize> {
///         Ok(ctx.run::<list>(List { limit: 20 })?.len())
///     }
/// }
/// # fn main() {}
/// ```
///
/// A function that clients can call must be `pub`, `pub(crate)` or `pub(super)`. A private `fn` with `#[query]` is a
/// compile error unless it is `internal`, so that no private function is open to the network by mistake.
///
/// # Options
/// `#[query]`, `#[mutation]` and `#[action]` accept:
/// - `internal`: only other functions and the scheduler can call it. For clients it does not exist.
/// - `admin`: only a deploy key or an admin identity can call it.
/// - `rate = "class"`: its rate class. The default is the class of its kind.
/// - `rights = member(&args.team_id)`: the check that decides whether the caller may call it. The check runs before the
///   body, and its result is the second parameter of the function. Its first argument is the context. The other arguments
///   are expressions in which `args` is the arguments of the call. See below.
/// - `form = in_order(&args)`: a check of several arguments together. It runs before the rights and returns `Result<()>`.
///   Its context is any `&impl Context`: it reads settings, but not the database.
///
/// `#[mutation]` and `#[action]` also accept:
/// - `tries = 3`: the largest number of attempts of a scheduled run. The default is 5 for a mutation and 1 for an action,
///   because effects of an action outside the database cannot be rolled back.
///
/// # Rights
/// A check is an ordinary function. It takes `&impl Read`, so that queries, mutations and actions can share it, and returns
/// `Result<T>`. Its error is the response of the call. The function receives the `T`, so it cannot run without its check,
/// even if another function calls it. The check of an action runs on a snapshot of its own, possibly more than once.
///
/// ```
/// mod teams {
///     use convoke::prelude::*;
///
///     #[table(name = "members", prefix = "member")]
///     #[index(by_team_subject(team, subject), unique)]
///     pub struct Member {
///         pub team: String,
///         pub subject: String,
///     }
///
///     /// Returns the caller's membership of a team.
///     pub fn member(ctx: &impl Read, team: &str) -> Result<Doc<Member>> {
///         let identity = ctx.identity().ok_or_else(|| Error::unauthenticated("Sign in first"))?;
///         let row = ctx.db().query(Member::by_team_subject).eq(team).eq(&identity.subject).unique()?;
///         row.ok_or_else(|| Error::forbidden("Not a member"))
///     }
///
///     #[args]
///     pub struct Leave {
///         pub team: String,
///     }
///
///     /// Removes the caller from a team.
///     #[mutation(rights = member(&args.team))]
///     pub fn leave(ctx: &mut MutationCtx, member: Doc<Member>, _: Leave) -> Result<()> {
///         ctx.db_mut().delete(member.id())?;
///         Ok(())
///     }
/// }
/// # fn main() {}
/// ```
///
/// The list of functions (`functions`), the OpenAPI description and the console show the name of the check.
#[doc(inline)]
pub use convoke_macros::query;

/// Registers a function that reads and writes one serializable transaction.
///
/// The transaction commits completely or not at all: an error or a panic rolls it back. A mutation may run more than once
/// before the caller gets the response. It must therefore depend only on its arguments, the database and `ctx.now()`. It
/// cannot wait.
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
///     /// Signs the guestbook, once per name.
///     #[mutation]
///     pub fn sign(ctx: &mut MutationCtx, args: Sign) -> Result<Id<Entry>> {
///         Ok(ctx.db_mut().insert(Entry { name: args.name })?)
///     }
///
///     /// Runs every night at three o'clock. Clients cannot call it.
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
/// The options of [`macro@query`], and `identity_hook`: the mutation that runs before a call if the caller's identity is
/// new or its claims have changed. A program has at most one. It takes only the context and reads `ctx.identity()`.
#[doc(inline)]
pub use convoke_macros::mutation;

/// Registers an `async` function that runs outside a transaction. It can wait and call other services. It accesses the
/// database through queries and mutations, each in its own transaction.
///
/// ```
/// mod reports {
///     use convoke::prelude::*;
///
///     #[query(internal)]
///     pub fn total(_ctx: &QueryCtx) -> Result<i64> {
///         Ok(42)
///     }
///
///     /// Writes a report.
///     #[action]
///     pub async fn report(ctx: &ActionCtx) -> Result<String> {
///         let total = ctx.run::<total>(NoArgs {}).await?;
///         Ok(format!("The total is {total}"))
///     }
/// }
/// # fn main() {}
/// ```
///
/// # Options
/// The options of [`macro@query`], and `tries`.
#[doc(inline)]
pub use convoke_macros::action;

/// Schedules a `#[mutation]` or `#[action]` that takes only the context.
///
/// The expression has five fields, separated by spaces: minute, hour, day of the month, month, day of the week (0 and 7
/// are Sunday). A sixth field before them is the second. A field is `*`, a number or name (`jan`, `mon`), a range `1-5`, a
/// step `*/15`, or a list of these. `@hourly`, `@daily` and similar names replace a complete expression. Times are UTC.
/// The attribute may be repeated. After downtime, missed runs are made up by a single run.
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

/// Registers a workflow: a function that runs for days, as a journal of its steps.
///
/// A run waits as rows in the database. Its code runs again at each step, and each step that the journal has returns its
/// recorded result. Therefore [`WorkflowCtx`](crate::WorkflowCtx) has steps only: no database, clock, randomness or HTTP.
///
/// ```
/// mod orders {
///     use convoke::prelude::*;
///
///     #[args]
///     pub struct Order {
///         pub number: i64,
///     }
///
///     #[mutation(internal)]
///     pub fn reserve(_ctx: &mut MutationCtx, order: Order) -> Result<i64> {
///         Ok(order.number)
///     }
///
///     #[mutation(internal)]
///     pub fn release(_ctx: &mut MutationCtx, _order: Order) -> Result<()> {
///         Ok(())
///     }
///
///     /// Reserves an order, and waits for its payment.
///     #[workflow]
///     pub async fn fulfil(ctx: &WorkflowCtx, order: Order) -> Result<bool> {
///         ctx.run::<reserve>(order.clone()).undo::<release>(order).await?;
///         match ctx.wait::<i64>("paid").at_most(days(3)).await? {
///             Some(_amount) => Ok(true),
///             None => Err(Error::failed_precondition("The order was not paid")),
///         }
///     }
///
///     #[mutation]
///     pub fn place(ctx: &mut MutationCtx, order: Order) -> Result<Id<Run>> {
///         let number = order.number;
///         Ok(ctx.start::<fulfil>(order)?.key(number).id())
///     }
/// }
/// # fn main() {}
/// ```
/// `version = 2` is the version of new runs, and `ctx.since(2)` is true in them. `#[workflow(version = 1, retired)]` above
/// `fulfil_v1` keeps old code for the runs of version 1.
#[doc(inline)]
pub use convoke_macros::workflow;

/// Registers a function that answers requests of its own path: webhooks, files for other programs, pages.
///
/// The function does not change. The type of its context decides its kind: `&QueryCtx` reads one snapshot, `&mut
/// MutationCtx` writes one transaction, `&ActionCtx` waits. Its other parameters are extractors, which read parts of the
/// request, and its result is a [`Response`](crate::route::Response), or a value that is sent as JSON.
///
/// ```
/// mod shop {
///     use convoke::prelude::*;
///
///     /// An event of the payment provider.
///     #[args]
///     pub struct PaymentEvent {
///         pub order: String,
///         pub cents: i64,
///     }
///
///     /// A payment.
///     #[table(name = "payments", prefix = "payment")]
///     #[index(by_order(order), unique)]
///     pub struct Payment {
///         pub order: String,
///         pub cents: i64,
///     }
///
///     /// Receives payment events, each once.
///     #[route(POST, "/hooks/payments", verify = standard_webhooks("PAYMENTS_SECRET"), once = header("webhook-id"))]
///     pub fn paid(ctx: &mut MutationCtx, event: Json<PaymentEvent>) -> Result<Response> {
///         let Json(PaymentEvent { order, cents }) = event;
///         ctx.db_mut().insert(Payment { order, cents })?;
///         Ok(Response::empty())
///     }
///
///     /// Shows what was paid for an order.
///     #[route(GET, "/receipts/{order}.txt")]
///     pub fn receipt(ctx: &QueryCtx, order: Path<String>) -> Result<Response> {
///         let payment = ctx.db().query(Payment::by_order).eq(&*order).unique()?;
///         let payment = payment.ok_or_else(|| Error::not_found("No payment").with_status(404))?;
///         Ok(Response::text(format!("{} cents", payment.cents)))
///     }
/// }
/// # fn main() {}
/// ```
///
/// # Extractors
/// [`Json`](crate::route::Json), [`Path`](struct@crate::route::Path), [`Query`](crate::route::Query),
/// [`Form`](crate::route::Form), [`Headers`](crate::route::Headers), [`Bytes`](crate::route::Bytes) and
/// [`Request`](crate::route::Request). A `Path` has the name of its part of the path.
///
/// # Paths
/// `{name}` matches a segment, or a part of it with a text before or after it (`{meeting}.ics`). `{*name}` matches the
/// rest of the path. A path has at most four parameters. Two routes that could match one request are a compile error, and
/// an error at start if they are in different crates. Paths below `/api`, `/console`, `/docs`, `/openapi.json`, `/metrics`,
/// `/healthz`, `/readyz`, `/files` and `/mcp` belong to the server.
///
/// # Options
/// - `verify`: the check of the sender's signature, before anything else: `standard_webhooks("SECRET")`,
///   `stripe("SECRET")`, `github("SECRET")`, `hmac_sha256("header", "SECRET")`, or a function of yours that takes
///   `&Unverified<'_>` and returns `Result<()>`. `SECRET` is the name of a secret of the installation. It may have several
///   lines, one key per line, while the sender changes its key. A missing secret is an error at start.
/// - `once = header("name")` or `once = json("/pointer")`: the sender's id of an event. A mutation runs once per id; a
///   repeated delivery gets the stored response, for seven days. A failed delivery does not use up its id.
/// - `body_max = "64MiB"`: maximum size of a body. The default is the limit of all requests.
/// - `timeout = "5m"`: timeout of an action. The default is the limit of all actions.
/// - `cors = true`: pages of the origins that the settings allow may send requests.
/// - `rate = "class"`: its rate class. The default is the class of its kind.
///
/// # Errors
/// An error is sent as the envelope of calls, with the status of its code: 200 for most errors of a function. A sender of
/// webhooks tries again only after another status; [`Error::with_status`](crate::Error::with_status) sets it.
#[doc(inline)]
pub use convoke_macros::route;

/// Declares a struct as the arguments of a function.
///
/// The wire form is an object with names in camelCase. An `Option` may be absent or null. Missing, unknown and duplicate
/// members are rejected, and so is an array. Doc comments become the descriptions in the JSON schema. An integer may be
/// written as `31`, `31.0` or `3.1e1`. A text cannot contain U+0000. A tuple is an array of its length. The types of the
/// fields hold further rules, see [`macro@value`].
///
/// `#[default(…)]` takes a literal or an expression of the field's type, such as `vec![]` or `State::Open`. The program
/// checks a literal by the rule of the type when it starts. The meaning is the same in `#[args]`, `#[value]` and
/// [`macro@table`].
///
/// The name of the type in clients and in OpenAPI consists of its module and its own name: `Add` of the module `todos`
/// becomes `TodosAdd`. `#[args(name = "AddTodo")]` sets another name. No other type changes the name.
///
/// ```
/// use convoke::args;
///
/// /// Arguments of a listing.
/// #[args]
/// pub struct Listing {
///     /// The largest number of results: 20 if absent or null.
///     #[default(20)]
///     pub limit: i64,
///     pub cursor: Option<String>,
///     /// The name on the wire is `type`.
///     pub r#type: String,
///     #[args(rename = "_id")]
///     pub id: String,
///     /// No longer used: accepted and ignored.
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

/// Declares a value type: one place for its wire form, its stored form and its rule.
///
/// # Texts and numbers with a rule
/// ```
/// use convoke::value;
///
/// /// The name that other users see.
/// #[value(text, trim, min = 1, max = 100, too_short = "Display name cannot be empty")]
/// pub struct DisplayName(String);
///
/// /// The age in years.
/// #[value(integer, min = 13, max = 120)]
/// pub struct Age(i64);
///
/// /// A confidence.
/// #[value(number, min = 0.0, max = 1.0)]
/// pub struct Confidence(f64);
///
/// assert_eq!(DisplayName::new(" Ada ")?.as_str(), "Ada");
/// assert_eq!(DisplayName::new(" ").unwrap_err().to_string(), "Display name cannot be empty");
/// assert_eq!(Age::new(7).unwrap_err().to_string(), "must be an integer between 13 and 120 (got 7)");
/// # Ok::<(), convoke::Invalid>(())
/// ```
/// Options of a text (around a `String`):
/// - `trim` removes Unicode white space at both ends before the other rules apply.
/// - `min` and `max` bound the number of Unicode scalar values. `too_short` and `too_long` are the messages.
/// - `pattern` is a regular expression that must match a part of the text. `expected` describes a valid text in the error.
/// - `check` names a `fn(String) -> Result<String, String>` that normalizes or rejects a text that passed the other rules.
///
/// U+0000 is always rejected. The type has `new`, `as_str` and `into_string`, and dereferences to `str`.
///
/// Options of an integer (around an `i64`, `i32` or `u32`) and of a number (around an `f64`, always finite): `min`, `max`,
/// `too_small` and `too_large`. The type has `new` and `get`.
///
/// Rules apply to input, not to stored values: a value that was stored under an older rule can still be read.
///
/// # Enums without fields
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
/// The wire form and the stored form are the text in kebab-case, or in the case of `#[value(rename_all = "camelCase")]`.
///
/// # Enums with fields
/// The wire form is an object whose tag names the variant. The tag is `type`, or the name that `tag` sets.
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
/// Its fields follow the rules of [`macro@args`], and a column holds the object as JSON. It is `oneOf` with a discriminator
/// in OpenAPI, a union in TypeScript and an enum in the generated Rust client.
///
/// # Structs
/// A struct with named fields has the wire form of [`macro@args`], and a column holds it as JSON. `#[value(output)]` is for
/// results only: the fields need not be deserializable.
///
/// The name in clients and in OpenAPI consists of the module and the type, or is set by `#[value(name = "Place")]`. No
/// other type changes it. If the form in arguments differs from the form in results (an `Option` in arguments may be null),
/// the form in arguments has the name `PlaceInput`.
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

/// Declares a struct as a table.
///
/// `name` is the name of the table, in camelCase. `prefix` is the start of its ids
/// (`participant_01h455vb4pex5vsknk084sn02q`). Each `#[index(name(field, …))]` becomes a constant of the struct, which
/// queries name. A query gives the keys in the order of the index, and the compiler checks each key against its field.
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
///     /// An entry of a queue.
///     #[table(name = "queueEntries", prefix = "queue")]
///     #[index(by_status(status, priority desc))]
///     #[index(one_waiting(name), unique, when(status = Status::Waiting))]
///     #[index(ended(ended_at), when(ended_at is not null))]
///     pub struct QueueEntry {
///         pub name: String,
///         pub status: Status,
///         /// 0 in rows that are older than this field.
///         #[default(0)]
///         pub priority: i64,
///         pub ended_at: Option<Millis>,
///         /// Removed: old databases keep the column, and no code reads it.
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
/// After its fields, an index accepts `unique` and a condition: `when(field = value)`, `when(field is null)` or
/// `when(field is not null)`. `desc` after a field reverses its order. Every index ends with `_id`. With `unique`, rows
/// whose keys are equal are rejected; a row without a value in one of the fields never conflicts.
///
/// Field types are `i64`, `i32`, `u32`, `f64`, `bool`, `String`, `Id<T>`, `Millis`, types with [`macro@value`], and `Option` and `Vec` of
/// these. The wire form of a row follows [`macro@args`]; a [`Doc`](crate::Doc) has `_id` and `_creationTime` before the
/// fields.
#[doc(inline)]
pub use convoke_macros::table;
