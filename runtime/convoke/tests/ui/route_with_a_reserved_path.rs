//! Paths below `/api` belong to the server.

mod routes {
    use convoke::prelude::*;

    #[route(GET, "/api/report")]
    pub fn report(_ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }
}

fn main() {}
