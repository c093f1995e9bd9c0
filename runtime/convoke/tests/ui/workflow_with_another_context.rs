mod orders {
    use convoke::prelude::*;

    #[workflow]
    pub async fn of_action(_ctx: &ActionCtx) -> Result<()> {
        Ok(())
    }

    #[workflow]
    pub async fn of_both(_ctx: &WorkflowCtx, _db: &MutationCtx) -> Result<()> {
        Ok(())
    }

    #[workflow]
    pub async fn captures(ctx: &WorkflowCtx) -> Result<()> {
        let read = |ctx: &QueryCtx| ctx.db().clone();
        let _ = read;
        ctx.sleep(days(1)).await
    }
}

fn main() {}
