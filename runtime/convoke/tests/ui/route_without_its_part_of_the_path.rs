//! A `Path` has the name of its part of the path.

mod routes {
    use convoke::prelude::*;

    #[route(GET, "/calendar/{meeting}")]
    pub fn calendar(_ctx: &QueryCtx, id: Path<String>) -> Result<String> {
        Ok(id.0)
    }
}

fn main() {}
