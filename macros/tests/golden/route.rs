/// Receives payment events.
#[route(POST, "/hooks/{shop}/payments", verify = standard_webhooks("PAYMENTS_SECRET"), once = header("webhook-id"))]
pub fn payments(ctx: &mut MutationCtx, shop: Path<String>, event: Json<PaymentEvent>) -> Result<Response> {
    unimplemented!()
}

#[route(PUT, "/import", verify = own::check, body_max = "64MiB", timeout = "5m", cors = true)]
pub async fn import(ctx: &ActionCtx, request: Request) -> Result<()> {
    unimplemented!()
}
