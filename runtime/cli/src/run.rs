//! `run`: one call, by whatever way reaches the installation.

use std::io::Write as _;

use clap_complete::ArgValueCompleter;
use hyper::Method;

use super::Failure;
use super::connect::{ActAs, ConnectArgs, Connection};
use convoke_server::auth::development;
use convoke_store::Engines;

/// Call a function
///
/// In the running server of the data folder, in the data folder itself if no server runs, or with --url in a server
/// elsewhere. The value is printed as JSON to standard output, log lines to standard error; exit code 1 if the call
/// failed. Without --as the call is made as the operator, who may call what a deploy key may.
///
///   convoke run users/queries/getCurrentUser '{}' --as ada
#[derive(clap::Args)]
pub(super) struct Run {
    /// The function, as `convoke functions` lists it
    #[arg(value_name = "PATH", add = ArgValueCompleter::new(super::completions::functions))]
    path: String,
    /// Its arguments, a JSON object
    #[arg(value_name = "JSON", default_value = "{}")]
    args: String,
    /// The subject of the user to call as
    #[arg(long = "as", value_name = "SUBJECT")]
    subject: Option<String>,
    /// The user's issuer [default: the first configured provider, else the development issuer]
    #[arg(long, value_name = "URL", env = "CONVOKE_AUTH_ISSUER")]
    issuer: Option<String>,
    #[command(flatten)]
    connect: ConnectArgs,
}

impl Run {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        let connection = self.connect.open(engines)?;
        let issuer = self.issuer.clone().unwrap_or_else(|| match connection.config().auth.providers.first() {
            Some(provider) => provider.issuer.clone(),
            None => development::ISSUER.to_owned(),
        });
        let user = self.subject.clone().map(|subject| ActAs { issuer, subject });
        connection.block_on(self.call(&connection, user.as_ref()))
    }

    async fn call(&self, connection: &Connection, user: Option<&ActAs>) -> Result<(), Failure> {
        // The text goes as it is, in its place: what is wrong with it is the server's to say.
        let body = format!("{{\"args\":{}}}", self.args);
        let path = format!("/api/run/{}", encoded(&self.path.replace(':', "/")));
        let mut response = connection.request_as(Method::POST, &path, Some(body.into()), user).await?;
        let envelope = response.envelope().await?;
        for line in &envelope.log_lines {
            eprintln!("{line}");
        }
        let value = envelope.into_value(&response.request_id)?;
        let mut out = std::io::stdout().lock();
        // A reader that had enough (`| head`) is no failure.
        let _ = writeln!(out, "{}", value.get());
        Ok(())
    }
}

/// A path whose parts may hold anything.
fn encoded(path: &str) -> String {
    use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
    const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.');
    utf8_percent_encode(path, KEPT).to_string()
}
