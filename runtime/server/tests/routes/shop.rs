//! The routes of the tests.

use std::time::Duration;

use convoke::prelude::*;
use convoke::testing::TestApp;

/// The secret of Standard Webhooks, old and new.
pub(crate) const WEBHOOKS: [&str; 2] =
    ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"];
pub(crate) const PLAIN: &str = "It's a Secret to Everybody";

/// Returns an app with the secrets of its routes.
pub(crate) fn app() -> TestApp {
    TestApp::with_secrets(&[("SHOP_WEBHOOKS", &WEBHOOKS.join("\n")), ("SHOP_PLAIN", PLAIN)])
}

/// A payment.
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

fn pay(ctx: &mut MutationCtx, event: PaymentEvent) -> Result<Response> {
    let PaymentEvent { order, cents } = event;
    info!("paid {order}");
    let row = ctx.db_mut().insert(Payment { order, cents })?;
    if cents < 0 {
        return Err(Error::failed_precondition("A payment has a positive amount").with_status(500));
    }
    Response::text(row.to_string()).status(201).header("x-order", "kept")
}

/// Receives payments, once each.
#[route(POST, "/hooks/payments", verify = standard_webhooks("SHOP_WEBHOOKS"), once = header("webhook-id"))]
pub(crate) fn payments(ctx: &mut MutationCtx, event: Json<PaymentEvent>) -> Result<Response> {
    pay(ctx, event.0)
}

/// Receives payments by Stripe's signature.
#[route(POST, "/hooks/stripe", verify = stripe("SHOP_PLAIN"), once = json("/order"))]
pub(crate) fn stripe(ctx: &mut MutationCtx, event: Json<PaymentEvent>) -> Result<Response> {
    pay(ctx, event.0)
}

/// Receives bytes by GitHub's signature.
#[route(POST, "/hooks/github", verify = github("SHOP_PLAIN"))]
pub(crate) fn github(_ctx: &QueryCtx, body: Bytes) -> Result<usize> {
    Ok(body.len())
}

/// Receives bytes by a bare signature.
#[route(POST, "/hooks/bare", verify = hmac_sha256("x-signature", "SHOP_PLAIN"))]
pub(crate) fn bare(_ctx: &QueryCtx, body: Bytes) -> Result<usize> {
    Ok(body.len())
}

fn knocks(request: &Unverified<'_>) -> Result<()> {
    match request.header("authorization") {
        Some("knock knock") => Ok(()),
        _ => Err(Error::new(Code::InvalidSignature, "Knock first")),
    }
}

/// Receives requests by a check of its own.
#[route(POST, "/hooks/own", verify = knocks)]
pub(crate) fn own(ctx: &QueryCtx) -> Result<bool> {
    Ok(ctx.identity().is_none())
}

/// Adds a payment without a signature.
#[route(POST, "/payments")]
pub(crate) fn add(ctx: &mut MutationCtx, event: Json<PaymentEvent>) -> Result<Response> {
    pay(ctx, event.0)
}

/// A part of the payments.
#[args]
pub(crate) struct Part {
    /// First cents.
    #[default(0)]
    pub from: i64,
    /// Orders.
    pub order: Option<Vec<String>>,
    pub is_open: Option<bool>,
}

/// What the server read.
#[value(output)]
pub(crate) struct Read {
    pub from: i64,
    pub order: Vec<String>,
    pub is_open: Option<bool>,
    pub subject: Option<String>,
}

fn read_part(ctx: &QueryCtx, part: Part) -> Read {
    let subject = ctx.identity().map(|identity| identity.subject.clone());
    Read { from: part.from, order: part.order.unwrap_or_default(), is_open: part.is_open, subject }
}

/// Lists payments.
#[route(GET, "/payments", cors = true)]
pub(crate) fn list(ctx: &QueryCtx, part: Query<Part>) -> Result<Read> {
    Ok(read_part(ctx, part.0))
}

/// Lists payments by a form.
#[route(POST, "/search")]
pub(crate) fn search(ctx: &QueryCtx, part: Form<Part>) -> Result<Read> {
    Ok(read_part(ctx, part.0))
}

/// Shows a receipt.
#[route(GET, "/receipts/{order}.txt")]
pub(crate) fn receipt(ctx: &QueryCtx, order: Path<String>) -> Result<Response> {
    let payment = ctx.db().query(Payment::by_order).eq(&*order).first()?;
    let payment = payment.ok_or_else(|| Error::not_found("No such payment").with_status(404))?;
    Ok(Response::text(format!("{}: {} cents", payment.order, payment.cents)))
}

/// Shows a payment by its id.
#[route(GET, "/ids/{payment}/{place}")]
pub(crate) fn by_id(_ctx: &QueryCtx, payment: Path<Id<Payment>>, place: Path<i64>) -> Result<(String, i64)> {
    Ok((payment.to_string(), *place))
}

/// Repeats the request.
#[route(PUT, "/echo/{*rest}", body_max = "3MiB")]
pub(crate) fn echo(_ctx: &QueryCtx, request: Request, headers: Headers) -> Result<Response> {
    let rest = request.path_value("rest").unwrap_or_default().to_owned();
    Response::bytes(request.body().clone())
        .header("x-rest", rest)?
        .header("x-kind", headers.get("x-kind").unwrap_or("none"))?
        .header("set-cookie", "a=b")?
        .header("set-cookie", "c=d")?
        .header("cache-control", "max-age=60")
}

/// Counts slowly.
#[route(GET, "/count/{to}", timeout = "1s")]
pub(crate) async fn count(ctx: &ActionCtx, to: Path<u32>) -> Result<Response> {
    if *to == 0 {
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    let _ = ctx.now();
    let numbers = (0..*to).map(|number| match number {
        7 => Err(Error::unavailable("seven is missing")),
        number => Ok(Bytes::from(format!("{number}\n"))),
    });
    Response::stream(futures_util::stream::iter(numbers)).header("content-type", "text/plain")
}

/// Fails as a call fails.
#[route(GET, "/fails/{how}")]
pub(crate) fn fails(_ctx: &QueryCtx, how: Path<String>) -> Result<Response> {
    match how.as_str() {
        "forbidden" => Err(Error::forbidden("Not for you")),
        "stream" => Ok(Response::stream(futures_util::stream::empty())),
        "status" => Ok(Response::empty().status(42)),
        "injection" => Response::empty().header("x-a", "b\r\nx-c: d"),
        _ => panic!("as asked"),
    }
}

/// Does nothing.
#[route(GET, "/nothing")]
pub(crate) fn nothing(_ctx: &QueryCtx) -> Result<()> {
    Ok(())
}
