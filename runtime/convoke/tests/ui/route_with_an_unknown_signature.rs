//! The signature is one of four schemes, or a function.

mod routes {
    use convoke::prelude::*;

    #[route(POST, "/events", verify = paypal("PAYMENTS_SECRET"))]
    pub fn events(_ctx: &QueryCtx) -> Result<()> {
        Ok(())
    }
}

fn main() {}
