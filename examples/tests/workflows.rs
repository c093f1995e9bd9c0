//! The code of the how-to pages on jobs and workflows, compiled and run.

use convoke::prelude::*;
use convoke::testing::TestApp;
use convoke::workflows::RunState;
use serde_json::json;

#[allow(unreachable_pub, reason = "the code matches the documentation")]
mod mail {
    use convoke::prelude::*;

    convoke::queue!("mail", parallel = 4, per_key = 1, rate = "10/s");

    /// A sent or refused mail.
    #[table(name = "mails", prefix = "mail")]
    pub struct Mail {
        pub to: String,
        pub outcome: String,
    }

    #[args]
    pub struct Digest {
        pub to: String,
    }

    /// Sends a digest. The service ignores a second request with the same key.
    #[action(internal)]
    pub async fn send_digest(ctx: &ActionCtx, digest: Digest) -> Result<String> {
        if digest.to.is_empty() {
            return Err(Error::invalid_argument("to", "to must not be empty"));
        }
        Ok(format!("{} by {}", digest.to, ctx.attempt()))
    }

    /// Stores the outcome of a digest.
    #[mutation(internal)]
    pub fn digest_sent(ctx: &mut MutationCtx, finished: Finished<send_digest>) -> Result<()> {
        let outcome = match finished.outcome {
            Ended::Value(_) => "sent".to_owned(),
            Ended::Error(error) => error.message,
            Ended::Cancelled => "cancelled".to_owned(),
        };
        ctx.db_mut().insert(Mail { to: finished.args.to, outcome })?;
        Ok(())
    }

    /// Schedules a digest.
    #[mutation]
    pub fn order_digest(ctx: &mut MutationCtx, digest: Digest) -> Result<()> {
        let to = digest.to.clone();
        ctx.schedule::<send_digest>(When::now(), digest)?
            .queue("mail")
            .key(to)
            .retry(Retry::exponential(5).from(secs(1)).up_to(mins(5)))
            .then::<digest_sent>();
        Ok(())
    }
}

#[allow(unreachable_pub, reason = "the code matches the documentation")]
mod orders {
    use convoke::prelude::*;

    /// An order, and how far it is.
    #[table(name = "orders", prefix = "order")]
    pub struct Order {
        pub state: String,
    }

    #[args]
    pub struct OfOrder {
        pub order: Id<Order>,
    }

    #[args]
    pub struct Payment {
        pub order: Id<Order>,
        pub run: Id<Run>,
        pub cents: i64,
    }

    fn set(ctx: &mut MutationCtx, order: Id<Order>, state: &str) -> Result<()> {
        ctx.db_mut().patch(order, |order| order.state = state.to_owned())?;
        Ok(())
    }

    /// Reserves the goods of an order.
    #[mutation(internal)]
    pub fn reserve(ctx: &mut MutationCtx, args: OfOrder) -> Result<()> {
        set(ctx, args.order, "reserved")
    }

    /// Releases the goods of an order.
    #[mutation(internal)]
    pub fn release(ctx: &mut MutationCtx, args: OfOrder) -> Result<()> {
        set(ctx, args.order, "released")
    }

    /// Asks the carrier to fetch an order.
    #[action(internal)]
    pub async fn ship(ctx: &ActionCtx, _args: OfOrder) -> Result<String> {
        Ok(ctx.attempt().to_owned())
    }

    /// Takes an order from its reservation to its delivery.
    #[workflow]
    pub async fn fulfil(ctx: &WorkflowCtx, args: OfOrder) -> Result<String> {
        ctx.run::<reserve>(args.clone()).undo::<release>(args.clone()).await?;
        let Some(_cents) = ctx.wait::<i64>("paid").at_most(days(3)).await? else {
            return Err(Error::failed_precondition("The order was not paid"));
        };
        ctx.sleep(hours(1)).await?;
        ctx.run::<ship>(args).retry(5).await
    }

    /// Places an order.
    #[mutation]
    pub fn place(ctx: &mut MutationCtx) -> Result<Id<Run>> {
        let order = ctx.db_mut().insert(Order { state: "new".to_owned() })?;
        Ok(ctx.start::<fulfil>(OfOrder { order })?.key(order).id())
    }

    /// Records a payment.
    #[mutation]
    pub fn pay(ctx: &mut MutationCtx, args: Payment) -> Result<()> {
        set(ctx, args.order, "paid")?;
        ctx.signal(args.run, "paid", args.cents)
    }
}

fn mails(app: &TestApp) -> Vec<(String, String)> {
    app.read(|db| {
        Ok(db.scan::<mail::Mail>().take(10)?.iter().map(|mail| (mail.to.clone(), mail.outcome.clone())).collect())
    })
}

#[test]
fn digests_are_sent_and_their_outcomes_stored() {
    let app = TestApp::new();
    app.nobody().call("mail/orderDigest", json!({ "to": "ada" })).value();
    app.nobody().call("mail/orderDigest", json!({ "to": "" })).value();
    app.advance(mins(1));
    let sent = |to: &str, outcome: &str| (to.to_owned(), outcome.to_owned());
    assert_eq!(mails(&app), [sent("", "to must not be empty"), sent("ada", "sent")]);
    assert_eq!(app.failed_jobs().len(), 1);
}

#[test]
fn unpaid_order_is_released() {
    let app = TestApp::new();
    let run: Id<Run> = app.nobody().call("orders/place", json!({})).into_value();
    app.advance(days(45));
    assert_eq!(app.workflow(run).state, RunState::Failed);
    let order = app.read(|db| Ok(db.scan::<orders::Order>().first()?.map(|order| order.state.clone())));
    assert_eq!(order.as_deref(), Some("released"));
}

#[test]
fn paid_order_is_shipped() {
    let app = TestApp::new();
    let run: Id<Run> = app.nobody().call("orders/place", json!({})).into_value();
    app.run_due();
    let order = app.read(|db| Ok(db.scan::<orders::Order>().first()?.map(|order| order.id())));
    app.nobody().call("orders/pay", json!({ "order": order, "run": run, "cents": 990 })).value();
    app.advance(hours(2));
    let ended = app.workflow(run);
    assert_eq!(ended.state, RunState::Completed);
    assert_eq!(ended.steps().len(), 4);
}
