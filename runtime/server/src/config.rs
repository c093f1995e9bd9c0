//! The settings of an installation. In order of precedence: flags, environment, `convoke.toml`, defaults.
//!
//! clap resolves flags and environment. This module reads the file, merges both, and rejects settings that cannot work.
//! Each error says what to write instead.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::auth::Environment;
use crate::auth::provider::{AuthConfig, KeySource, ProviderConfig};
use crate::console::ConsoleOptions;
use crate::following::follows;
use crate::settings::check;
use crate::settings::describe::{self, Table, describe};
use crate::settings::log_filter;
use crate::settings::sources::File;
use convoke_calls::call::envelope::LogLinesOn;
use convoke_calls::files::FilesSettings;
use convoke_calls::outbound::secret::{self, Secret, SecretError};
use convoke_calls::runtime::RuntimeOptions;
use convoke_calls::services::section_problems;
use convoke_copies::CopySettings;
use convoke_core::limits::Limits;
use convoke_http::{HttpOptions, TlsFiles};
use convoke_store::{EngineFactory, Engines};

pub use crate::settings::sources::{ClientFile, EnvironmentFlag, Flags, LogFormat};

/// The default listen address.
pub const LISTEN: &str = "127.0.0.1:3210";
/// The default data folder.
pub const DATA: &str = "./data";
/// The secret with the password of an external database.
pub const STORE_PASSWORD: &str = "STORE_PASSWORD";
/// The settings file that is read if it exists and the flags name no other.
pub const FILE: &str = "convoke.toml";

/// The effective settings of an installation.
#[derive(Clone, Debug)]
pub struct Config {
    /// The deployment.
    pub environment: Environment,
    /// The data folder.
    pub data: PathBuf,
    /// The address of an external database. `None`: the database is in the data folder.
    pub store: Option<String>,
    /// The listener.
    pub http: HttpOptions,
    /// The address under which clients reach the server, without a slash at the end. `None`: that of the listener.
    pub public_url: Option<String>,
    /// The console.
    pub console: ConsoleOptions,
    /// The folder of the static site, and true for a single-page application.
    pub site: Option<(PathBuf, bool)>,
    /// The identity providers and deploy key schemes.
    pub auth: AuthConfig,
    /// The successes that include their log lines.
    pub log_lines: LogLinesOn,
    /// The filter of the operator's log, if set.
    pub log: Option<String>,
    /// The format of the operator's log.
    pub log_format: LogFormat,
    /// The limits.
    pub limits: Limits,
    /// The typed clients that `dev` writes.
    pub clients: Vec<ClientFile>,
    /// `[rates]` and the sections of the application.
    pub sections: toml::Table,
}

/// Settings that cannot work. The message says what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(pub(crate) String);

impl Config {
    /// Merges flags and environment variables over the file.
    ///
    /// `environment` is the value of the flag. If neither the flag nor the file sets it, `default_environment` applies.
    ///
    /// # Errors
    /// An unreadable file, an unknown setting, or an invalid value.
    pub fn resolve(
        flags: &Flags,
        environment: Option<Environment>,
        default_environment: Environment,
    ) -> Result<Self, ConfigError> {
        Self::merge(read_file(flags.config.as_deref())?, flags, environment, default_environment)
    }

    /// Returns the settings of a production server with this file and no flags.
    ///
    /// # Errors
    /// As [`Config::resolve`].
    pub fn of_text(text: &str) -> Result<Self, ConfigError> {
        let file = parse(text).map_err(ConfigError)?;
        Self::merge(file, &Flags::default(), None, Environment::Production)
    }

