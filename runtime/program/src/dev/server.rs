//! One server of `dev`.

use std::time::Duration;

use super::channel::{FromServer, Start, Watcher};
use crate::failure::Failure;
use crate::operator_log::OperatorLog;
use crate::serve::{Hangup, Serving, in_force, open_issuer, use_small_pages};
use crate::{codegen, program};
use convoke_calls::call::envelope::LogLinesOn;
use convoke_calls::registry::Registry;
use convoke_server::auth::Environment;
use convoke_server::auth::development::DevelopmentUser;
use convoke_server::config::{Config, Flags};
use convoke_store::Engines;

/// Lifetime of the token in the printed command.
const TOKEN_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Longest drain of a server that is replaced.
const REPLACED_DRAIN: Duration = Duration::from_secs(2);
/// Circumstances of a server without a process that watches.
const ALONE: Start = Start { is_first: true, may_be_closed: true };

/// Serves until a signal, or until the watcher ends it.
pub(super) fn run(
    mut flags: Flags,
    engines: &Engines,
    matches: Option<&clap::ArgMatches>,
    watcher: Option<&Watcher>,
) -> Result<(), Failure> {
    use_small_pages();
    flags.log_lines.get_or_insert(LogLinesOn::Always);
    let mut config = Config::resolve(&flags, Some(Environment::Development), Environment::Development)?;
    let log = OperatorLog::install(&config, "info")?;
    let issuer = open_issuer(&config)?;
    config.auth.providers.push(issuer.provider());
    let database = config.engine(engines)?.files(&config.data).database.into_iter().next();
    let settings = in_force(
        &flags,
        matches,
        &[("environment", "\"development\""), ("console", "true"), ("log_lines", "\"always\"")],
    )?;
    let registry = Registry::collect()?;
    let mut start = ALONE;
    if let Some(watcher) = watcher {
        config.http.check()?;
        config.console.build = Some(watcher.build());
        for limits in [&mut config.limits, &mut config.http.limits] {
            limits.drain_timeout = limits.drain_timeout.min(REPLACED_DRAIN);
        }
        match watcher.open()? {
            Some(circumstances) => start = circumstances,
            None => return Ok(()),
        }
    }
    let clients = config.clients.clone();
    let listening = watcher.map(Watcher::listening).transpose()?;
    let (server, started) = Serving::start(config, settings, engines, &log, listening, None)?;
    if let Some(difference) = server.difference().filter(|_| !start.may_be_closed && !server.has_open_migration()) {
        return Err(Failure(format!(
            "the database does not fit the program: {difference}.\nWrite a migration, an admin mutation in a module \
             `migrations` that calls `ctx.migrate`: the next build starts with it, and `convoke migrate` runs it"
        )));
    }
    if let Err(failure) = codegen::write_clients(&clients, &registry) {
        note!("convoke: {failure}");
    }
    let token = issuer.mint(&ada(), TOKEN_LIFETIME)?;
    if start.is_first {
        note!("functions   {}", started.functions);
        if let Some(database) = database {
            note!("database    {}", database.display());
        }
        describe(&server);
    }
    warn_of_difference(&server);
    if start.is_first {
        let name = program::name();
        note!("\nCall a function as the user \"ada\" (other users: `{name} token --subject NAME`):\n");
        note!("{}", server.example_call(&token));
    }
    server.announce();
    if let Some(watcher) = watcher {
        watcher.say(&FromServer::Ready { is_closed: server.difference().is_some() });
    }
    server.run(Hangup::Ends)
}

fn ada() -> DevelopmentUser {
    DevelopmentUser {
        email: Some("ada@example.com".to_owned()),
        email_verified: true,
        name: Some("Ada".to_owned()),
        ..DevelopmentUser::new("ada")
    }
}

fn describe(server: &Serving) {
    note!("address     {}", server.url());
    note!("reference   {}/docs", server.url());
    if let Some(console) = server.console() {
        note!("console     {console}   (log in with `{} console`)", program::name());
    }
}

fn warn_of_difference(server: &Serving) {
    let Some(difference) = server.difference() else { return };
    note!("\nThe database does not fit the program. Calls are rejected with NOT_READY until it does:");
    difference.split("; table ").for_each(|one| note!("  - {}", one.trim_start_matches("table ")));
    note!(
        "Write a migration: an admin mutation in a module `migrations` that calls `ctx.migrate`. `{} migrate` runs it \
         beside this program.",
        program::name()
    );
}
