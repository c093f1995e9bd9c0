//! `config`: the possible settings, the current settings, and a check of a settings file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use super::failure::Failure;
use super::local::require_folder;
use super::output;
use convoke_calls::outbound::secret;
use convoke_core::clock::SystemClock;
use convoke_server::auth::Authenticator;
use convoke_server::auth::key_source::http_client;
use convoke_server::config::{self, Config, EnvironmentFlag, Flags};
use convoke_server::settings::describe::describe;
use convoke_server::settings::effective::{FlagValue, Origin, Row, rows};
use convoke_server::settings::example;
use convoke_server::site::Site;
use convoke_store::Engines;

/// Show every possible setting, show the current settings, or check a settings file
#[derive(clap::Args)]
#[command(after_help = "\
Start a file of settings, change it, and ask before the restart:
  convoke config example > convoke.toml
  convoke config check convoke.toml
  convoke config show --changed")]
pub(super) struct ConfigCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    Example(Example),
    Show(Box<Show>),
    Check(Check),
}

/// Print a complete convoke.toml: every setting with its default and its meaning
///
/// All settings are comments, so the file changes nothing. The headings of tables are not: to change a setting, remove
/// the `#` before it.
///
///   convoke config example > convoke.toml
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
struct Example {}

/// Print the current settings and the source of each value: a flag, the environment, the file, or its default
///
/// Takes the flags of `serve` and shows the settings with which `serve` would start. Secrets are named, never shown.
///
///   convoke config show --changed
///   convoke config show --json | jq '.settings[] | select(.name == "listen")'
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
struct Show {
    /// Show only values other than the default
    #[arg(long)]
    changed: bool,
    /// Print one JSON object, for tools
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    environment: EnvironmentFlag,
    #[command(flatten)]
    flags: Flags,
}

/// Check a settings file as a start would: names, values, keys, certificates
///
/// Reports unknown names and invalid values; without these, all other mistakes in one run. Exit code 0 if a server would start with this file.
///
///   convoke config check /etc/convoke/convoke.toml
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
struct Check {
    /// The file
    #[arg(value_name = "FILE", default_value = config::FILE)]
    file: PathBuf,
}

impl ConfigCommand {
    /// Runs the command. `matches` are those of this command: they show which values come from the environment.
    pub(super) fn run(self, engines: &Engines, matches: Option<&clap::ArgMatches>) -> Result<(), Failure> {
        match self.what {
            What::Example(Example {}) => output::text(&example::write(&describe())),
            What::Show(show) => show.run(matches.and_then(|matches| matches.subcommand()).map(|(_, matches)| matches)),
            What::Check(check) => check.run(engines),
        }
    }
}

impl Show {
    fn run(self, matches: Option<&clap::ArgMatches>) -> Result<(), Failure> {
        let config = Config::resolve(&self.flags, self.environment.env, convoke_server::auth::Environment::Production)?;
        require_folder(&config, self.flags.data.as_deref())?;
        let (path, file) = config::read_table(self.flags.config.as_deref())?;
        let given = |id: &str| given(matches?, id);
        let mut rows = rows(&describe(), &file, &given);
        if self.changed {
            rows.retain(|row| row.origin != Origin::Default);
        }
        let secrets = secret::names(&config.data);
        let text = if self.json { as_json(&rows, &path, &secrets)? } else { as_table(&rows, &path, &secrets) };
        output::text(&text)
    }
}

/// Returns the value of a flag, and its source: the command line or the variable.
pub(super) fn given(matches: &clap::ArgMatches, id: &str) -> Option<FlagValue> {
    use clap::parser::ValueSource;
    // clap panics for an argument that the command does not have.
    let source = matches.try_contains_id(id).ok()?.then(|| matches.value_source(id))??;
    let values = matches.get_raw(id)?.map(|value| value.to_string_lossy().into_owned()).collect();
    match source {
        ValueSource::CommandLine => Some(FlagValue { values, by_flag: true }),
        ValueSource::EnvVariable => Some(FlagValue { values, by_flag: false }),
        _ => None,
    }
}

fn as_table(rows: &[Row], file: &Path, secrets: &[(String, String)]) -> String {
    let origin = |row: &Row| match &row.origin {
        Origin::File => file.display().to_string(),
        other => other.to_string(),
    };
    let value = |row: &Row| row.value.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
    let mut table = vec![("SETTING".to_owned(), "VALUE".to_owned(), "FROM".to_owned())];
    table.extend(rows.iter().map(|row| (row.name.clone(), value(row), origin(row))));
    table.extend(secrets.iter().map(|(name, place)| (format!("secret {name}"), "(set)".to_owned(), place.clone())));
    let width = |column: fn(&(String, String, String)) -> &String, most: usize| {
        table.iter().map(|row| column(row).chars().count()).max().unwrap_or(0).min(most)
    };
    let (names, values) = (width(|row| &row.0, 60), width(|row| &row.1, 40));
    table.iter().map(|(name, value, from)| format!("{name:names$}  {value:values$}  {from}\n")).collect()
}

fn as_json(rows: &[Row], file: &Path, secrets: &[(String, String)]) -> Result<String, Failure> {
    let settings: Vec<_> = rows
        .iter()
        .map(|row| {
            let (from, place) = match &row.origin {
                Origin::Flag(flag) => ("flag", Some(flag.clone())),
                Origin::Variable(variable) => ("environment", Some(variable.clone())),
                Origin::File => ("file", Some(file.display().to_string())),
                Origin::Default => ("default", None),
            };
            json!({ "name": row.name, "value": row.value, "from": from, "place": place })
        })
        .collect();
    let secrets: Vec<_> = secrets.iter().map(|(name, place)| json!({ "name": name, "place": place })).collect();
    Ok(serde_json::to_string_pretty(&json!({ "settings": settings, "secrets": secrets }))? + "\n")
}

impl Check {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let file = self.file.display().to_string();
        let text = std::fs::read_to_string(&self.file)
            .map_err(|error| Failure(format!("{file} cannot be read: {error}; `convoke config example` prints one")))?;
        let problems = problems(&text, engines);
        if !problems.is_empty() {
            return Err(Failure(format!("{file}: a server would not start with it\n{}", problems.join("\n"))));
        }
        output::text(&format!("{file}: a server would start with it\n"))
    }
}

/// Returns all problems that prevent a server from starting with this text as its settings file.
fn problems(text: &str, engines: &Engines) -> Vec<String> {
    let config = match Config::of_text(text) {
        Ok(config) => config,
        Err(error) => return vec![error.to_string()],
    };
    let mut problems = config.problems();
    problems.extend(config.engine(engines).err().map(|error| error.to_string()));
    // Flags and the environment may also name one, but a checked file must be complete.
    if config.environment != convoke_server::auth::Environment::Development {
        problems.extend(config.require_provider().err().map(|error| error.to_string()));
    }
    if let Some((folder, is_spa)) = &config.site {
        problems.extend(Site::open(folder, *is_spa).err().map(|error| error.to_string()));
    }
    let client = http_client().build().map_err(|error| error.to_string());
    let authenticator = client.and_then(|client| {
        Authenticator::new(config.auth, Arc::new(SystemClock::new()), &config.limits, client)
            .map_err(|error| error.to_string())
    });
    problems.extend(authenticator.err());
    problems
}