    fn merge(
        file: File,
        flags: &Flags,
        environment: Option<Environment>,
        default_environment: Environment,
    ) -> Result<Self, ConfigError> {
        let sections = file.rest;
        let environment = environment.or(file.environment).unwrap_or(default_environment);
        let is_dev = environment == Environment::Development;
        let mut limits = Limits::default();
        limits.set(&file.limits).map_err(ConfigError)?;
        let default_listen = || LISTEN.parse().expect("the default address is valid");
        let tls = match (flags.tls_cert.clone().or(file.tls.cert), flags.tls_key.clone().or(file.tls.key)) {
            (Some(cert), Some(key)) => Some(TlsFiles::new(cert, key)),
            (None, None) => None,
            (Some(_), None) => return Err(ConfigError("tls.cert needs tls.key, the certificate's key".to_owned())),
            (None, Some(_)) => return Err(ConfigError("tls.key needs tls.cert, the certificate".to_owned())),
        };
        let http = HttpOptions {
            ops_listen: flags.ops_listen.or(file.ops_listen),
            tls,
            cors_origins: given(&flags.cors_origin, file.cors_origins),
            trusted_proxies: given(&flags.trusted_proxy, file.trusted_proxies),
            limits: limits.clone(),
            compression: flags.compression.or(file.compression).unwrap_or(true),
            dev: is_dev,
            ..HttpOptions::new(flags.listen.or(file.listen).unwrap_or_else(default_listen))
        };
        let public_url = flags.public_url.clone().or(file.public_url);
        let console = ConsoleOptions {
            on_main: flags.console.or(file.console).unwrap_or(is_dev),
            hosts: given(&flags.console_host, file.console_hosts),
            build: None,
        };
        let site = flags.site_dir.clone().or(file.site.dir).map(|folder| (folder, file.site.spa));
        let mut auth = file.auth;
        auth.environment = environment;
        if let Some(provider) = provider_of(flags)? {
            auth.providers = vec![provider];
        }
        let log_lines = flags.log_lines.or(file.log_lines).unwrap_or_default();
        let data = flags.data.clone().or(file.data).unwrap_or_else(|| DATA.into());
        if data.as_os_str().is_empty() {
            return Err(ConfigError(format!("data is empty; write the path of the data folder, such as {DATA}")));
        }
        let store = flags.store.clone().or(file.store);
        let log = flags.log.clone().or(file.log);
        let log_format = flags.log_format.or(file.log_format).unwrap_or_default();
        let clients = file.dev.clients;
        Ok(Self {
            environment,
            data,
            store,
            http,
            public_url,
            console,
            site,
            auth,
            log_lines,
            log,
            log_format,
            limits,
            clients,
            sections,
        })
    }

    /// Returns the problems of single sections and listeners that prevent a start.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = section_problems(&self.sections);
        problems.extend(FilesSettings::of(&self.sections).problem());
        problems.extend(CopySettings::of(&self.sections).problems());
        problems.extend(self.http.check().err().map(|error| error.to_string()));
        problems.extend(self.log.as_deref().and_then(|filter| log_filter::check(filter).err()));
        let listen = self.http.listen;
        if listen.port() != 0 && self.http.ops_listen == Some(listen) {
            problems.push(format!("ops_listen must differ from listen (both are {listen})"));
        }
        problems
    }

    /// Rejects settings without an identity provider: the server would reject every user.
    ///
    /// # Errors
    /// The message says how to add a provider.
    pub fn require_provider(&self) -> Result<(), ConfigError> {
        if self.auth.providers.is_empty() {
            return Err(ConfigError(format!(
                "no identity provider is configured, so no user could call in {}.\n\
                 Name the issuer of your users' tokens:\n\
                 \n    convoke serve --auth-issuer https://id.example.com/ --auth-audience https://api.example.com\n\
                 \n(its keys are found by OpenID Connect discovery, or give --auth-jwks URL-or-FILE), or write \
                 [[auth.providers]] in {FILE}.\nTo try things on this machine without a provider: convoke dev",
                self.environment
            )));
        }
        Ok(())
    }
}

