//! A route with the context of a transaction cannot wait.

mod routes {
    use convoke::prelude::*;

    #[route(POST, "/events")]
    pub async fn events(_ctx: &mut MutationCtx) -> Result<()> {
        Ok(())
    }
}

fn main() {}
