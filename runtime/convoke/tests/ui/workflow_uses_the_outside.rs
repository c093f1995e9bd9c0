mod orders {
    use std::time::{Duration, SystemTime};

    use convoke::prelude::*;

    #[workflow]
    pub async fn reads_the_clock(ctx: &WorkflowCtx) -> Result<bool> {
        ctx.sleep(days(1)).await?;
        Ok(SystemTime::now().elapsed().is_ok())
    }

    #[workflow]
    pub async fn sleeps_outside(_ctx: &WorkflowCtx) -> Result<()> {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(())
    }
}

fn main() {}
