//! A ledger that any number of nodes serve on one database; `e2e/programs/nodes/` kills, stops and disconnects them.
//!
//! ```sh
//! cargo run -p examples --bin ledger -- dev --store 'postgres://convoke@db.example.com/convoke'
//! ```

use std::process::ExitCode;

mod ledger {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    use std::sync::OnceLock;
    use std::time::Duration;

    use convoke::prelude::*;
    use convoke::scheduler::{Lease, LeaseLimits, LeaseValue, Leases};

    /// A posting. No index prevents two entries with one mark, so a duplicate posting is visible.
    #[table(name = "entries", prefix = "entry")]
    pub(crate) struct Entry {
        pub mark: String,
    }

    /// A later change of an entry.
    #[table(name = "stamps", prefix = "stamp")]
    pub(crate) struct Stamp {
        pub mark: String,
        /// The function that set it.
        pub by: String,
    }

    /// The number of postings, which every posting changes.
    #[table(name = "totals", prefix = "total")]
    #[index(by_name(name), unique)]
    pub(crate) struct Total {
        pub name: String,
        pub entries: i64,
    }

    /// A remark. There are many, with values of each kind.
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

    /// The remarks to create.
    #[args]
    pub(crate) struct Remarks {
        /// Number of the first one.
        pub first: i64,
        /// Number of remarks.
        pub count: i64,
    }

    /// Creates remarks with made-up content.
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

    /// A posting with its mark.
    #[args]
    pub(crate) struct Mark {
        /// Any text that is unique among postings.
        pub mark: String,
    }

    /// Posts an entry, and schedules its stamp by a mutation.
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

    /// Schedules a stamp by a slow action.
    #[mutation]
    pub(crate) fn ask(ctx: &mut MutationCtx, args: Mark) -> Result<()> {
        let now = ctx.now();
        ctx.schedule::<deliver>(now, args)?;
        Ok(())
    }

    /// Records a stamp at its start and a second one at its end, seconds later. It starts at most once.
    #[action(internal)]
    pub(crate) async fn deliver(ctx: &ActionCtx, args: Mark) -> Result<()> {
        ctx.run::<delivered>(Delivered { mark: args.mark.clone(), by: "begun".to_owned() }).await?;
        tokio::time::sleep(Duration::from_secs(3)).await;
        ctx.run::<delivered>(Delivered { mark: args.mark, by: "ended".to_owned() }).await
    }

    /// Arguments of [`delivered`].
    #[args]
    pub(crate) struct Delivered {
        pub mark: String,
        pub by: String,
    }

    /// Records the progress of a delivery.
    #[mutation(internal)]
    pub(crate) fn delivered(ctx: &mut MutationCtx, args: Delivered) -> Result<()> {
        ctx.db_mut().insert(Stamp { mark: args.mark, by: args.by })?;
        Ok(())
    }

    /// Rounds of a [`tour`].
    const ROUNDS: u32 = 5;

    /// Visits a mark several times: a stamp by a mutation, a stamp by an action, and a pause.
    #[workflow]
    pub(crate) async fn tour(ctx: &WorkflowCtx, args: Mark) -> Result<u32> {
        for round in 0..ROUNDS {
            let by = format!("round {round}");
            ctx.run::<delivered>(Delivered { mark: args.mark.clone(), by }).await?;
            ctx.run::<drop_in>(args.clone()).retry(5).await?;
            ctx.sleep(Duration::from_millis(200)).await?;
        }
        Ok(ROUNDS)
    }

    /// Records a visit with the key of its attempts.
    #[action(internal)]
    pub(crate) async fn drop_in(ctx: &ActionCtx, args: Mark) -> Result<()> {
        let by = format!("visit {}", ctx.attempt());
        ctx.run::<delivered>(Delivered { mark: args.mark, by }).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(())
    }

    /// Starts a [`tour`].
    #[mutation]
    pub(crate) fn set_out(ctx: &mut MutationCtx, args: Mark) -> Result<Id<Run>> {
        let mark = args.mark.clone();
        Ok(ctx.start::<tour>(args)?.key(mark).id())
    }

    /// Returns a value that shows if two nodes have the same key.
    #[action]
    pub(crate) async fn seal(ctx: &ActionCtx, args: Mark) -> Result<String> {
        let mut hasher = DefaultHasher::new();
        (ctx.own_secret("LEDGER_KEY")?.expose(), args.mark).hash(&mut hasher);
        Ok(format!("{:016x}", hasher.finish()))
    }

