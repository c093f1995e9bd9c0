#[action(admin)]
pub async fn generate(ctx: &ActionCtx, mut args: Generate) -> Result<Generated> {
    ctx.run::<store>(args).await
}
