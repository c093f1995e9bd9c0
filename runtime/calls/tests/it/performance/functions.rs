//! The functions whose calls are counted. Their path is `performance/functions/<name>`.

use std::time::Duration;

use convoke::performance::Bucket;
use convoke::prelude::*;

#[args]
pub(super) struct Asked {
    pub fail: bool,
}

/// Answers or refuses.
#[query]
pub(super) fn answer(_ctx: &QueryCtx, args: Asked) -> Result<()> {
    if args.fail { Err(Error::not_found("Nothing")) } else { Ok(()) }
}

/// Panics.
#[query]
pub(super) fn stumble_over(_ctx: &QueryCtx) -> Result<()> {
    panic!("a bug");
}

#[mutation(internal)]
pub(super) fn later(_ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

#[mutation]
pub(super) fn plan_later(ctx: &mut MutationCtx) -> Result<()> {
    ctx.schedule::<later>(When::now(), NoArgs {})?;
    Ok(())
}

#[args]
pub(super) struct Window {
    pub name: Option<String>,
    pub window_ms: i64,
    pub bucket_ms: i64,
}

/// Calls and errors of every bucket of the window that ends now.
#[query]
pub(super) fn course(ctx: &QueryCtx, args: Window) -> Result<Vec<Vec<f64>>> {
    let end = ctx.now() + Duration::from_millis(1);
    let from = ctx.now() - Duration::from_millis(args.window_ms.unsigned_abs());
    let bucket = Duration::from_millis(args.bucket_ms.unsigned_abs());
    let series = ctx.performance().series(args.name.as_deref(), from, end, bucket)?;
    let row = |bucket: &Bucket| vec![bucket.timestamp.0 as f64, bucket.calls as f64, bucket.errors as f64];
    Ok(series.iter().map(row).collect())
}
