//! `webhooks`: the endpoints that receive events, and their deliveries.

use std::io::Write as _;
use std::time::{Duration, UNIX_EPOCH};

use clap::Subcommand;
use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect::ConnectArgs;
use super::durations::duration;
use super::failure::Failure;
use super::table::{self, or_dash};
use convoke_calls::webhooks::DeliveryState;
use convoke_core::clock::{Clock as _, SystemClock};
use convoke_store::Engines;

/// Manage the endpoints that receive events, and send deliveries again
///
/// A function calls `ctx.deliver("order.paid", &event)`, and the server sends the event to each enabled endpoint that
/// receives it, signed by Standard Webhooks. A failed delivery is tried ten times within about three days.
///
///   convoke webhooks add https://example.com/hooks --event order.paid > endpoint.secret
///   convoke webhooks deliveries webhookendpoint_01h455vb4pex5vsknk084sn02q --state failed
///   convoke webhooks redeliver webhookendpoint_01h455vb4pex5vsknk084sn02q --since 2026-03-01T12:00:00Z
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Webhooks {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the endpoints and their states
    List(List),
    /// Add an endpoint; its secret is printed to standard output, once
    Add(Add),
    /// Show one endpoint
    Show(One),
    /// Disable an endpoint: new events are not delivered, pending deliveries wait
    Disable(One),
    /// Enable an endpoint; its pending deliveries continue
    Enable(One),
    /// Give an endpoint a new secret; it is printed to standard output, once
    Rotate(Rotate),
    /// Remove an endpoint; its pending deliveries are not sent
    Remove(One),
    /// List the deliveries of an endpoint, newest event first; or show one delivery with its body
    Deliveries(Deliveries),
    /// Send one delivery again, or the failed deliveries of an endpoint in a range of time
    Redeliver(Redeliver),
}

