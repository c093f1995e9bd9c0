//! `deploy-key`: the keys of automation and remote operators.

use std::io::{self, BufRead, IsTerminal as _, Write};
use std::time::Duration;

use clap::Subcommand;
use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect::ConnectArgs;
use super::durations::duration;
use super::failure::Failure;
use super::table;
use convoke_server::auth::Environment;
use convoke_server::auth::deploy_key::Scope;
use convoke_store::Engines;

/// Create, list, rotate and revoke deploy keys
///
/// With a deploy key, automation can call functions, including admin functions, and use the operator's routes that its
/// scopes allow. Its text is shown once, when it is created or rotated; the server stores a hash. A change takes effect
/// immediately, in a running server too.
///
///   convoke deploy-key create ci --scope functions --expires 90d > ci.key
///   convoke run system/audit/listAuditEntries --url https://api.example.com --deploy-key-file ci.key
///   convoke deploy-key rotate ci --overlap 1h > ci.key
///   convoke deploy-key revoke ci
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct DeployKey {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Create(Create),
    List(List),
    Rotate(Rotate),
    Revoke(Revoke),
    Audit(Audit),
}

/// Create a key; its text is printed to standard output, once
///
/// The key may do what its scopes allow and nothing else. On a terminal, the command asks for them if --scope is
/// missing.
#[derive(clap::Args)]
struct Create {
    /// Its name: letters, digits, `.`, `_` and `-`; the record of uses has this name
    name: String,
    /// Its scopes, separated by commas
    #[arg(long, value_name = "SCOPE", value_delimiter = ',')]
    scope: Vec<Scope>,
    /// Time until it expires, e.g. 90d [default: never]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    expires: Option<Duration>,
    /// Print the whole response as JSON, with the key's text as `key`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// List the keys: state, scopes, expiry, last use
#[derive(clap::Args)]
struct List {
    /// Print a JSON array
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Give a key a new secret; its text is printed to standard output, once
///
/// The former secret is rejected immediately, or after --overlap, so that its users have time to switch.
#[derive(clap::Args)]
struct Rotate {
    /// The key's name
    name: String,
    /// Time for which the former secret is still accepted, e.g. 1h
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration)]
    overlap: Duration,
    /// Print the whole response as JSON, with the key's text as `key`
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Revoke a key: it is rejected from now on
#[derive(clap::Args)]
struct Revoke {
    /// The key's name
    name: String,
    /// Print the response as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

/// Show the uses of keys, newest first: every call and every request, and its outcome
#[derive(clap::Args)]
struct Audit {
    /// Only the uses of this key; `operator` for uses through the data folder
    name: Option<String>,
    /// Maximum number of uses
    #[arg(long, value_name = "N", default_value_t = 100)]
    limit: usize,
    /// Print JSON, with the cursor of the next page
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

impl DeployKey {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        match self.what {
            What::Create(create) => create.run(engines),
            What::List(list) => list.run(engines),
            What::Rotate(rotate) => rotate.run(engines),
            What::Revoke(revoke) => revoke.run(engines),
            What::Audit(audit) => audit.run(engines),
        }
    }
}

/// A key in the server's response.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    name: String,
    environment: Environment,
    scopes: Vec<String>,
    state: String,
    expires_at: Option<i64>,
    last_used_at: Option<i64>,
    former_secret_until: Option<i64>,
    key: Option<String>,
}

impl Create {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let scopes = if self.scope.is_empty() { chosen()? } else { self.scope };
        let connection = self.connect.open(engines)?;
        let body = json!({
            "name": self.name, "scopes": scopes, "environment": self.connect.env,
            "expiresIn": self.expires.map(millis),
        });
        let made: Value = connection.ask(Method::POST, "keys", Some(&body))?;
        show_once(made, self.json, "made")
    }
}

/// Returns the scopes that a person at a terminal chooses.
fn chosen() -> Result<Vec<Scope>, Failure> {
    let (input, said) = (io::stdin(), io::stderr());
    if input.is_terminal() && said.is_terminal() {
        return ask(&mut input.lock(), &mut said.lock());
    }
    let text = "--scope is missing: name the scopes of the key, separated by commas, e.g. `--scope functions`";
    Err(Failure(format!("{text}\n{}", Scope::choice())))
}

/// Asks until at least one scope is named and all are known.
fn ask(input: &mut impl BufRead, said: &mut impl Write) -> Result<Vec<Scope>, Failure> {
    let failed =
        |error: io::Error| Failure(format!("the scopes cannot be read from the terminal: {error}; use --scope"));
    writeln!(said, "Scopes of the key:\n{}", Scope::choice()).map_err(failed)?;
    loop {
        write!(said, "Scopes, separated by commas: ").and_then(|()| said.flush()).map_err(failed)?;
        let mut line = String::new();
        if input.read_line(&mut line).map_err(failed)? == 0 {
            return Err(Failure("no scope was chosen, so no key was created".to_owned()));
        }
        let names = line.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty());
        match names.map(str::parse).collect::<Result<Vec<Scope>, _>>() {
            Ok(scopes) if !scopes.is_empty() => return Ok(scopes),
            Ok(_) => {}
            Err(unknown) => writeln!(said, "{unknown}").map_err(failed)?,
        }
    }
}

