//! The functions that send events and manage endpoints. Their path is `webhooks/functions/<name>`.

use std::time::Duration;

use convoke::prelude::*;
use convoke::webhooks::{Endpoint, EndpointChange, NewEndpoint};

#[args]
pub(super) struct Sent {
    pub event: String,
    pub owner: Option<String>,
    pub n: i64,
    pub fail: Option<bool>,
}

#[value]
#[derive(Clone)]
pub(super) struct Order {
    pub n: i64,
}

/// Sends an event.
#[mutation]
pub(super) fn send(ctx: &mut MutationCtx, args: Sent) -> Result<()> {
    let order = Order { n: args.n };
    match &args.owner {
        None => ctx.deliver(&args.event, &order)?,
        Some(owner) => ctx.deliver_to(owner, &args.event, &order)?,
    }
    match args.fail {
        Some(true) => Err(Error::conflict("The order is undone")),
        Some(false) | None => Ok(()),
    }
}

#[args]
pub(super) struct Added {
    pub url: String,
    pub events: Vec<String>,
    pub owner: Option<String>,
}

#[value]
pub(super) struct Made {
    pub id: Id<Endpoint>,
    pub secret: String,
}

/// Adds an endpoint.
#[mutation]
pub(super) fn add(ctx: &mut MutationCtx, args: Added) -> Result<Made> {
    let new = NewEndpoint { url: args.url, events: args.events, ..NewEndpoint::default() };
    let (endpoint, secret) = ctx.webhooks_mut(args.owner.as_deref()).create(new)?;
    Ok(Made { id: endpoint.id(), secret: secret.expose().to_owned() })
}

#[args]
pub(super) struct Changed {
    pub id: Id<Endpoint>,
    pub owner: Option<String>,
    pub enabled: Option<bool>,
}

/// Enables or disables an endpoint of an owner.
#[mutation]
pub(super) fn switch(ctx: &mut MutationCtx, args: Changed) -> Result<()> {
    let change = EndpointChange { enabled: args.enabled, ..EndpointChange::default() };
    ctx.webhooks_mut(args.owner.as_deref()).change(args.id, change)?;
    Ok(())
}

/// Makes a new secret; the former one signs for an hour more.
#[mutation]
pub(super) fn rotate(ctx: &mut MutationCtx, args: Changed) -> Result<Made> {
    let (endpoint, secret) = ctx.webhooks_mut(args.owner.as_deref()).rotate(args.id, Duration::from_secs(3_600))?;
    Ok(Made { id: endpoint.id(), secret: secret.expose().to_owned() })
}