#[derive(clap::Args)]
struct List {
    /// Only the endpoints of this owner
    #[arg(long, value_name = "OWNER")]
    owner: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct Add {
    /// The URL: https://…; with `convoke dev` also http://…
    #[arg(value_name = "URL")]
    target: String,
    /// Name of an event that it receives; may be repeated [default: all events]
    #[arg(long, visible_alias = "events", value_name = "EVENT", value_delimiter = ',')]
    event: Vec<String>,
    /// A text for people
    #[arg(long, value_name = "TEXT", default_value = "")]
    description: String,
    /// The owner, by the names of the application [default: the operator, whose endpoints receive the events of all
    /// owners]
    #[arg(long, value_name = "OWNER")]
    owner: Option<String>,
    /// Print the whole response as JSON, with the secret as `secret`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct One {
    /// The endpoint's id, as `convoke webhooks list` shows it
    id: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct Rotate {
    /// The endpoint's id
    id: String,
    /// Time for which the former secret signs too, so that the receiver has time to switch
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = duration)]
    overlap: Duration,
    /// Print the whole response as JSON, with the secret as `secret`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct Deliveries {
    /// The endpoint's id, or the id of one delivery
    id: String,
    /// pending, delivered or failed [default: all]
    #[arg(long, value_name = "STATE")]
    state: Option<DeliveryState>,
    /// Maximum number of deliveries
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Print JSON, with the cursor of the next page
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct Redeliver {
    /// The id of a delivery, or the endpoint's id with --since
    id: String,
    /// The first time of the events, such as 2026-03-01T12:00:00Z, or a duration before now, such as 2h
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<u64>,
    /// The end of the range, exclusive [default: now]
    #[arg(long, value_name = "TIME", value_parser = time, requires = "since")]
    until: Option<u64>,
    /// Send the delivered ones again instead of the failed ones
    #[arg(long, requires = "since")]
    delivered: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// The prefix of the ids of deliveries.
const DELIVERY: &str = "webhookdelivery_";

/// Parses a time of day or a duration before now. Returns milliseconds since the epoch.
fn time(text: &str) -> Result<u64, String> {
    let millis = match (duration(text), humantime::parse_rfc3339_weak(text)) {
        (Ok(before), _) => (SystemClock::new().now() - before).0,
        (_, Ok(time)) => i64::try_from(time.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis()).unwrap_or(0),
        _ => return Err("write a time such as 2026-03-01T12:00:00Z, or a duration such as 2h".to_owned()),
    };
    Ok(u64::try_from(millis).unwrap_or(0))
}

impl Webhooks {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        match self.what {
            What::List(list) => list.run(engines),
            What::Add(add) => add.run(engines),
            What::Show(one) => {
                let connection = one.connect.open(engines)?;
                let shown: Value = connection.ask(Method::GET, &endpoint(&one.id, ""), None)?;
                table::print_json(&shown)
            }
            What::Disable(one) => one.switch(engines, false),
            What::Enable(one) => one.switch(engines, true),
            What::Rotate(rotate) => rotate.run(engines),
            What::Remove(one) => {
                let connection = one.connect.open(engines)?;
                let path = endpoint(&one.id, "");
                connection.ask::<Value>(Method::DELETE, &path, None)?;
                note!("the endpoint {} was removed", one.id);
                Ok(())
            }
            What::Deliveries(deliveries) => deliveries.run(engines),
            What::Redeliver(redeliver) => redeliver.run(engines),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Endpoint {
    id: String,
    url: String,
    events: Vec<String>,
    owner: Option<String>,
    state: String,
    disabled_reason: Option<String>,
    failing_since: Option<i64>,
}

impl List {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let owner = self.owner.map(|owner| format!("?owner={}", table::encoded(&owner))).unwrap_or_default();
        let listed: Value = connection.ask(Method::GET, &format!("webhooks{owner}"), None)?;
        if self.json {
            return table::print_json(&listed);
        }
        let endpoints: Vec<Endpoint> = serde_json::from_value(listed)?;
        if endpoints.is_empty() {
            note!("there is no webhook endpoint; add one with `convoke webhooks add URL`");
            return Ok(());
        }
        let head = ["ID", "STATE", "EVENTS", "OWNER", "URL"];
        let rows = endpoints.into_iter().map(|endpoint| {
            let state = match (endpoint.disabled_reason, endpoint.failing_since) {
                (Some(reason), _) => format!("{}: {reason}", endpoint.state),
                (None, Some(since)) => format!("{}, failing since {}", endpoint.state, table::time(since)),
                (None, None) => endpoint.state,
            };
            let events = if endpoint.events.is_empty() { "all".to_owned() } else { endpoint.events.join(",") };
            [endpoint.id, state, events, or_dash(endpoint.owner), endpoint.url]
        });
        table::print_rows(head, rows)
    }
}

impl Add {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let body = json!({
            "url": self.target, "events": self.event, "description": self.description, "owner": self.owner,
        });
        let made: Value = connection.ask(Method::POST, "webhooks", Some(&body))?;
        show_once(&made, self.json, "added")
    }
}

impl One {
    fn switch(self, engines: &Engines, enabled: bool) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let (path, body) = (endpoint(&self.id, ""), json!({ "enabled": enabled }));
        connection.ask::<Value>(Method::PATCH, &path, Some(&body))?;
        note!("the endpoint {} is {}", self.id, if enabled { "enabled" } else { "disabled" });
        Ok(())
    }
}

impl Rotate {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let overlap = u64::try_from(self.overlap.as_millis()).unwrap_or(u64::MAX);
        let (path, body) = (endpoint(&self.id, "/rotate"), json!({ "overlap": overlap }));
        let rotated: Value = connection.ask(Method::POST, &path, Some(&body))?;
        show_once(&rotated, self.json, "rotated")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Delivery {
    id: String,
    event: String,
    event_at: i64,
    state: String,
    due_at: Option<i64>,
    attempts: u32,
    status: Option<u16>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Listed {
    items: Vec<Delivery>,
    cursor: Option<String>,
}

impl Deliveries {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        if self.id.starts_with(DELIVERY) {
            let path = format!("webhook-deliveries/{}", table::encoded(&self.id));
            let shown: Value = connection.ask(Method::GET, &path, None)?;
            return table::print_json(&shown);
        }
        let state = self.state.map(|state| format!("&state={}", state.as_str())).unwrap_or_default();
        let path = endpoint(&self.id, &format!("/deliveries?limit={}{state}", self.limit));
        let listed: Value = connection.ask(Method::GET, &path, None)?;
        if self.json {
            return table::print_json(&listed);
        }
        let Listed { items, cursor } = serde_json::from_value(listed)?;
        let head = ["ID", "EVENT", "AT", "STATE", "TRIES", "STATUS", "NEXT", "ERROR"];
        let rows = items.into_iter().map(|one| {
            let status = or_dash(one.status.map(|status| status.to_string()));
            let next = or_dash(one.due_at.map(table::time));
            let tries = one.attempts.to_string();
            [one.id, one.event, table::time(one.event_at), one.state, tries, status, next, or_dash(one.error)]
        });
        table::print_rows(head, rows)?;
        if cursor.is_some() {
            note!("more with --limit");
        }
        Ok(())
    }
}

impl Redeliver {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let (path, body) = match (self.id.starts_with(DELIVERY), self.since) {
            (true, None) => (format!("webhook-deliveries/{}/redeliver", table::encoded(&self.id)), None),
            (false, Some(since)) => {
                let body = json!({ "since": since, "until": self.until, "delivered": self.delivered });
                (endpoint(&self.id, "/redeliver"), Some(body))
            }
            (true, Some(_)) => {
                return Err(Failure("--since needs the id of an endpoint, not of a delivery".to_owned()));
            }
            (false, None) => {
                let text = "name a delivery, or an endpoint with --since, e.g. `--since 24h`";
                return Err(Failure(text.to_owned()));
            }
        };
        let done: Value = connection.ask(Method::POST, &path, body.as_ref())?;
        let count = done["redelivered"].as_u64().unwrap_or_default();
        match count {
            1 => note!("1 delivery is sent again"),
            count => note!("{count} deliveries are sent again"),
        }
        if connection.in_process().is_some() {
            note!("no server runs on this data folder; they are sent when a server starts");
        }
        Ok(())
    }
}

/// Prints the secret to standard output, and everything else to standard error: `> file` stores only the secret.
fn show_once(answer: &Value, as_json: bool, done: &str) -> Result<(), Failure> {
    if as_json {
        return table::print_json(answer);
    }
    let (id, secret) = (answer["id"].as_str(), answer["secret"].as_str());
    let (Some(id), Some(secret)) = (id, secret) else {
        return Err(Failure("the server's response has no secret".to_owned()));
    };
    if let Err(error) = writeln!(std::io::stdout().lock(), "{secret}") {
        let text = format!("the endpoint {id} was {done}, and its secret could not be shown ({error}); rotate it");
        return Err(Failure(text));
    }
    note!("{done}: the endpoint {id}");
    note!("Store the secret now: it is shown only once. The receiver verifies the header webhook-signature with it");
    Ok(())
}

fn endpoint(id: &str, what: &str) -> String {
    format!("webhooks/{}{what}", table::encoded(id))
}