impl Rotate {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let body = json!({ "overlap": millis(self.overlap) });
        let rotated: Value = connection.ask(Method::POST, &of(&self.name, "rotate"), Some(&body))?;
        show_once(rotated, self.json, "rotated")
    }
}

impl Revoke {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let revoked: Value = connection.ask(Method::POST, &of(&self.name, "revoke"), None)?;
        if self.json {
            return table::print_json(&revoked);
        }
        note!("the deploy key {} is rejected from now on", self.name);
        Ok(())
    }
}

impl List {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let keys: Value = connection.ask(Method::GET, "keys", None)?;
        if self.json {
            return table::print_json(&keys);
        }
        let keys: Vec<Shown> = serde_json::from_value(keys)?;
        if keys.is_empty() {
            note!("there is no deploy key; create one with `convoke deploy-key create NAME --scope SCOPE`");
            return Ok(());
        }
        let head = ["NAME", "STATE", "ENVIRONMENT", "SCOPES", "EXPIRES", "LAST USED"];
        let rows = keys.into_iter().map(|key| {
            let state = match key.former_secret_until {
                Some(until) => format!("{}, former secret until {}", key.state, table::time(until)),
                None => key.state,
            };
            let used = key.last_used_at.map_or_else(|| "never".to_owned(), table::time);
            let expires = key.expires_at.map_or_else(|| "never".to_owned(), table::time);
            [key.name, state, key.environment.to_string(), key.scopes.join(","), expires, used]
        });
        table::print_rows(head, rows)
    }
}

impl Audit {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Entry {
            at: i64,
            key: String,
            what: String,
            outcome: String,
            request_id: String,
            acting_as: Option<String>,
            peer: Option<String>,
        }
        #[derive(Deserialize)]
        struct Entries {
            items: Vec<Entry>,
            unwritten: u64,
        }
        let connection = self.connect.open(engines)?;
        let key = self.name.map(|name| format!("&key={}", table::encoded(&name))).unwrap_or_default();
        let value: Value = connection.ask(Method::GET, &format!("audit?limit={}{key}", self.limit), None)?;
        if self.json {
            return table::print_json(&value);
        }
        let Entries { items, unwritten } = serde_json::from_value(value)?;
        let head = ["WHEN", "KEY", "WHAT", "OUTCOME", "REQUEST", "AS", "FROM"];
        let rows = items.into_iter().map(|entry| {
            let (acting_as, peer) = (table::or_dash(entry.acting_as), table::or_dash(entry.peer));
            [table::time(entry.at), entry.key, entry.what, entry.outcome, entry.request_id, acting_as, peer]
        });
        table::print_rows(head, rows)?;
        if unwritten > 0 {
            note!("{unwritten} uses since the server's start are in its log only: there were too many to record");
        }
        Ok(())
    }
}

/// Prints the key's text to standard output, and everything else to standard error: `> file` stores only the key.
fn show_once(answer: Value, as_json: bool, done: &str) -> Result<(), Failure> {
    if as_json {
        return table::print_json(&answer);
    }
    let shown: Shown = serde_json::from_value(answer)?;
    let key = shown.key.ok_or_else(|| Failure("the server's response has no key".to_owned()))?;
    if let Err(error) = writeln!(io::stdout().lock(), "{key}") {
        let name = shown.name;
        return Err(Failure(format!("the key {name} was {done} and could not be shown ({error}); rotate it")));
    }
    note!("{done}: {}, for {}, with the scopes {}", shown.name, shown.environment, shown.scopes.join(", "));
    if let Some(expires) = shown.expires_at {
        note!("it expires at {}", table::time(expires));
    }
    if let Some(until) = shown.former_secret_until {
        note!("the former secret is accepted until {}", table::time(until));
    }
    note!("Store it now: it is shown only once. To use it: `Authorization: Convoke KEY`, or CONVOKE_DEPLOY_KEY");
    Ok(())
}

fn of(name: &str, what: &str) -> String {
    format!("keys/{}/{what}", table::encoded(name))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(input: &str) -> (Result<Vec<Scope>, Failure>, String) {
        let mut said = Vec::new();
        let chosen = ask(&mut input.as_bytes(), &mut said);
        (chosen, String::from_utf8(said).unwrap())
    }

    #[test]
    fn prompt_repeats_until_the_scopes_are_known() {
        let (chosen, said) = asked("\neverything\nfunctions, act-as\n");
        assert_eq!(chosen.ok().unwrap(), [Scope::Functions, Scope::ActAs]);
        assert!(said.contains(&Scope::choice()) && said.contains("a scope is functions, internal, act-as,"), "{said}");
        assert_eq!(said.matches("Scopes, separated by commas: ").count(), 3);
    }

    #[test]
    fn no_key_is_created_without_a_scope() {
        assert!(asked("\n").0.is_err());
    }
}
