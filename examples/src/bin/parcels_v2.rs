//! The next release of `parcels_v1.rs`, which weighs parcels first. One workflow has changed without a version, one branches
//! by the version of a run, and one keeps its old code.

use std::process::ExitCode;

mod parcels {
    use convoke::prelude::*;

    /// The effect of a step.
    #[table(name = "marks", prefix = "mark")]
    #[index(by_parcel(parcel))]
    pub(crate) struct Mark {
        pub parcel: String,
        pub text: String,
    }

    /// A parcel.
    #[args]
    #[derive(Clone)]
    pub(crate) struct Parcel {
        pub parcel: String,
    }

    fn mark(ctx: &mut MutationCtx, parcel: String, text: &str) -> Result<()> {
        ctx.db_mut().insert(Mark { parcel, text: text.to_owned() })?;
        Ok(())
    }

    /// Packs a parcel.
    #[mutation(internal)]
    pub(crate) fn pack(ctx: &mut MutationCtx, args: Parcel) -> Result<()> {
        mark(ctx, args.parcel, "packed")
    }

    /// Weighs a parcel.
    #[mutation(internal)]
    pub(crate) fn weigh(ctx: &mut MutationCtx, args: Parcel) -> Result<()> {
        mark(ctx, args.parcel, "weighed")
    }

    /// Sends a parcel.
    #[mutation(internal)]
    pub(crate) fn send(ctx: &mut MutationCtx, args: Parcel) -> Result<()> {
        mark(ctx, args.parcel, "sent")
    }

    /// Delivers a parcel. This change does not fit runs of the former release.
    #[workflow]
    pub(crate) async fn deliver(ctx: &WorkflowCtx, args: Parcel) -> Result<()> {
        ctx.run::<weigh>(args.clone()).await?;
        ctx.run::<pack>(args.clone()).await?;
        ctx.wait::<i64>("go").await?;
        ctx.run::<send>(args).await
    }

    /// Announces a parcel. Runs of the former release are not weighed.
    #[workflow(version = 2)]
    pub(crate) async fn announce(ctx: &WorkflowCtx, args: Parcel) -> Result<()> {
        if ctx.since(2) {
            ctx.run::<weigh>(args.clone()).await?;
        }
        ctx.run::<pack>(args.clone()).await?;
        ctx.wait::<i64>("go").await?;
        ctx.run::<send>(args).await
    }

    /// Charges for a parcel.
    #[workflow(version = 2)]
    pub(crate) async fn charge(ctx: &WorkflowCtx, args: Parcel) -> Result<()> {
        ctx.run::<weigh>(args.clone()).await?;
        ctx.wait::<i64>("go").await?;
        ctx.run::<send>(args).await
    }

    /// Ends the runs of the former release.
    #[workflow(version = 1, retired)]
    pub(crate) async fn charge_v1(ctx: &WorkflowCtx, args: Parcel) -> Result<()> {
        ctx.run::<pack>(args.clone()).await?;
        ctx.wait::<i64>("go").await?;
        ctx.run::<send>(args).await
    }

    /// Starts a run of each workflow.
    #[mutation]
    pub(crate) fn begin(ctx: &mut MutationCtx, args: Parcel) -> Result<Vec<Id<Run>>> {
        let of = |name: &str| Parcel { parcel: format!("{} {name}", args.parcel) };
        Ok(vec![
            ctx.start::<deliver>(of("deliver"))?.id(),
            ctx.start::<announce>(of("announce"))?.id(),
            ctx.start::<charge>(of("charge"))?.id(),
        ])
    }

    /// A run.
    #[args]
    pub(crate) struct OfRun {
        pub run: Id<Run>,
    }

    /// Continues a run.
    #[mutation]
    pub(crate) fn go(ctx: &mut MutationCtx, args: OfRun) -> Result<()> {
        ctx.signal(args.run, "go", 1)
    }

    /// Returns the marks of a parcel, in order.
    #[query]
    pub(crate) fn marks(ctx: &QueryCtx, args: Parcel) -> Result<Vec<String>> {
        let marks = ctx.db().query(Mark::by_parcel).eq(&args.parcel).take(100)?;
        Ok(marks.iter().map(|mark| mark.text.clone()).collect())
    }
}

fn main() -> ExitCode {
    convoke::embed::main()
}
