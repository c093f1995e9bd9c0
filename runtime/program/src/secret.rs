//! `secret`: lists, sets and removes secrets of the installation.

use std::io::{IsTerminal as _, Read as _};

use clap::Subcommand;
use hyper::Method;
use serde::Deserialize;
use serde_json::json;
use zeroize::Zeroizing;

use super::asked_node::AskedNode;
use super::connect::ConnectArgs;
use super::failure::Failure;
use super::table;
use convoke_calls::outbound::secret;
use convoke_store::Engines;

/// List, set and remove the secrets that functions use
///
/// A secret is a file in the folder `secrets` of the data folder that only its owner may read. Functions read it at each
/// use, so that a change takes effect immediately. Values are never shown, and never taken from the command line, where other
/// users of the machine could read them. Of several nodes on one database, each has its own secrets: set them at each node.
///
///   convoke secret list
///   convoke secret set OPENAI_KEY                  asks for the value
///   convoke secret set OPENAI_KEY < key.txt
///   convoke secret remove OPENAI_KEY
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Secret {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the names of secrets, and the source of each
    List(List),
    /// Set a secret: its value comes from standard input
    Set(One),
    /// Remove a secret from the data folder
    Remove(One),
}

#[derive(clap::Args)]
struct List {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(clap::Args)]
struct One {
    /// The name: A-Z, 0-9 and _
    name: String,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Deserialize, serde::Serialize)]
struct Item {
    name: String,
    place: String,
    own: bool,
}

#[derive(Deserialize)]
struct Listed {
    items: Vec<Item>,
    node: Option<AskedNode>,
}

#[derive(Deserialize)]
struct Changed {
    restart: bool,
}

impl Secret {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        match self.what {
            What::List(list) => list.run(engines),
            What::Set(one) => {
                // Read first: the value may come from a pipe that ends soon.
                let value = value(&one.name)?;
                one.change(engines, Method::POST, Some(&value), "was set")
            }
            What::Remove(one) => one.change(engines, Method::DELETE, None, "was removed"),
        }
    }
}

impl List {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let Listed { items, node } = connection.ask(Method::GET, "secrets", None)?;
        node.iter().for_each(|node| node.tell("secrets"));
        if self.json {
            return table::print_json(&items);
        }
        if items.is_empty() {
            note!("no secret is set");
            return Ok(());
        }
        let head = ["SECRET", "SET BY"];
        let rows = items.into_iter().map(|item| [item.name, item.place]);
        table::print_rows(head, rows)
    }
}

impl One {
    fn change(
        self,
        engines: &Engines,
        method: Method,
        value: Option<&Zeroizing<String>>,
        done: &str,
    ) -> Result<(), Failure> {
        // A secret needs no database: it may be set before the first start.
        if let (Some(value), Some(config)) = (value, self.connect.without_database(engines)?) {
            secret::set(&config.data, &self.name, value)?;
            note!("the secret {} {done}", self.name);
            return Ok(());
        }
        let connection = self.connect.open(engines)?;
        let body = value.map(|value| json!({ "value": value.as_str() }));
        let Changed { restart } =
            connection.ask(method, &format!("secrets/{}", table::encoded(&self.name)), body.as_ref())?;
        let when = if restart { "; the server reads it at its next start" } else { "" };
        note!("the secret {} {done}{when}", self.name);
        Ok(())
    }
}

/// The value of a secret: typed without an echo, or all of standard input without the white space around it.
fn value(name: &str) -> Result<Zeroizing<String>, Failure> {
    let failed =
        |error: std::io::Error| Failure(format!("the value of {name} cannot be read from standard input: {error}"));
    if std::io::stdin().is_terminal() {
        let terminal = ::console::Term::stderr();
        terminal.write_str(&format!("Value of {name} (it is not shown): ")).map_err(failed)?;
        return Ok(Zeroizing::new(terminal.read_secure_line().map_err(failed)?));
    }
    let mut text = Zeroizing::new(String::new());
    std::io::stdin().read_to_string(&mut text).map_err(failed)?;
    Ok(Zeroizing::new(text.trim().to_owned()))
}
