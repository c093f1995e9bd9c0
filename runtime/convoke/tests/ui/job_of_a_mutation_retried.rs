mod orders {
    use convoke::prelude::*;

    #[mutation(internal)]
    pub fn remind(_ctx: &mut MutationCtx) -> Result<()> {
        Ok(())
    }

    #[mutation]
    pub fn place(ctx: &mut MutationCtx) -> Result<()> {
        ctx.schedule::<remind>(When::now(), NoArgs {})?.retry(5);
        Ok(())
    }
}

fn main() {}
