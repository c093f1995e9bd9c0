//! The next release of `ledger.rs`: entries have a weight, and there are receipts. Nodes of both releases serve one
//! database at the same time in `e2e/programs/nodes/`.

use std::process::ExitCode;

mod ledger {
    use convoke::prelude::*;

    /// A posting. Entries of the former release have weight one and no note.
    #[table(name = "entries", prefix = "entry")]
    #[index(by_mark(mark))]
    pub(crate) struct Entry {
        pub mark: String,
        #[default(1)]
        pub weight: i64,
        pub note: Option<String>,
    }

    /// A receipt, which is unknown to the former release.
    #[table(name = "receipts", prefix = "receipt")]
    #[index(by_mark(mark))]
    pub(crate) struct Receipt {
        pub mark: String,
    }

    /// Its entry.
    #[args]
    pub(crate) struct Mark {
        pub mark: String,
    }

    /// Adds an entry with weight two.
    #[mutation]
    pub(crate) fn add(ctx: &mut MutationCtx, args: Mark) -> Result<()> {
        ctx.db_mut().insert(Entry { mark: args.mark, weight: 2, note: Some("added".to_owned()) })?;
        Ok(())
    }

    /// Returns the weight of an entry, if it exists.
    #[query]
    pub(crate) fn weight(ctx: &QueryCtx, args: Mark) -> Result<Option<i64>> {
        Ok(ctx.db().query(Entry::by_mark).eq(args.mark).first()?.map(|entry| entry.weight))
    }

    /// Time of a receipt.
    #[args]
    pub(crate) struct Wanted {
        pub mark: String,
        /// Seconds from now.
        pub in_seconds: i64,
    }

    /// Schedules a receipt.
    #[mutation]
    pub(crate) fn want(ctx: &mut MutationCtx, args: Wanted) -> Result<()> {
        let at = Millis(ctx.now().0 + 1_000 * args.in_seconds);
        ctx.schedule::<write>(at, Mark { mark: args.mark })?;
        Ok(())
    }

    /// Writes a receipt.
    #[mutation(internal)]
    pub(crate) fn write(ctx: &mut MutationCtx, args: Mark) -> Result<()> {
        ctx.db_mut().insert(Receipt { mark: args.mark })?;
        Ok(())
    }

    /// Writes a receipt each second.
    #[mutation(internal)]
    #[cron("* * * * * *")]
    pub(crate) fn tick(ctx: &mut MutationCtx) -> Result<()> {
        ctx.db_mut().insert(Receipt { mark: "tick".to_owned() })?;
        Ok(())
    }

    /// Returns the number of receipts with this mark.
    #[query]
    pub(crate) fn receipts(ctx: &QueryCtx, args: Mark) -> Result<i64> {
        let count = ctx.db().query(Receipt::by_mark).eq(args.mark).count()?;
        Ok(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

fn main() -> ExitCode {
    convoke::embed::main()
}