    /// Postings and stamps.
    #[value]
    pub(crate) struct Books {
        /// Mark of each entry.
        pub entries: Vec<String>,
        /// Function and mark of each stamp.
        pub stamps: Vec<String>,
        /// The recorded total.
        pub total: i64,
    }

    /// Returns everything.
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

    /// Returns the number of postings.
    #[query]
    pub(crate) fn total(ctx: &QueryCtx) -> Result<i64> {
        Ok(ctx.db().query(Total::by_name).eq("all").unique()?.map_or(0, |total| total.entries))
    }

    /// The result that an audit leaves for waiting callers.
    const AUDITED: &str = "audited";

    /// Arguments of [`audit`].
    #[args]
    pub(crate) struct Audit {
        /// Name of the audit.
        pub mark: String,
        /// Entry to wait for; `None` does not wait.
        pub awaits: Option<String>,
    }

    /// Runs an audit on one node at a time. A caller that waited for a completed audit does nothing. Returns true if this
    /// call ran the audit.
    #[action]
    pub(crate) async fn audit(ctx: &ActionCtx, args: Audit) -> Result<bool> {
        let Audit { mark, awaits } = args;
        ctx.run::<delivered>(Delivered { mark: mark.clone(), by: "asked".to_owned() }).await?;
        let mut turn = ctx.turns().take("audit", mark.clone(), ctx.now()).await?;
        if turn.has_waited() && !turn.is_interrupted() && turn.left() == Some(AUDITED) {
            turn.end().await;
            return Ok(false);
        }
        let ctx = ctx.under(&turn);
        ctx.run::<delivered>(Delivered { mark: mark.clone(), by: "audit".to_owned() }).await?;
        while let Some(awaited) = &awaits
            && !ctx.run::<books>(NoArgs {}).await?.entries.contains(awaited)
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        ctx.run::<delivered>(Delivered { mark, by: "audited".to_owned() }).await?;
        turn.leave(AUDITED.to_owned(), Millis(0));
        turn.end().await;
        Ok(true)
    }

    /// Number of reads of one reader. Each read renews the lease of the reader.
    #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
    struct Visits(u64);

    impl LeaseValue for Visits {
        fn merge(before: &Self, mine: Self, theirs: Self) -> Self {
            Visits((mine.0 + theirs.0).saturating_sub(before.0))
        }
    }

    #[derive(Default)]
    struct Readers(OnceLock<Leases<String, Visits>>);

    impl Readers {
        fn leases(&self, ctx: &QueryCtx) -> &Leases<String, Visits> {
            let limits = LeaseLimits { of_one_owner: 3, in_all: 1_000, lasts: Duration::from_secs(600) };
            self.0.get_or_init(|| ctx.leases("readers", limits))
        }
    }

    /// A reader, with an id from the client.
    #[args]
    pub(crate) struct Visit {
        pub owner: String,
        pub id: String,
    }

    /// Reads the books. Returns the number of reads, or the reason why it was rejected.
    #[query(cache = false)]
    pub(crate) fn visit(ctx: &QueryCtx, args: Visit) -> Result<String> {
        let readers = ctx.memory::<Readers>();
        let visited = readers.leases(ctx).renew(&args.id, &args.owner, ctx.now(), Visits::default, |visits| {
            visits.0 += 1;
            visits.0
        })?;
        Ok(visited.map_or_else(|rejection| format!("{rejection:?}"), |visits| visits.to_string()))
    }

    /// Stops reading.
    #[query(cache = false)]
    pub(crate) fn leave(ctx: &QueryCtx, args: Visit) -> Result<()> {
        ctx.memory::<Readers>().leases(ctx).end(&args.id, &args.owner)
    }

    /// Returns the readers in order of arrival, and the number of recent reads.
    #[query(cache = false)]
    pub(crate) fn visitors(ctx: &QueryCtx, _args: NoArgs) -> Result<Vec<String>> {
        let readers = ctx.memory::<Readers>();
        let leases = readers.leases(ctx);
        let recent = leases.renewed_within(Duration::from_secs(60), ctx.now())?;
        let all = leases.all(ctx.now())?;
        let one = |lease: Lease<String, Visits>| format!("{} {} {}", lease.owner, lease.id, lease.value.0);
        Ok(all.into_iter().map(one).chain([recent.to_string()]).collect())
    }

    /// Takes one token from the caller's rate bucket.
    #[query(cache = false)]
    pub(crate) fn look(ctx: &QueryCtx, _args: NoArgs) -> Result<()> {
        ctx.charge_call()
    }
}

fn main() -> ExitCode {
    convoke::embed::main()
}
