//! `dev`: a complete server on this machine, without configuration.

use std::time::Duration;

use super::failure::Failure;
use super::operator_log::OperatorLog;
use super::program;
use super::serve::{Hangup, Serving, in_force, open_issuer, use_small_pages};
use convoke_calls::call::envelope::LogLinesOn;
use convoke_server::auth::Environment;
use convoke_server::auth::development::DevelopmentUser;
use convoke_server::config::{Config, Flags};
use convoke_store::Engines;

/// Serve on this machine with a development issuer of tokens, without configuration
///
/// Creates the data folder and a signing key on first start, and prints a `curl` command with a valid token. A user who
/// can read the data folder can create tokens: do not serve other people with it.
#[derive(clap::Args)]
pub(super) struct Dev {
    #[command(flatten)]
    flags: Flags,
}

/// Lifetime of the token in the printed command.
const TOKEN_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);

impl Dev {
    /// Runs the command. `matches` are those of this command: they show which values come from the environment.
    pub(super) fn run(mut self, engines: &Engines, matches: Option<&clap::ArgMatches>) -> Result<(), Failure> {
        use_small_pages();
        self.flags.log_lines.get_or_insert(LogLinesOn::Always);
        let mut config = Config::resolve(&self.flags, Some(Environment::Development), Environment::Development)?;
        let log = OperatorLog::install(&config, "info")?;
        let issuer = open_issuer(&config)?;
        config.auth.providers.push(issuer.provider());
        let database = config.engine(engines)?.files(&config.data).database.into_iter().next();
        let settings = in_force(
            &self.flags,
            matches,
            &[("environment", "\"development\""), ("console", "true"), ("log_lines", "\"always\"")],
        )?;
        let (server, started) = Serving::start(config, settings, engines, &log)?;
        let ada = DevelopmentUser {
            email: Some("ada@example.com".to_owned()),
            email_verified: true,
            name: Some("Ada".to_owned()),
            ..DevelopmentUser::new("ada")
        };
        let token = issuer.mint(&ada, TOKEN_LIFETIME)?;
        eprintln!("functions   {}", started.functions);
        if let Some(database) = database {
            eprintln!("database    {}", database.display());
        }
        eprintln!("address     {}", server.url());
        eprintln!("reference   {}/docs", server.url());
        if let Some(console) = server.console() {
            eprintln!("console     {console}   (log in with `{} console`)", program::name());
        }
        let name = program::name();
        if let Some(difference) = server.difference() {
            eprintln!("\nThe database does not fit the program. Calls are rejected with NOT_READY until it does:");
            difference.split("; table ").for_each(|one| eprintln!("  - {}", one.trim_start_matches("table ")));
            eprintln!(
                "Write a migration: an admin mutation in a module `migrations` that calls `ctx.migrate`. `{name} migrate` \
                 runs it beside this program."
            );
        }
        eprintln!("\nCall a function as the user \"ada\" (other users: `{name} token --subject NAME`):\n");
        eprintln!("{}", server.example_call(&token));
        server.announce();
        server.run(Hangup::Ends)
    }
}
