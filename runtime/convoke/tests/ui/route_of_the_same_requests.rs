//! Two routes of one crate could match the same request.

mod routes {
    use convoke::prelude::*;

    #[route(GET, "/calendar/{meeting}.ics")]
    pub fn calendar(_ctx: &QueryCtx, meeting: Path<String>) -> Result<String> {
        Ok(meeting.0)
    }

    #[route(GET, "/calendar/{name}")]
    pub fn named(_ctx: &QueryCtx, name: Path<String>) -> Result<String> {
        Ok(name.0)
    }
}

fn main() {}
