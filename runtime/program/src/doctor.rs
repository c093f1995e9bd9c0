//! `doctor`: checks of an installation, and advice for each problem.

use std::os::unix::net::UnixStream;

use hyper::Method;
use serde::Deserialize;
use serde_json::json;

use super::connect::ConnectArgs;
use super::executor::executor;
use super::failure::Failure;
use super::local::{LocalArgs, clock, development_without_a_provider, require_folder, tables};
use super::output;
use super::progress::Progress;
use convoke_calls::files::{FilesSettings, Storage};
use convoke_calls::registry::Registry;
use convoke_calls::services::missing_secrets;
use convoke_http::CONTROL;
use convoke_server::auth::Environment;
use convoke_server::config::Config;
use convoke_server::doctor::finding::{Finding, State};
use convoke_server::doctor::{database, files, machine};
use convoke_store::{Engines, OpenError, Thoroughness};

/// Check everything that an installation needs, and say how to repair each problem
///
/// Checks settings, permissions, disk space, clock, certificates, identity providers, the database and its schema, and
/// scheduled work. A running server reports on its database; without a server, the command opens it. Nothing is
/// changed. Exit code 1 if there is a problem; warnings do not count.
///
///   convoke doctor
///   convoke doctor --full --json | jq '.findings[] | select(.state != "ok")'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Doctor {
    /// Check the database in full, including the agreement of indexes and rows
    #[arg(long)]
    full: bool,
    /// Print one JSON object, for tools
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    local: LocalArgs,
}

/// The report of a server.
#[derive(Deserialize)]
struct DoctorResponse {
    version: String,
    findings: Vec<Finding>,
}

