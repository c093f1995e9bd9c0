//! Orders whose events other programs receive as webhooks; `e2e/programs/webhooks.rs` kills it amid deliveries.
//!
//! ```sh
//! cargo run -p examples --bin orders -- dev
//! ```

use std::process::ExitCode;

mod orders {
    use convoke::prelude::*;

    #[table(name = "orders", prefix = "order")]
    pub(crate) struct Order {
        pub customer: String,
        pub cents: i64,
    }

    #[args]
    pub(crate) struct PlaceOrder {
        pub customer: String,
        pub cents: i64,
    }

    /// The event of an order.
    #[value(output)]
    pub(crate) struct OrderPlaced {
        pub order: Id<Order>,
        pub customer: String,
        pub cents: i64,
    }

    /// Places an order, and delivers the event `order.placed`.
    #[mutation]
    pub(crate) fn place_order(ctx: &mut MutationCtx, args: PlaceOrder) -> Result<Id<Order>> {
        let PlaceOrder { customer, cents } = args;
        let order = ctx.db_mut().insert(Order { customer: customer.clone(), cents })?;
        ctx.deliver("order.placed", &OrderPlaced { order, customer, cents })?;
        Ok(order)
    }
}

fn main() -> ExitCode {
    convoke::embed::main()
}

#[cfg(test)]
mod tests {
    use convoke::testing::TestApp;
    use convoke::webhooks::{NewEndpoint, WebhooksMut};
    use serde_json::json;

    /// Adds an endpoint of the operator.
    fn add_endpoint(app: &TestApp, url: &str) {
        let (services, now, url) = ((**app.runtime()).clone(), app.now(), url.to_owned());
        let work = move |db: &mut convoke::store::DbMut| {
            let new = NewEndpoint { url: url.clone(), ..NewEndpoint::default() };
            WebhooksMut::of(db, services.clone(), now, None).create(new).map(drop)
        };
        app.block_on(app.runtime().database().write("add an endpoint", work)).unwrap();
    }

    #[test]
    fn order_is_announced() {
        let app = TestApp::new();
        add_endpoint(&app, "https://example.com/hooks");

        app.user("ada").call("orders/placeOrder", json!({ "customer": "ada", "cents": 1_200 })).value();

        let deliveries = app.deliveries();
        assert_eq!(deliveries[0].event, "order.placed");
        assert!(deliveries[0].body.contains(r#""cents":1200"#));
    }
}
