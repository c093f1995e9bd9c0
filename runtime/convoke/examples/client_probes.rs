//! Functions for the tests of clients: every kind of value, every error, and temporary failures.
//!
//! `e2e/clients/` calls it over HTTP with the clients that this program generates (`codegen`) and with the clients of the
//! widespread convention.

use std::process::ExitCode;

mod probes {
    pub(crate) mod values {
        use std::collections::BTreeMap;

        use convoke::prelude::*;
        use convoke::store::table::Bytes;

        /// An integer of the full 64-bit range.
        #[value(integer, min = -9_223_372_036_854_775_808, max = 9_223_372_036_854_775_807)]
        pub struct Wide(i64);

        /// One of several words.
        #[value]
        pub(crate) enum Color {
            Red,
            DeepBlue,
        }

        /// Arguments of [`echo`]: every kind of value.
        #[args]
        pub(crate) struct Echo {
            pub text: Option<String>,
            pub wide: Option<Wide>,
            pub number: Option<f64>,
            pub bytes: Option<Bytes>,
            pub color: Option<Color>,
            pub list: Option<Vec<Wide>>,
        }

        /// The decoded arguments.
        #[value(output)]
        pub(crate) struct Echoed {
            pub text: Option<String>,
            /// The number of Unicode scalar values of `text`.
            pub characters: usize,
            pub wide: Option<Wide>,
            pub number: Option<f64>,
            /// The bytes in reverse order.
            pub backwards: Option<Bytes>,
            pub color: Option<Color>,
            pub list: Vec<Wide>,
        }

        /// Returns the decoded arguments.
        #[query]
        pub(crate) fn echo(_ctx: &QueryCtx, args: Echo) -> Result<Echoed> {
            info!("echo of {}", args.text.as_deref().unwrap_or("nothing"));
            let characters = args.text.as_deref().map_or(0, |text| text.chars().count());
            let backwards = args.bytes.map(|bytes| Bytes(bytes.0.into_iter().rev().collect()));
            let (text, wide, number, color) = (args.text, args.wide, args.number, args.color);
            Ok(Echoed { text, characters, wide, number, backwards, color, list: args.list.unwrap_or_default() })
        }

        /// Returns null.
        #[query]
        pub(crate) fn nothing(_ctx: &QueryCtx) -> Result<()> {
            Ok(())
        }

        /// Returns the subject of the caller, or null.
        #[query]
        pub(crate) fn who(ctx: &QueryCtx) -> Result<Option<String>> {
            Ok(ctx.identity().map(|identity| identity.subject.clone()))
        }

        /// Returns the subject of the caller, or null, as a mutation.
        #[mutation]
        pub(crate) fn who_writes(ctx: &mut MutationCtx) -> Result<Option<String>> {
            Ok(ctx.identity().map(|identity| identity.subject.clone()))
        }

        /// A count.
        #[table(name = "counters", prefix = "counter")]
        #[index(by_name(name), unique)]
        pub(crate) struct Counter {
            pub name: String,
            pub count: i64,
        }

        /// Arguments of [`counted`] and [`count`].
        #[args]
        pub(crate) struct Counted {
            pub name: String,
        }

        /// Returns the count of a counter.
        #[query]
        pub(crate) fn counted(ctx: &QueryCtx, args: Counted) -> Result<i64> {
            let counter = ctx.db().query(Counter::by_name).eq(&args.name).unique()?;
            Ok(counter.map_or(0, |counter| counter.count))
        }

        /// Adds 1 to a counter and returns the new count.
        #[mutation]
        pub(crate) fn count(ctx: &mut MutationCtx, args: Counted) -> Result<i64> {
            let counter = ctx.db().query(Counter::by_name).eq(&args.name).unique()?;
            let count = counter.as_ref().map_or(0, |counter| counter.count) + 1;
            match counter {
                Some(counter) => drop(ctx.db_mut().patch(counter.id(), |counter| counter.count = count)?),
                None => drop(ctx.db_mut().insert(Counter { name: args.name, count })?),
            }
            Ok(count)
        }

        /// Returns the counters as a map.
        #[query]
        pub(crate) fn counts(ctx: &QueryCtx, args: Counted) -> Result<BTreeMap<String, i64>> {
            let counters = ctx.db().query(Counter::by_name).take(1_000)?;
            let counters = counters.into_iter().filter(|counter| counter.name.starts_with(&args.name));
            Ok(counters.map(|counter| (counter.name.clone(), counter.count)).collect())
        }

        /// Adds 1 to a counter and returns a map with its name as the key.
        #[mutation]
        pub(crate) fn count_by_name(ctx: &mut MutationCtx, args: Counted) -> Result<BTreeMap<String, i64>> {
            let name = args.name.clone();
            let count = ctx.run::<count>(args)?;
            Ok(BTreeMap::from([(name, count)]))
        }

        /// An object that a client attached to a name.
        #[table(name = "attachments", prefix = "attachment")]
        #[index(by_name(name), unique)]
        pub(crate) struct Attachment {
            pub name: String,
            pub data: JsonObject,
        }

