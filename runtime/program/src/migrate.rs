//! `migrate`: changes the database to the form that the program expects.

use std::time::Duration;

use hyper::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::connect::{ConnectArgs, Connection};
use super::failure::Failure;
use super::progress::Progress;
use super::table;
use convoke_core::counted::counted;
use convoke_store::Engines;

/// Time for which it retries while the server is overloaded.
const OVERLOADED_MAX: Duration = Duration::from_secs(30);

/// Run migrations to their end, and then accept calls of users again
///
/// Prints how the database differs from the schema of the program, runs the named migrations, or all that are not
/// complete, and then applies the schema. A migration is an admin mutation in a module `migrations`. It works in small
/// batches and continues where it stopped, so this command can be stopped and run again at any time.
///
///   convoke migrate --dry-run
///   convoke migrate
///   convoke migrate migrations/fillShelves --url https://api.example.com --deploy-key-file ci.key
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Migrate {
    /// The migrations to run, by path [default: all that are not complete]
    name: Vec<String>,
    /// Only print what is to be done
    #[arg(long)]
    dry_run: bool,
    /// Rows per batch: more rows are faster, fewer rows delay other calls less
    #[arg(long, value_name = "ROWS", default_value_t = 500)]
    batch: i64,
    /// Run the named migrations from the beginning, even if they are complete
    #[arg(long, requires = "name")]
    again: bool,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connect: ConnectArgs,
}

#[derive(Deserialize)]
struct Schema {
    difference: Option<String>,
    migrations: Vec<Migration>,
}

#[derive(Clone, Deserialize)]
struct Migration {
    name: String,
    doc: String,
    state: String,
    done: i64,
    total: Option<i64>,
}

#[derive(Deserialize)]
struct Migrated {
    done: u64,
    total: u64,
    finished: bool,
}

impl Migrate {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        connection.block_on(self.migrate(&connection))
    }

    async fn migrate(&self, connection: &Connection) -> Result<(), Failure> {
        let before: Value = connection.admin(Method::GET, "schema", None).await?;
        let Schema { difference, migrations } = serde_json::from_value(before.clone())?;
        let say = |text: String| {
            if !self.json {
                note!("{text}");
            }
        };
        match &difference {
            Some(difference) => say(format!("the store is closed: {difference}")),
            None => say("the database fits the program".to_owned()),
        }
        let chosen = self.chosen(&migrations)?;
        for migration in &chosen {
            let Migration { name, doc, state, done, total } = migration;
            let so_far = total.map(|total| format!(", {done} of {total} rows")).unwrap_or_default();
            say(format!("{name}: {state}{so_far}. {doc}"));
        }
        if self.dry_run {
            return if self.json { table::print_json(&before) } else { Ok(()) };
        }
        for migration in &chosen {
            let migrated = self.to_its_end(connection, migration).await?;
            say(format!("{}: finished, {}", migration.name, counted(migrated.done, "row")));
        }
        let after: Value = connection.admin(Method::POST, "schema/apply", None).await?;
        if self.json {
            table::print_json(&after)?;
        }
        match serde_json::from_value::<Schema>(after)?.difference {
            None if difference.is_some() => say("the database fits now, and all calls are served".to_owned()),
            None if chosen.is_empty() => say("nothing was left to do".to_owned()),
            None => {}
            Some(difference) => return Err(Failure(format!("the store is still closed: {difference}"))),
        }
        Ok(())
    }

    fn chosen(&self, all: &[Migration]) -> Result<Vec<Migration>, Failure> {
        if self.name.is_empty() {
            return Ok(all.iter().filter(|one| one.state != "finished").cloned().collect());
        }
        let named = self.name.iter().map(|name| {
            let name = name.replace(':', "/");
            all.iter().find(|one| one.name == name).cloned().ok_or_else(|| {
                let known: Vec<_> = all.iter().map(|one| one.name.as_str()).collect();
                let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                Failure(format!(
                    "there is no migration {name:?}; known: {known}.\nA migration is an admin mutation in a module `migrations`"
                ))
            })
        });
        named.collect()
    }

    async fn to_its_end(&self, connection: &Connection, migration: &Migration) -> Result<Migrated, Failure> {
        let progress = (!self.json).then(|| Progress::counted(migration.name.clone(), "rows"));
        let mut again = self.again;
        loop {
            let part = self.part(connection, &migration.name, again).await?;
            again = false;
            if let Some(progress) = &progress {
                progress.of(part.done, part.total);
            }
            if part.finished {
                return Ok(part);
            }
        }
    }

    /// Runs one batch. Retries while the server is overloaded: then no row of the batch was changed.
    async fn part(&self, connection: &Connection, name: &str, again: bool) -> Result<Migrated, Failure> {
        let body = json!({ "args": { "limit": self.batch, "again": again } });
        let mut pause = Duration::from_millis(50);
        let mut waited = Duration::ZERO;
        loop {
            let mut response = connection.request(Method::POST, &format!("/api/run/{name}"), Some(&body)).await?;
            let is_full = response.status == 503;
            let envelope = response.envelope().await?;
            match envelope.into_value(&response.request_id) {
                Ok(value) => return Ok(serde_json::from_str(value.get())?),
                Err(_) if is_full && waited < OVERLOADED_MAX => {
                    tokio::time::sleep(pause).await;
                    waited += pause;
                    pause = (pause * 2).min(Duration::from_secs(2));
                }
                Err(failure) => return Err(failure),
            }
        }
    }
}
