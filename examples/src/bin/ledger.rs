//! A ledger that any number of nodes keep on one database; `examples/tests/nodes/` ends, stops and cuts them.
//!
//! ```sh
//! cargo run -p examples --features postgres --bin ledger -- dev --store 'postgres://convoke@db.example.com/convoke'
//! ```

use std::process::ExitCode;

mod ledger {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    use std::time::Duration;

    use convoke::prelude::*;

    /// What was posted. Nothing keeps two entries with one mark apart: a posting that was done twice shows.
    #[table(name = "entries", prefix = "entry")]
    pub(crate) struct Entry {
        pub mark: String,
    }

    /// What became of an entry later.
    #[table(name = "stamps", prefix = "stamp")]
    pub(crate) struct Stamp {
        pub mark: String,
        /// Who has set it: the function.
        pub by: String,
    }

    /// The number of postings, which they all change.
    #[table(name = "totals", prefix = "total")]
    #[index(by_name(name), unique)]
    pub(crate) struct Total {
        pub name: String,
        pub entries: i64,
    }

    /// A remark on the books: of these there are many, with values of each kind.
    #[table(name = "remarks", prefix = "remark")]
    #[index(by_number(number), unique)]
    #[index(by_text(text))]
    pub(crate) struct Remark {
        pub number: i64,
        pub text: String,
        pub weight: f64,
        pub is_read: bool,
        pub words: Vec<String>,
        pub about: Option<Id<Entry>>,
    }

    /// Which remarks are made.
    #[args]
    pub(crate) struct Remarks {
        /// The number of the first one.
        pub first: i64,
        /// How many.
        pub count: i64,
    }

    /// Makes remarks up.
    #[mutation]
    pub(crate) fn remark(ctx: &mut MutationCtx, args: Remarks) -> Result<()> {
        let entry = ctx.db().scan::<Entry>().first()?.map(|entry| entry.id());
        for number in args.first..args.first + args.count {
            let text = format!("remark {number}: «ß\u{1F4D2}\\'\"»\n");
            ctx.db_mut().insert(Remark {
                number,
                weight: number as f64 / -7.0,
                is_read: number % 2 == 0,
                words: text.split(' ').map(str::to_owned).collect(),
                about: entry.filter(|_| number % 5 == 0),
                text,
            })?;
        }
        Ok(())
    }

    /// What tells a posting from others.
    #[args]
    pub(crate) struct Mark {
        /// Any text that no other posting has.
        pub mark: String,
    }

    /// Posts an entry, and has it stamped by a mutation.
    #[mutation]
    pub(crate) fn post(ctx: &mut MutationCtx, args: Mark) -> Result<()> {
        ctx.db_mut().insert(Entry { mark: args.mark.clone() })?;
        match ctx.db().query(Total::by_name).eq("all").unique()? {
            Some(total) => ctx.db_mut().patch(total.id(), |total| total.entries += 1).map(drop)?,
            None => ctx.db_mut().insert(Total { name: "all".to_owned(), entries: 1 }).map(drop)?,
        }
        let now = ctx.now();
        ctx.schedule::<stamp>(now, args)?;
        Ok(())
    }

    /// Stamps an entry.
    #[mutation(internal)]
    pub(crate) fn stamp(ctx: &mut MutationCtx, args: Mark) -> Result<()> {
        ctx.db_mut().insert(Stamp { mark: args.mark, by: "mutation".to_owned() })?;
        Ok(())
    }

    /// Has a stamp set by an action that takes its time.
    #[mutation]
    pub(crate) fn ask(ctx: &mut MutationCtx, args: Mark) -> Result<()> {
        let now = ctx.now();
        ctx.schedule::<deliver>(now, args)?;
        Ok(())
    }

    /// Stamps at its begin, and seconds later at its end. It is started once.
    #[action(internal)]
    pub(crate) async fn deliver(ctx: &ActionCtx, args: Mark) -> Result<()> {
        ctx.run::<delivered>(Delivered { mark: args.mark.clone(), by: "begun".to_owned() }).await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        ctx.run::<delivered>(Delivered { mark: args.mark, by: "ended".to_owned() }).await
    }

    /// What [`delivered`] takes.
    #[args]
    pub(crate) struct Delivered {
        pub mark: String,
        pub by: String,
    }

    /// Keeps how far a delivery is.
    #[mutation(internal)]
    pub(crate) fn delivered(ctx: &mut MutationCtx, args: Delivered) -> Result<()> {
        ctx.db_mut().insert(Stamp { mark: args.mark, by: args.by })?;
        Ok(())
    }

    /// What tells whether two nodes have the same key.
    #[action]
    pub(crate) async fn seal(ctx: &ActionCtx, args: Mark) -> Result<String> {
        let mut hasher = DefaultHasher::new();
        (ctx.own_secret("LEDGER_KEY")?.expose(), args.mark).hash(&mut hasher);
        Ok(format!("{:016x}", hasher.finish()))
    }

    /// What was posted and stamped.
    #[value]
    pub(crate) struct Books {
        /// The mark of each entry.
        pub entries: Vec<String>,
        /// Of each stamp who has set it, and the mark.
        pub stamps: Vec<String>,
        /// What the total says.
        pub total: i64,
    }

    /// Everything.
    #[query]
    pub(crate) fn books(ctx: &QueryCtx, _args: NoArgs) -> Result<Books> {
        let entries = ctx.db().scan::<Entry>().take(usize::MAX)?;
        let stamps = ctx.db().scan::<Stamp>().take(usize::MAX)?;
        let total = ctx.db().query(Total::by_name).eq("all").unique()?;
        Ok(Books {
            entries: entries.into_iter().map(|entry| entry.mark.clone()).collect(),
            stamps: stamps.into_iter().map(|stamp| format!("{} {}", stamp.by, stamp.mark)).collect(),
            total: total.map_or(0, |total| total.entries),
        })
    }

    /// Takes one call of the caller's bucket.
    #[query(cache = false)]
    pub(crate) fn look(ctx: &QueryCtx, _args: NoArgs) -> Result<()> {
        ctx.charge_call()
    }
}

fn main() -> ExitCode {
    convoke::cli::main()
}
