//! A parameter after the context is an extractor.

mod routes {
    use convoke::prelude::*;

    #[route(GET, "/count")]
    pub fn count(_ctx: &QueryCtx, limit: i64) -> Result<i64> {
        Ok(limit)
    }
}

fn main() {}
