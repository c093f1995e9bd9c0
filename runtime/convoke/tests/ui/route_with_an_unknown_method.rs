//! HEAD follows GET by itself.

mod routes {
    use convoke::prelude::*;

    #[route(HEAD, "/events")]
    pub fn events(_ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }
}

fn main() {}
