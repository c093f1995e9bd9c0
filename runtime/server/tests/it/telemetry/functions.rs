//! The functions that these tests call. Their path is `telemetry/functions/<name>`.

use convoke::prelude::*;

#[args]
pub(super) struct Order {
    pub url: String,
}

/// Writes an order, and tells another service.
#[action]
pub(super) async fn order_by_post(ctx: &ActionCtx, args: Order) -> Result<i64> {
    info!("ordering");
    ctx.run::<write>(NoArgs {}).await?;
    Ok(i64::from(ctx.http()?.post(&args.url).json(&1).send().await?.status()))
}

/// Writes an order by another function, and schedules its invoice.
#[mutation]
pub(super) fn write(ctx: &mut MutationCtx, _args: NoArgs) -> Result<()> {
    ctx.run::<write_line>(NoArgs {})?;
    ctx.schedule::<invoice>(When::now(), NoArgs {})?;
    Ok(())
}

/// Writes a line of an order.
#[mutation]
pub(super) fn write_line(ctx: &mut MutationCtx, _args: NoArgs) -> Result<()> {
    ctx.run::<crate::work::increment>(crate::work::Named { name: "lines".to_owned() })?;
    Ok(())
}

/// Sends an invoice.
#[mutation]
pub(super) fn invoice(_ctx: &mut MutationCtx, _args: NoArgs) -> Result<()> {
    Ok(())
}

/// Sends an invoice in a step.
#[workflow]
pub(super) async fn shipment(ctx: &WorkflowCtx) -> Result<()> {
    ctx.run::<invoice>(NoArgs {}).await
}

/// Starts a shipment.
#[mutation]
pub(super) fn ship(ctx: &mut MutationCtx, _args: NoArgs) -> Result<()> {
    ctx.start::<shipment>(NoArgs {})?;
    Ok(())
}

/// Fails.
#[query]
pub(super) fn fail(_ctx: &QueryCtx, _args: NoArgs) -> Result<i64> {
    Err(Error::internal("the shelf is gone"))
}

/// Does nothing. Its result depends on the time, so it is not cached.
#[query]
pub(super) fn idle(ctx: &QueryCtx, _args: NoArgs) -> Result<i64> {
    Ok(ctx.now().0)
}

/// Announces an order to the endpoints of webhooks.
#[mutation]
pub(super) fn announce(ctx: &mut MutationCtx, _args: NoArgs) -> Result<()> {
    ctx.deliver("order.paid", &1)
}
