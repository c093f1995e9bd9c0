//! A route answers with a `Response` or with a value that has a JSON form.

mod routes {
    use convoke::prelude::*;

    pub struct Opaque;

    #[route(GET, "/opaque")]
    pub fn opaque(_ctx: &QueryCtx) -> Result<Opaque> {
        Ok(Opaque)
    }
}

fn main() {}
