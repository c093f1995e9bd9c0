mod orders {
    use convoke::prelude::*;

    #[workflow]
    pub async fn fulfil(ctx: &WorkflowCtx) -> Result<()> {
        let day = async { Ok::<(), Error>(()) };
        ctx.join(day, ctx.sleep(days(1))).await?;
        Ok(())
    }
}

fn main() {}
