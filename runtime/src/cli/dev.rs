//! `dev`: everything on this machine, nothing to configure.

use super::serve::Serving;
use super::{Failure, install_log};
use crate::auth::{Environment, development};
use crate::call::envelope::LogLinesOn;
use crate::config::{Config, Flags};

/// Serve on this machine with a development issuer of tokens; nothing to configure
///
/// Makes the data folder and a signing key on first start, and prints a `curl` command with a token that works.
/// Anybody who can read the data folder can make tokens: never for strangers.
#[derive(clap::Args)]
pub(super) struct Dev {
    #[command(flatten)]
    flags: Flags,
}

/// How long the token in the printed command works.
const TOKEN_TTL_S: i64 = 24 * 60 * 60;

impl Dev {
    pub(super) fn run(mut self) -> Result<(), Failure> {
        self.flags.log_lines.get_or_insert(LogLinesOn::Always);
        install_log(&self.flags)?;
        let mut config = Config::resolve(&self.flags, Some(Environment::Development), Environment::Development)?;
        let issuer = development::Issuer::open(&config.data)?;
        config.auth.providers.push(issuer.provider());
        let database = config.data.join(crate::store::DATABASE_FILE);
        let (server, started) = Serving::start(config)?;
        let subject = development::Subject { ttl_s: TOKEN_TTL_S, ..development::Subject::named("ada") };
        let token = issuer.mint(&subject, server.now())?;
        let address = started.address;
        eprintln!("functions   {}", started.functions);
        eprintln!("database    {}", database.display());
        eprintln!("address     http://{address}");
        eprintln!("\nCall one as the user \"ada\" (more users: `convoke token --subject NAME`):\n");
        eprintln!("{}", server.example_call(&token));
        server.announce();
        server.run()
    }
}