        /// Arguments of [`attach`].
        #[args]
        pub(crate) struct Attach {
            pub name: String,
            pub data: JsonObject,
        }

        /// Attaches an object to a name and replaces the previous one.
        #[mutation]
        pub(crate) fn attach(ctx: &mut MutationCtx, args: Attach) -> Result<()> {
            let (name, data) = (args.name, args.data);
            match ctx.db().query(Attachment::by_name).eq(&name).unique()? {
                Some(row) => drop(ctx.db_mut().patch(row.id(), |row| row.data = data)?),
                None => drop(ctx.db_mut().insert(Attachment { name, data })?),
            }
            Ok(())
        }

        /// Returns the object of a name.
        #[query]
        pub(crate) fn attached(ctx: &QueryCtx, args: Counted) -> Result<Option<JsonObject>> {
            let row = ctx.db().query(Attachment::by_name).eq(&args.name).unique()?;
            Ok(row.map(|row| row.into_inner().data))
        }

        /// For operators only.
        #[query(admin)]
        pub(crate) fn secret(_ctx: &QueryCtx) -> Result<String> {
            Ok("for operators".to_owned())
        }

        #[args]
        pub(crate) struct Many {
            pub rows: usize,
        }

        /// One row of many.
        #[value(output)]
        pub(crate) struct Row {
            pub place: usize,
            pub text: String,
        }

        /// Returns many rows of about 100 bytes each.
        #[query]
        pub(crate) fn many(_ctx: &QueryCtx, args: Many) -> Result<Vec<Row>> {
            Ok((0..args.rows).map(|place| Row { place, text: format!("{place:>60}") }).collect())
        }
    }

    pub(crate) mod events {
        use convoke::prelude::*;
        use convoke::store::table::Bytes;

        /// An event of a parcel.
        #[value]
        pub(crate) enum Event {
            /// It moved.
            Moved {
                /// The destination.
                to: String,
                /// The duration in hours.
                #[default(1)]
                hours: u8,
            },
            Signed {
                signature: Bytes,
                by: Option<String>,
            },
            Closed,
        }

        /// Arguments of [`report`].
        #[args]
        pub(crate) struct Report {
            pub event: Event,
            /// Latitude and longitude.
            pub place: (f64, f64),
            pub earlier: Option<Vec<Event>>,
        }

        /// The reported event.
        #[value(output)]
        pub(crate) struct Reported {
            pub event: Event,
            pub place: (f64, f64),
            pub earlier: Vec<Event>,
        }

        /// Returns the decoded arguments.
        #[query]
        pub(crate) fn report(_ctx: &QueryCtx, args: Report) -> Result<Reported> {
            Ok(Reported { event: args.event, place: args.place, earlier: args.earlier.unwrap_or_default() })
        }
    }

    pub(crate) mod failures {
        use convoke::prelude::*;

        /// The failure to return.
        #[args]
        pub(crate) struct Failing {
            /// The code, as on the wire.
            pub code: String,
            pub message: String,
            /// The member `detail` of the error's data.
            pub detail: Option<i64>,
            pub idempotency_key: Option<String>,
        }

        fn failure(args: &Failing) -> Error {
            warn!("about to fail with {}", args.code);
            let code = Code::ALL.iter().find(|code| code.as_str() == args.code).copied().unwrap_or(Code::Internal);
            let error = Error::new(code, args.message.clone());
            let error = if code == Code::InvalidArgument { error.with("field", "list[2].color") } else { error };
            match args.detail {
                Some(detail) => error.with("detail", detail),
                None => error,
            }
        }

        /// Fails.
        #[query]
        pub(crate) fn query(_ctx: &QueryCtx, args: Failing) -> Result<String> {
            Err(failure(&args))
        }

        /// Fails.
        #[mutation]
        pub(crate) fn mutation(_ctx: &mut MutationCtx, args: Failing) -> Result<String> {
            Err(failure(&args))
        }

        /// Fails.
        #[action]
        pub(crate) async fn action(_ctx: &ActionCtx, args: Failing) -> Result<String> {
            Err(failure(&args))
        }

        #[args]
        pub(crate) struct Panicking {
            pub loudly: bool,
        }

        /// Panics.
        #[mutation]
        pub(crate) fn panicking(_ctx: &mut MutationCtx, args: Panicking) -> Result<()> {
            assert!(!args.loudly, "as it was asked to");
            Ok(())
        }
    }

    pub(crate) mod attempts {
        use std::collections::HashMap;
        use std::sync::{LazyLock, Mutex};
        use std::time::Duration;

        use convoke::prelude::*;

        /// Number of attempts per name. It is in memory, because a failed mutation is rolled back.
        static SEEN: LazyLock<Mutex<HashMap<String, u32>>> = LazyLock::new(Mutex::default);

        fn count(name: &str) -> u32 {
            let mut seen = SEEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let count = seen.entry(name.to_owned()).or_default();
            *count += 1;
            *count
        }

