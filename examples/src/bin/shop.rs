//! A shop that other programs reach over HTTP routes: webhooks of payment providers, and receipts.
//!
//! Its secrets must be set before it starts, such as `CONVOKE_SECRET_PAYMENTS_SECRET=whsec_…`. `e2e/clients/webhooks.sh`
//! sends it events with the libraries of the senders.

use std::process::ExitCode;

mod payments {
    use convoke::prelude::*;

    /// A payment of an order.
    #[table(name = "payments", prefix = "payment")]
    #[index(by_order(order))]
    pub(crate) struct Payment {
        pub order: String,
        pub cents: i64,
    }

    /// An event of the payment provider.
    #[args]
    pub(crate) struct PaymentEvent {
        /// Number of the order.
        pub order: String,
        /// Amount.
        pub cents: i64,
    }

    /// Records a payment, once per event.
    #[route(POST, "/hooks/payments", verify = standard_webhooks("PAYMENTS_SECRET"), once = header("webhook-id"))]
    pub(crate) fn paid(ctx: &mut MutationCtx, event: Json<PaymentEvent>) -> Result<Response> {
        let Json(PaymentEvent { order, cents }) = event;
        if cents <= 0 {
            return Err(Error::failed_precondition("A payment has a positive amount").with_status(422));
        }
        ctx.db_mut().insert(Payment { order, cents })?;
        Ok(Response::empty())
    }

    /// Shows the receipt of an order.
    #[route(GET, "/receipts/{order}.txt")]
    pub(crate) fn receipt(ctx: &QueryCtx, order: Path<String>) -> Result<Response> {
        let payments = ctx.db().query(Payment::by_order).eq(&*order).take(100)?;
        if payments.is_empty() {
            return Err(Error::not_found("No payment for this order").with_status(404));
        }
        let cents: i64 = payments.iter().map(|payment| payment.cents).sum();
        Response::text(format!("Paid: {cents} cents\n")).header("cache-control", "private, max-age=60")
    }

    /// Arguments of [`export`].
    #[args]
    pub(crate) struct Export {
        /// Order.
        pub order: String,
        /// Number of lines.
        #[default(10)]
        pub lines: u32,
    }

    /// Sends many lines, which are made while they are sent.
    #[route(GET, "/export", timeout = "5m")]
    pub(crate) async fn export(_ctx: &ActionCtx, export: Query<Export>) -> Result<Response> {
        let Query(Export { order, lines }) = export;
        let lines = (0..lines).map(move |line| Ok(Bytes::from(format!("{order},{line}\n"))));
        Response::stream(futures_util::stream::iter(lines)).header("content-type", "text/csv")
    }

    /// Returns the number of payments of an order.
    #[query]
    pub(crate) fn count(ctx: &QueryCtx, args: Count) -> Result<usize> {
        Ok(ctx.db().query(Payment::by_order).eq(&args.order).take(10_000)?.len())
    }

    /// Arguments of [`count`].
    #[args]
    pub(crate) struct Count {
        pub order: String,
    }
}

mod senders {
    use convoke::prelude::*;
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::payments::Payment;

    /// The members that the shop needs of an event. Senders add others, so this type ignores unknown ones.
    #[derive(Clone, Deserialize, JsonSchema)]
    pub(crate) struct SentEvent {
        pub order: String,
    }

    fn record(ctx: &mut MutationCtx, sent: Json<SentEvent>) -> Result<Response> {
        ctx.db_mut().insert(Payment { order: sent.0.order, cents: 1 })?;
        Ok(Response::empty())
    }

    /// Records an event of Stripe.
    #[route(POST, "/hooks/stripe", verify = stripe("STRIPE_SECRET"), once = json("/id"))]
    pub(crate) fn stripe(ctx: &mut MutationCtx, event: Json<SentEvent>) -> Result<Response> {
        record(ctx, event)
    }

    /// Records an event of GitHub.
    #[route(POST, "/hooks/github", verify = github("GITHUB_SECRET"), once = header("x-github-delivery"))]
    pub(crate) fn github(ctx: &mut MutationCtx, event: Json<SentEvent>) -> Result<Response> {
        record(ctx, event)
    }

    /// Records an event of a partner.
    #[route(POST, "/hooks/partner", verify = hmac_sha256("x-signature", "PARTNER_SECRET"), once = json("/id"))]
    pub(crate) fn partner(ctx: &mut MutationCtx, event: Json<SentEvent>) -> Result<Response> {
        record(ctx, event)
    }
}

fn main() -> ExitCode {
    convoke::embed::main()
}
