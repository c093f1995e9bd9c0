/// Fulfils an order.
#[workflow(version = 2)]
pub async fn fulfil(ctx: &WorkflowCtx, args: Order) -> Result<i64> {
    ctx.run::<reserve>(args).await
}

#[workflow(version = 1, retired)]
async fn fulfil_v1(ctx: &WorkflowCtx) -> Result<()> {
    ctx.sleep(days(1)).await
}