/// Returns the section of `convoke help serve` about the file: its tables and their defaults.
pub fn file_help() -> String {
    use std::fmt::Write as _;
    let mut text = format!(
        "{FILE} takes the same settings, with underscores, and the tables below. `convoke config example` prints it whole,
`convoke config check` checks a file, `convoke config show` prints the effective settings and their sources.\n
    listen = \"0.0.0.0:3210\"
    cors_origins = [\"https://app.example.com\"]

    [[auth.providers]]
    issuer = \"https://id.example.com/\"
    audiences = [\"https://api.example.com\"]

    [limits]
    mutation_timeout = \"1s\"\n"
    );
    for table in &describe().tables {
        list(&mut text, table);
    }
    let _ = write!(text, "\nSecrets: CONVOKE_SECRET_<NAME> in the environment, or files in <data>/secrets.");
    text
}

fn list(text: &mut String, table: &Table) {
    use std::fmt::Write as _;
    let (open, close) = if table.many { ("[[", "]]") } else { ("[", "]") };
    let _ = writeln!(text, "\n{open}{}{close}  {}", table.path, table.doc);
    let shown = |setting: &describe::Setting| match &setting.default {
        Some(value) => value.to_string(),
        None => "-".to_owned(),
    };
    let width = table.settings.iter().map(|setting| setting.name.len()).max().unwrap_or(0);
    let value_width = table.settings.iter().map(|setting| shown(setting).len()).max().unwrap_or(0).min(20);
    for setting in &table.settings {
        let _ = writeln!(text, "    {:width$}  {:>value_width$}  {}", setting.name, shown(setting), setting.doc);
    }
    for inner in &table.tables {
        list(text, inner);
    }
}

impl Config {
    /// Returns the engine of the database of these settings.
    ///
    /// # Errors
    /// An invalid `store`, or an unreadable password.
    pub fn engine(&self, engines: &Engines) -> Result<Arc<dyn EngineFactory>, ConfigError> {
        let Some(store) = &self.store else {
            return engines.at(None, None).map_err(|error| ConfigError(error.to_string()));
        };
        let password = match secret::read(&self.data, STORE_PASSWORD) {
            Ok(password) => Some(password),
            // The database server may authenticate its users in other ways.
            Err(SecretError::Missing { .. }) => None,
            Err(error) => return Err(ConfigError(error.to_string())),
        };
        let password = password.as_ref().map(Secret::expose);
        engines.at(Some(store), password).map_err(|error| ConfigError(error.to_string()))
    }

    /// Converts the settings into the options of a runtime.
    ///
    /// # Errors
    /// As [`Config::engine`].
    pub fn into_options(self, engines: &Engines) -> Result<RuntimeOptions, ConfigError> {
        let engine = self.engine(engines)?;
        Ok(RuntimeOptions {
            limits: self.limits,
            is_development: self.environment == Environment::Development,
            public_url: self.public_url,
            settings: self.sections,
            follows: follows(&self.data),
            ..RuntimeOptions::in_folder(self.data, engine)
        })
    }
}

fn given<T: Clone>(flags: &[T], file: Vec<T>) -> Vec<T> {
    if flags.is_empty() { file } else { flags.to_vec() }
}

/// Returns the path of the settings file and its unchecked content. The content is empty if `named` is `None` and the
/// default file does not exist.
///
/// # Errors
/// An unreadable file, or a file that is not TOML.
pub fn read_table(named: Option<&Path>) -> Result<(PathBuf, toml::Table), ConfigError> {
    let (path, text) = read_text(named)?;
    let table = toml::from_str(&text).map_err(|error| ConfigError(format!("{}: {error}", path.display())))?;
    Ok((path, table))
}

fn read_text(named: Option<&Path>) -> Result<(PathBuf, String), ConfigError> {
    let path = named.unwrap_or(Path::new(FILE));
    match std::fs::read_to_string(path) {
        Ok(text) => Ok((path.to_owned(), text)),
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => {
            Ok((path.to_owned(), String::new()))
        }
        Err(error) => Err(ConfigError(format!("{} cannot be read: {error}", path.display()))),
    }
}

fn read_file(named: Option<&Path>) -> Result<File, ConfigError> {
    let (path, text) = read_text(named)?;
    parse(&text).map_err(|error| ConfigError(format!("{}: {error}", path.display())))
}

/// # Errors
/// Text that is not TOML, an unknown setting, or an invalid value.
fn parse(text: &str) -> Result<File, String> {
    let table: toml::Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let unknown = check::unknown(&table, &describe());
    if !unknown.is_empty() {
        return Err(unknown.join("\n"));
    }
    toml::from_str(text).map_err(|error| error.to_string())
}

fn provider_of(flags: &Flags) -> Result<Option<ProviderConfig>, ConfigError> {
    let Some(issuer) = &flags.auth_issuer else {
        return match flags.auth_jwks.is_some() || !flags.auth_audience.is_empty() {
            true => Err(ConfigError("--auth-audience and --auth-jwks need --auth-issuer".to_owned())),
            false => Ok(None),
        };
    };
    let Some((first, rest)) = flags.auth_audience.split_first() else {
        return Err(ConfigError(
            "--auth-issuer needs --auth-audience: a token for another service must not be accepted".to_owned(),
        ));
    };
    let mut provider = ProviderConfig::new(issuer, first);
    provider.audiences.extend(rest.iter().cloned());
    provider.keys = match &flags.auth_jwks {
        None => KeySource::Discovery,
        Some(url) if url.starts_with("https://") || url.starts_with("http://") => KeySource::Url(url.clone()),
        Some(file) => KeySource::File(file.into()),
    };
    Ok(Some(provider))
}
