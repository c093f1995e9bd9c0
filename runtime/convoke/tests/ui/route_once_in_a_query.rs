//! The id of an event is stored by a mutation.

mod routes {
    use convoke::prelude::*;

    #[route(POST, "/events", once = header("webhook-id"))]
    pub fn events(_ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }
}

fn main() {}
