//! `token`: makes a token of the development issuer.

use std::path::PathBuf;

use clap::builder::NonEmptyStringValueParser;

use super::durations::duration;
use super::failure::Failure;
use super::local::require_folder;
use super::output;
use super::serve::open_issuer;
use convoke_server::auth::Environment;
use convoke_server::auth::development::{DevelopmentUser, KEY_FILE};
use convoke_server::config::{Config, Flags};
use convoke_store::Engines;

/// Print a token of the development issuer, to call functions as a user on this machine
///
/// Works with `convoke dev`, and with `serve --env development` without a provider. Rejected in production.
///
///   TOKEN=$(convoke token --subject grace --email grace@example.com)
///   curl -H "Authorization: Bearer $TOKEN" …
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Token {
    /// Subject of the token
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    subject: String,
    /// Verified e-mail address of the user
    #[arg(long, value_name = "ADDRESS")]
    email: Option<String>,
    /// Display name of the user
    #[arg(long, value_name = "TEXT")]
    name: Option<String>,
    /// A role such as `admin`; may be given more than once
    #[arg(long, value_name = "ROLE")]
    role: Vec<String>,
    /// Organization of the user
    #[arg(long, value_name = "ID")]
    org: Option<String>,
    /// Lifetime of the token, e.g. 1h
    #[arg(long, value_name = "TIME", default_value = "24h", value_parser = ttl)]
    ttl: std::time::Duration,
    /// Deployment
    #[arg(long, value_name = "NAME", env = "CONVOKE_ENV")]
    env: Option<Environment>,
    /// Settings file [default: convoke.toml, if it exists]
    #[arg(long, value_name = "FILE", env = "CONVOKE_CONFIG")]
    config: Option<PathBuf>,
    /// Folder of the database, keys and secrets [default: ./data]
    #[arg(long, value_name = "DIR", env = "CONVOKE_DATA")]
    data: Option<PathBuf>,
    /// Address of the database, if several nodes serve it: the token is valid on all of them, and is made with
    /// STORE_KEY
    #[arg(long, value_name = "URL", env = "CONVOKE_STORE")]
    store: Option<String>,
}

impl Token {
    #[allow(clippy::print_stdout, reason = "the token is what the command is for")]
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        let flags = Flags { config: self.config, data: self.data, store: self.store, ..Flags::default() };
        let config = Config::resolve(&flags, self.env, Environment::Development)?;
        if config.environment != Environment::Development {
            return Err(Failure(format!(
                "there is no development issuer in {}; tokens come from your identity provider",
                config.environment
            )));
        }
        require_folder(&config, flags.data.as_deref())?;
        let is_named = Config::resolve(&flags, self.env, Environment::Production)?.environment == config.environment;
        if !is_named {
            require_own_issuer(&config, engines)?;
        }
        let user = DevelopmentUser {
            email_verified: self.email.is_some(),
            email: self.email,
            name: self.name,
            roles: self.role,
            org_id: self.org,
            ..DevelopmentUser::new(self.subject)
        };
        output::line(&open_issuer(&config)?.mint(&user, self.ttl)?.to_string()).map(drop)
    }
}

/// Rejects a folder of a production server: it has a database or a provider, and no issuer, which would be created in it.
///
/// # Errors
/// The folder has no development issuer.
fn require_own_issuer(config: &Config, engines: &Engines) -> Result<(), Failure> {
    let has_provider = !config.auth.providers.is_empty();
    if config.data.join(KEY_FILE).exists() || !(has_provider || config.engine(engines)?.files(&config.data).bytes() > 0)
    {
        return Ok(());
    }
    let reason =
        if has_provider { "its settings name an identity provider" } else { "`convoke dev` has not created it" };
    Err(Failure(format!(
        "{} has no development issuer: {reason}. Tokens of a production server come from its identity provider; for a server \
         of development, name its folder with --data, or use --env development",
        config.data.display()
    )))
}

fn ttl(text: &str) -> Result<std::time::Duration, String> {
    match duration(text) {
        Ok(ttl) if ttl.is_zero() => Err("must be longer than 0s".to_owned()),
        ttl => ttl,
    }
}