impl Doctor {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        let progress = Progress::unmeasured("looking");
        let findings = self.findings(engines)?;
        drop(progress);
        let worst = findings.iter().map(|finding| finding.state).max().unwrap_or(State::Ok);
        let text = if self.json {
            let all = json!({ "version": env!("CARGO_PKG_VERSION"), "state": worst, "findings": findings });
            serde_json::to_string_pretty(&all)?
        } else {
            as_text(&findings)
        };
        output::line(&text)?;
        let problems = findings.iter().filter(|finding| finding.state == State::Problem).count();
        match problems {
            0 => Ok(()),
            1 => Err(Failure("one problem was found".to_owned())),
            problems => Err(Failure(format!("{problems} problems were found"))),
        }
    }

    /// Returns the findings of a quick check of an installation on this machine.
    ///
    /// # Errors
    /// There is no such installation.
    pub(super) fn quick(local: LocalArgs, engines: &Engines) -> Result<Vec<Finding>, Failure> {
        Self { full: false, json: false, local }.findings(engines)
    }

    fn findings(&self, engines: &Engines) -> Result<Vec<Finding>, Failure> {
        match self.config() {
            Ok(config) => {
                require_folder(&config, self.local.data.as_deref())?;
                self.look(&config, engines)
            }
            Err(failure) => {
                let advice = "`convoke config check FILE` shows all mistakes; nothing else was checked";
                Ok(vec![Finding::problem("settings", failure.to_string(), advice)])
            }
        }
    }

    /// Returns the settings. They are those of development for a folder of `convoke dev`, which has its own issuer of
    /// tokens and no other provider.
    fn config(&self) -> Result<Config, Failure> {
        let config = self.local.config()?;
        match development_without_a_provider(&config) {
            true => self.local.config_of(Environment::Development),
            false => Ok(config),
        }
    }

    fn look(&self, config: &Config, engines: &Engines) -> Result<Vec<Finding>, Failure> {
        let clock = clock();
        let is_served = UnixStream::connect(config.data.join(CONTROL)).is_ok();
        let files = config.engine(engines)?.files(&config.data);
        let mut findings = machine::settings(config);
        findings.extend(machine::folder(&config.data, &files, is_served, clock.now()));
        findings.extend(machine::disk(&config.data, &files, &config.limits));
        findings.extend(machine::certificate(config, clock.now()));
        let providers = machine::providers(config, || clock.now());
        findings.extend(executor()?.block_on(providers));
        findings.extend(if is_served { self.ask(engines)? } else { self.open(config, engines)? });
        Ok(findings)
    }

    /// Returns the findings of the running server.
    fn ask(&self, engines: &Engines) -> Result<Vec<Finding>, Failure> {
        let LocalArgs { data, store, config, env } = self.local.clone();
        let connection = ConnectArgs { data, store, config, env, ..ConnectArgs::default() }.open_again(engines)?;
        let said = connection.ask::<DoctorResponse>(Method::GET, &format!("doctor?full={}", self.full), None);
        let DoctorResponse { version, mut findings } = match said {
            Ok(said) => said,
            Err(failure) => {
                let advice = "see its log; a server of an older version has no report";
                return Ok(vec![Finding::problem(
                    "server",
                    format!("it does not report its state: {failure}"),
                    advice,
                )]);
            }
        };
        let own = env!("CARGO_PKG_VERSION");
        if version != own {
            let says = format!("it runs version {version}, and this program is {own}");
            findings.push(Finding::warning("version", says, "restart the server to run the version that is installed"));
        }
        Ok(findings)
    }

    /// Returns the findings about the database of a folder without a server.
    fn open(&self, config: &Config, engines: &Engines) -> Result<Vec<Finding>, Failure> {
        let server = Finding::ok("server", "none runs on this data folder");
        let routes = machine::routes(&Registry::collect()?, &config.data);
        let mut findings = self.open_database(config, engines, server)?;
        findings.extend(routes);
        findings.extend(machine::sections(missing_secrets(&config.sections, &config.data)));
        Ok(findings)
    }

    fn open_database(&self, config: &Config, engines: &Engines, server: Finding) -> Result<Vec<Finding>, Failure> {
        let files = config.engine(engines)?.files(&config.data);
        if config.store.is_none() && files.bytes() == 0 {
            return Ok(vec![server, no_database(config)]);
        }
        if files.is_half_replaced {
            return Ok(vec![server, Finding::ok("database", "it is not checked until its replacement is complete")]);
        }
        let installation = match config.engine(engines)?.look(&config.data, clock()) {
            Ok(installation) => installation,
            Err(OpenError::Locked { process, .. }) if config.store.is_some() => {
                let says = format!(
                    "none here; other nodes serve the database (process {process}): run `doctor` on one of them"
                );
                return Ok(vec![Finding::ok("server", says)]);
            }
            Err(error @ OpenError::Locked { .. }) => {
                let advice = "it is starting, or its control socket could not be created: see its log";
                let says = format!("{error}, and does not respond on {CONTROL}");
                return Ok(vec![Finding::problem("server", says, advice)]);
            }
            Err(error) => {
                let advice = if config.store.is_some() { database::UNREACHABLE } else { "run as the server's user" };
                return Ok(vec![Finding::problem("database", error.to_string(), advice)]);
            }
        };
        let thoroughness = if self.full { Thoroughness::Full } else { Thoroughness::Quick };
        let mut findings = vec![server, machine::open_files(&config.limits)];
        match installation.database() {
            Ok(Some(file)) => {
                let tables = tables()?;
                findings.extend(database::look(&*file, &tables, thoroughness, clock().now()));
                match Storage::of(&FilesSettings::of(&config.sections), &config.data) {
                    Ok(storage) => {
                        let looked = files::look(file.reader(), &tables, &storage, self.full);
                        findings.extend(executor()?.block_on(looked));
                    }
                    Err(error) => findings.push(files::unchecked(error)),
                }
            }
            Ok(None) => findings.push(no_database(config)),
            Err(error) => {
                findings.push(Finding::problem("integrity", error.to_string(), database::advice_on(&error)));
            }
        }
        Ok(findings)
    }
}

fn no_database(config: &Config) -> Finding {
    match machine::lost_database(&config.data) {
        Some((says, advice)) if config.store.is_none() => Finding::problem("database", says, advice),
        _ => Finding::ok("database", "it does not exist yet; the first start creates it"),
    }
}

fn as_text(findings: &[Finding]) -> String {
    let mut lines = Vec::new();
    for finding in findings {
        lines.push(format!("{:7}  {:11}  {}", finding.state, finding.subject, finding.says));
        if let Some(advice) = &finding.advice {
            lines.push(format!("{:22}→ {advice}", ""));
        }
    }
    lines.join("\n")
}