        /// A call that fails several times before it succeeds.
        #[args]
        pub(crate) struct Flaky {
            /// The name of the counter.
            pub name: String,
            /// The number of failures.
            pub failures: u32,
            /// The code of the failures.
            pub code: String,
            pub idempotency_key: Option<String>,
        }

        fn tried(args: &Flaky) -> Result<u32> {
            let count = count(&args.name);
            let code = Code::ALL.iter().find(|code| code.as_str() == args.code).copied().unwrap_or(Code::Internal);
            if count <= args.failures { Err(Error::new(code, "Not yet")) } else { Ok(count) }
        }

        /// Fails the given number of times, then returns the number of attempts.
        #[query]
        pub(crate) fn query(_ctx: &QueryCtx, args: Flaky) -> Result<u32> {
            tried(&args)
        }

        /// Fails the given number of times, then returns the number of attempts.
        #[mutation]
        pub(crate) fn mutation(_ctx: &mut MutationCtx, args: Flaky) -> Result<u32> {
            tried(&args)
        }

        /// Fails the given number of times, then returns the number of attempts.
        #[action]
        pub(crate) async fn action(_ctx: &ActionCtx, args: Flaky) -> Result<u32> {
            tried(&args)
        }

        #[args]
        pub(crate) struct Seen {
            pub name: String,
        }

        /// Returns the number of attempts of a name.
        #[query]
        pub(crate) fn seen(_ctx: &QueryCtx, args: Seen) -> Result<u32> {
            let seen = SEEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            Ok(seen.get(&args.name).copied().unwrap_or(0))
        }

        #[args]
        pub(crate) struct Slow {
            pub name: String,
            pub ms: u64,
        }

        /// Waits before it returns.
        #[action]
        pub(crate) async fn slow(_ctx: &ActionCtx, args: Slow) -> Result<u32> {
            let count = count(&args.name);
            tokio::time::sleep(Duration::from_millis(args.ms)).await;
            Ok(count)
        }
    }

    pub(crate) mod ledger {
        use convoke::prelude::*;

        /// A recorded amount.
        #[table(name = "entries", prefix = "entry")]
        #[index(by_amount(amount))]
        pub(crate) struct Entry {
            pub amount: i64,
        }

        /// Arguments of [`add`].
        #[args]
        pub(crate) struct Add {
            pub amount: i64,
            pub idempotency_key: Option<String>,
        }

        /// Result of [`add`].
        #[value]
        pub(crate) struct Added {
            pub entry_id: Id<Entry>,
            pub total: i64,
        }

        /// Records an amount, once per key.
        #[mutation]
        pub(crate) fn add(ctx: &mut MutationCtx, args: Add) -> Result<Added> {
            let key = args.idempotency_key.clone();
            ctx.once(key.as_deref(), &args.clone(), |ctx| {
                let entry_id = ctx.db_mut().insert(Entry { amount: args.amount })?;
                let total = ctx.db().scan::<Entry>().take(1_000)?.iter().map(|entry| entry.amount).sum();
                Ok(Added { entry_id, total })
            })
        }

        /// A page of the entries.
        #[args]
        pub(crate) struct List {
            pub cursor: Option<Cursor>,
        }

        /// Returns ten entries.
        #[query]
        pub(crate) fn list(ctx: &QueryCtx, args: List) -> Result<Page<Doc<Entry>>> {
            Ok(ctx.db().scan::<Entry>().page(args.cursor.as_ref(), 10)?)
        }

        /// Arguments of [`pages`].
        #[args]
        pub(crate) struct Pages {
            pub pagination_opts: PaginationOpts,
        }

        /// Returns several pages of the entries by amount.
        #[query]
        pub(crate) fn pages(ctx: &QueryCtx, args: Pages) -> Result<PaginationResult<Doc<Entry>>> {
            Ok(ctx.db().query(Entry::by_amount).paginate(&args.pagination_opts)?)
        }
    }

    /// Functions whose names in clients are members of every object of JavaScript.
    pub(crate) mod names {
        use convoke::prelude::*;

        /// Returns its name.
        #[query]
        pub(crate) fn constructor(_ctx: &QueryCtx) -> Result<String> {
            Ok("constructor".to_owned())
        }

        /// Returns its name.
        #[query]
        pub(crate) fn to_string(_ctx: &QueryCtx) -> Result<String> {
            Ok("toString".to_owned())
        }

        /// Returns its name.
        #[query]
        pub(crate) fn value_of(_ctx: &QueryCtx) -> Result<String> {
            Ok("valueOf".to_owned())
        }
    }

    pub(crate) mod files {
        use convoke::prelude::*;
        use convoke::{File, Upload};

        /// A kept content.
        #[table(name = "kept", prefix = "kept")]
        pub(crate) struct Kept {
            #[file(max = "8MiB")]
            pub content: File,
        }

        /// Returns an address for an upload.
        #[mutation]
        pub(crate) fn begin(ctx: &mut MutationCtx) -> Result<Upload> {
            ctx.files().upload::<Kept>()
        }
    }
}

fn main() -> ExitCode {
    convoke::embed::main()
}
