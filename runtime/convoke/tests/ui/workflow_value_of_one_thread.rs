mod orders {
    use std::rc::Rc;

    use convoke::prelude::*;

    #[workflow]
    pub async fn counts_its_steps(ctx: &WorkflowCtx) -> Result<u32> {
        let steps = Rc::new(1);
        ctx.sleep(days(1)).await?;
        Ok(*steps)
    }
}

fn main() {}
