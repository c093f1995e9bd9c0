//! `live`: the clients with live queries.

use clap::Subcommand;
use hyper::Method;
use serde::Deserialize;
use serde_json::Value;

use super::asked_node::AskedNode;
use super::connect::ConnectArgs;
use super::failure::Failure;
use super::table;
use convoke_calls::live::ConnectionName;
use convoke_store::Engines;

/// Show the live connections of a running server; end one
///
/// If several nodes serve the database, the list covers one node. Each connection then has an id, by which any node can
/// end it.
///
///   convoke live
///   convoke live end 7
///   convoke live end 00c0ffee-7
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Live {
    #[command(subcommand)]
    what: Option<What>,
    /// Print JSON, with the queries and their arguments
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Subcommand)]
enum What {
    /// End a connection; its client receives an error and may reconnect
    End(End),
}

#[derive(clap::Args)]
struct End {
    /// The connection's number or id, as `convoke live` shows it
    number: ConnectionName,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Deserialize)]
struct Listed {
    connections: Vec<Client>,
    node: Option<AskedNode>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Client {
    number: u64,
    id: Option<String>,
    identity: Option<String>,
    deploy_key: Option<String>,
    age_ms: u64,
    queries: Vec<Query>,
    bytes: u64,
    lag_ms: u64,
}

#[derive(Deserialize)]
struct Query {
    path: String,
}

impl Live {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        match self.what {
            None => self.list(engines),
            Some(What::End(end)) => end.run(engines),
        }
    }

    fn list(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let listed: Value = connection.ask(Method::GET, "live", None)?;
        if self.json {
            return table::print_json(&listed);
        }
        let Listed { connections, node } = serde_json::from_value(listed)?;
        node.iter().for_each(|node| node.tell("connections"));
        if connections.is_empty() {
            note!("no client has live queries now");
            return Ok(());
        }
        let head = ["NUMBER", "WHO", "AGE", "QUERIES", "BYTES", "LAG"];
        let rows = connections.into_iter().map(|client| {
            let who = table::or_dash(client.identity.or(client.deploy_key));
            let mut paths: Vec<_> = client.queries.iter().map(|query| query.path.as_str()).collect();
            paths.dedup();
            let queries = format!("{} ({})", client.queries.len(), paths.join(", "));
            let bytes = convoke_server::archive::space::human(client.bytes);
            [
                client.id.unwrap_or_else(|| client.number.to_string()),
                who,
                seconds(client.age_ms),
                queries,
                bytes,
                seconds(client.lag_ms),
            ]
        });
        table::print_rows(head, rows)
    }
}

impl End {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let path = format!("live/{}", self.number);
        connection.ask::<Value>(Method::DELETE, &path, None)?;
        note!("the connection {} was ended", self.number);
        Ok(())
    }
}

fn seconds(millis: u64) -> String {
    format!("{}.{} s", millis / 1_000, millis % 1_000 / 100)
}
