//! The type of a JSON body needs `#[args]` or `#[value]`.

mod routes {
    use convoke::prelude::*;

    #[derive(Clone)]
    pub struct Event {
        pub id: String,
    }

    #[route(POST, "/events")]
    pub fn events(_ctx: &mut MutationCtx, event: Json<Event>) -> Result<String> {
        Ok(event.0.id)
    }
}

fn main() {}
