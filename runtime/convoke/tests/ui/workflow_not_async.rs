mod orders {
    use convoke::prelude::*;

    #[workflow(version = 0, once)]
    pub fn fulfil(ctx: WorkflowCtx) {
        let _ = ctx;
    }

    #[workflow]
    pub async fn generic<T>(_ctx: &WorkflowCtx) -> Result<()> {
        Ok(())
    }
}

fn main() {}
