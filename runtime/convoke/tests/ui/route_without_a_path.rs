//! A route has a method and a path.

mod routes {
    use convoke::prelude::*;

    #[route("/events")]
    pub fn events(_ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }
}

fn main() {}
