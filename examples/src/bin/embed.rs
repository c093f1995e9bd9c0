//! The runtime inside another program, without a command line or a port. The program calls functions by type and by path.
//!
//! ```sh
//! cargo run -p examples --bin embed
//! ```

use convoke::embed::Request;
use convoke::embed::{Runtime, RuntimeOptions};
use convoke::{Caller, NoArgs};

mod visits {
    use convoke::prelude::*;
    use convoke::{mutation, query, table};

    /// A visit.
    #[table(name = "visits", prefix = "visit")]
    pub(crate) struct Visit {
        pub at: Millis,
    }

    /// Records a visit, and returns the number of visits.
    #[mutation]
    pub(crate) fn count_visit(ctx: &mut MutationCtx) -> Result<u32> {
        let at = ctx.now();
        ctx.db_mut().insert(Visit { at })?;
        ctx.run::<how_many>(NoArgs {})
    }

    /// Returns the number of visits.
    #[query]
    pub(crate) fn how_many(ctx: &QueryCtx) -> Result<u32> {
        let count = ctx.db().scan::<Visit>().count()?;
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }
}

#[tokio::main]
#[allow(clippy::print_stdout, reason = "a command line program prints its output")]
async fn main() -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join("convoke-embed");
    let runtime = Runtime::start(RuntimeOptions::in_folder(&folder, convoke::embed::default_engine()))?;

    let visits = runtime.run::<visits::count_visit>(Caller::Nobody, NoArgs {}).await?;
    println!("by type: {visits}");

    let request = Request::Args { path: "visits/howMany", args: "{}" };
    let (outcome, _) = runtime.call(request, Caller::Nobody, runtime.request_id()).await;
    println!("by path: {}", String::from_utf8_lossy(&outcome.result?.joined()));

    runtime.store().close();
    Ok(())
}
