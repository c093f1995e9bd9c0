#![allow(unused)]

use convoke::prelude::*;

#[query]
fn list(ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

#[mutation(rate = "small")]
pub(self) fn save(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}

#[action(admin)]
async fn fetch(ctx: &ActionCtx) -> Result<()> {
    Ok(())
}

#[query(internal)]
fn read(ctx: &QueryCtx) -> Result<()> {
    Ok(())
}

mod shared {
    use convoke::prelude::*;

    #[query]
    pub(crate) fn in_the_crate(ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }

    #[query]
    pub(super) fn in_the_module_above(ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }
}

fn main() {}
