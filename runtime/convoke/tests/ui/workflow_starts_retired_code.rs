mod orders {
    use convoke::prelude::*;

    #[workflow(version = 1, retired)]
    pub async fn fulfil_v1(ctx: &WorkflowCtx) -> Result<()> {
        ctx.sleep(days(1)).await
    }

    #[mutation]
    pub fn place(ctx: &mut MutationCtx) -> Result<Id<Run>> {
        Ok(ctx.start::<fulfil_v1>(NoArgs {})?.id())
    }
}

fn main() {}
