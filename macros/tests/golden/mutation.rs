/// Forgets what is old.
#[cron("0 3 * * *")]
#[mutation(internal, rate = "cleaning")]
#[cron("30 0 12 * * mon")]
#[cfg(unix)]
fn clean(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

#[mutation(identity_hook)]
pub(crate) fn seen(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}
