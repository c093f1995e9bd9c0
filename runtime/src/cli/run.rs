//! `run`: one call, in process.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use clap_complete::ArgValueCompleter;

use super::{Failure, executor, install_log};
use crate::auth::{Environment, development};
use crate::call::dispatch::Request;
use crate::call::identify;
use crate::config::{Config, Flags};
use crate::error::Error;
use crate::identity::{Caller, DeployKeyCaller, Identity};
use crate::runtime::Runtime;

/// Call a function in process, without a server
///
/// The value is printed as JSON to standard output, log lines to standard error; exit code 1 if the call failed.
/// Without --as the call is made as the operator, who may call what a deploy key may.
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
    /// File of settings [default: convoke.toml, if it is there]
    #[arg(long, value_name = "FILE", env = "CONVOKE_CONFIG")]
    config: Option<PathBuf>,
    /// Folder of the database, keys and secrets [default: ./data]
    #[arg(long, value_name = "DIR", env = "CONVOKE_DATA")]
    data: Option<PathBuf>,
    /// What is logged beside the call's own lines [default: warn]
    #[arg(long, value_name = "FILTER", env = "CONVOKE_LOG")]
    log: Option<String>,
}

impl Run {
    pub(super) fn run(self) -> Result<(), Failure> {
        let (config, data, log) = (self.config.clone(), self.data.clone(), self.log.clone());
        let config = Config::resolve(&Flags { config, data, log, ..Flags::default() }, None, Environment::Development)?;
        // The call's own lines are printed below; those of the runtime would only stand between them.
        let _log = install_log(&config, "warn,convoke::function=off")?;
        let issuer = self.issuer.clone().unwrap_or_else(|| match config.auth.providers.first() {
            Some(provider) => provider.issuer.clone(),
            None => development::ISSUER.to_owned(),
        });
        let executor = executor()?;
        let _within = executor.enter();
        let runtime = Runtime::start(config.into())?;
        let done = executor.block_on(self.call(&runtime, issuer));
        runtime.store().close();
        done
    }

    async fn call(&self, runtime: &Runtime, issuer: String) -> Result<(), Failure> {
        let caller = match &self.subject {
            None => operator(None),
            Some(subject) => as_user(runtime, issuer, subject)?,
        };
        let path = self.path.replace(':', "/");
        let request = Request::Args { path: &path, args: &self.args };
        let (outcome, _) = runtime.call(request, caller, runtime.request_id()).await;
        for line in outcome.log_lines.into_lines() {
            eprintln!("{line}");
        }
        match outcome.result {
            Ok(value) => {
                let mut out = std::io::stdout().lock();
                let _ = out.write_all(&value).and_then(|()| out.write_all(b"\n"));
                Ok(())
            }
            Err(error) => Err(Failure(format!("{}: {}", error.code(), error.chain()))),
        }
    }
}

/// Who holds the data folder may do what a deploy key may.
fn operator(acting_as: Option<Arc<Identity>>) -> Caller {
    Caller::DeployKey(Arc::new(DeployKeyCaller {
        name: "operator".to_owned(),
        scopes: vec!["*".to_owned()],
        acting_as,
    }))
}

/// A user that is known already keeps the claims of the last token; an unknown one is seen for the first time.
fn as_user(runtime: &Runtime, issuer: String, subject: &str) -> Result<Caller, Error> {
    let known = identify::is_known(runtime, &issuer, subject)?;
    let identity = Arc::new(Identity { issuer, subject: subject.to_owned(), ..Identity::default() });
    Ok(if known { operator(Some(identity)) } else { Caller::User(identity) })
}
