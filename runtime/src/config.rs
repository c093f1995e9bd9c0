//! The settings of an installation: flags over environment over `convoke.toml` over defaults.
//!
//! clap resolves flags and environment; this module reads the file, lays the two together, and refuses what cannot
//! work, each time with the sentence that says what to write.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::auth::Environment;
use crate::auth::provider::{AuthConfig, KeySource, ProviderConfig};
use crate::call::envelope::LogLinesOn;
use crate::http::{HttpOptions, TlsFiles};
use crate::limits::Limits;
use crate::settings::SubmittedSection;

/// Where calls are served unless told.
pub const LISTEN: &str = "127.0.0.1:3210";
/// Where the data lies unless told.
pub const DATA: &str = "./data";
/// The file of settings that is read if it is there and no other is named.
pub const FILE: &str = "convoke.toml";

/// The flags that `serve` and `dev` share. Each may also come from the environment (`CONVOKE_…`) or the file.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Flags {
    /// File of settings [default: convoke.toml, if it is there]
    #[arg(long, value_name = "FILE", env = "CONVOKE_CONFIG", global = true)]
    pub config: Option<PathBuf>,
    /// Folder of the database, keys and secrets [default: ./data]
    #[arg(long, value_name = "DIR", env = "CONVOKE_DATA", global = true)]
    pub data: Option<PathBuf>,
    /// Address to serve calls on; port 0 picks a free one [default: 127.0.0.1:3210]
    #[arg(long, value_name = "ADDR", env = "CONVOKE_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// Address to serve /metrics, /healthz and /readyz on, apart from the calls
    #[arg(long, value_name = "ADDR", env = "CONVOKE_OPS_LISTEN")]
    pub ops_listen: Option<SocketAddr>,
    /// When a success carries the log lines of its call [default: error; dev: always]
    #[arg(long, value_name = "WHEN", env = "CONVOKE_LOG_LINES")]
    pub log_lines: Option<LogLinesOn>,
    /// Issuer of the tokens to accept, to the letter
    #[arg(long, value_name = "URL", env = "CONVOKE_AUTH_ISSUER")]
    pub auth_issuer: Option<String>,
    /// Audience that tokens must name; may be given more than once
    #[arg(long, value_name = "TEXT", env = "CONVOKE_AUTH_AUDIENCE", value_delimiter = ',')]
    pub auth_audience: Vec<String>,
    /// Keys of the issuer [default: found by OpenID Connect discovery]
    #[arg(long, value_name = "URL|FILE", env = "CONVOKE_AUTH_JWKS")]
    pub auth_jwks: Option<String>,
    /// Origin whose pages may call; may be given more than once
    #[arg(long, value_name = "ORIGIN", env = "CONVOKE_CORS_ORIGIN", value_delimiter = ',')]
    pub cors_origin: Vec<String>,
    /// Network whose X-Forwarded-For is believed; may be given more than once
    #[arg(long, value_name = "CIDR", env = "CONVOKE_TRUSTED_PROXY", value_delimiter = ',')]
    pub trusted_proxy: Vec<ipnet::IpNet>,
    /// Certificate chain (PEM); with --tls-key the listener speaks TLS
    #[arg(long, value_name = "FILE", env = "CONVOKE_TLS_CERT", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", env = "CONVOKE_TLS_KEY", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// What is logged, e.g. `warn,convoke=debug`; a line a call from `info` on [default: info]
    #[arg(long, value_name = "FILTER", env = "CONVOKE_LOG")]
    pub log: Option<String>,
    /// How it is logged [default: text]
    #[arg(long, value_name = "FORMAT", env = "CONVOKE_LOG_FORMAT")]
    pub log_format: Option<LogFormat>,
}

/// How the operator's log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// `convoke.toml`. Names are those of the flags, with underscores; `[auth]`, `[tls]` and `[limits]` are tables.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct File {
    data: Option<PathBuf>,
    #[serde(alias = "env")]
    environment: Option<Environment>,
    listen: Option<SocketAddr>,
    ops_listen: Option<SocketAddr>,
    log_lines: Option<LogLinesOn>,
    #[serde(alias = "cors_origin")]
    cors_origins: Vec<String>,
    #[serde(alias = "trusted_proxy")]
    trusted_proxies: Vec<ipnet::IpNet>,
    log: Option<String>,
    log_format: Option<LogFormat>,
    auth: AuthConfig,
    tls: Option<Tls>,
    limits: toml::Table,
    #[serde(flatten)]
    rest: toml::Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tls {
    cert: PathBuf,
    key: PathBuf,
}

/// Everything an installation runs with.
#[derive(Clone, Debug)]
pub struct Config {
    /// Which deployment this is.
    pub environment: Environment,
    /// Where everything of it lies.
    pub data: PathBuf,
    /// The listener.
    pub http: HttpOptions,
    /// Whose tokens are accepted.
    pub auth: AuthConfig,
    /// When a success carries its log lines.
    pub log_lines: LogLinesOn,
    /// What the operator's log holds, if it was said.
    pub log: Option<String>,
    /// How it is written.
    pub log_format: LogFormat,
    /// The bounds.
    pub limits: Limits,
    /// `[rates]` and the sections of the application.
    pub sections: toml::Table,
}

/// Settings that cannot work, with what to write instead.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

impl Config {
    /// Lays flags and environment over the file.
    ///
    /// `environment` is the flag, if it was given; without it and the file, `unless_told`.
    ///
    /// # Errors
    /// A file that cannot be read, a setting that does not exist or does not fit.
    pub fn resolve(
        flags: &Flags,
        environment: Option<Environment>,
        unless_told: Environment,
    ) -> Result<Self, ConfigError> {
        let file = read_file(flags.config.as_deref())?;
        let sections = known_sections(file.rest)?;
        let environment = environment.or(file.environment).unwrap_or(unless_told);
        let is_dev = environment == Environment::Development;
        let mut limits = Limits::default();
        limits.set(&file.limits).map_err(ConfigError)?;
        let default_listen = || LISTEN.parse().expect("the default address is one");
        let tls = match (&flags.tls_cert, &flags.tls_key, file.tls) {
            (Some(cert), Some(key), _) => Some(TlsFiles::new(cert, key)),
            (_, _, Some(tls)) => Some(TlsFiles::new(tls.cert, tls.key)),
            _ => None,
        };
        let http = HttpOptions {
            ops_listen: flags.ops_listen.or(file.ops_listen),
            tls,
            cors_origins: given(&flags.cors_origin, file.cors_origins),
            trusted_proxies: given(&flags.trusted_proxy, file.trusted_proxies),
            limits: limits.clone(),
            dev: is_dev,
            ..HttpOptions::new(flags.listen.or(file.listen).unwrap_or_else(default_listen))
        };
        let mut auth = file.auth;
        auth.environment = environment;
        if let Some(provider) = provider_of(flags)? {
            auth.providers = vec![provider];
        }
        let log_lines = flags.log_lines.or(file.log_lines).unwrap_or_default();
        let data = flags.data.clone().or(file.data).unwrap_or_else(|| DATA.into());
        let log = flags.log.clone().or(file.log);
        let log_format = flags.log_format.or(file.log_format).unwrap_or_default();
        Ok(Self { environment, data, http, auth, log_lines, log, log_format, limits, sections })
    }

    /// Refuses what must not serve strangers: no identity provider, or the development issuer.
    ///
    /// # Errors
    /// A sentence that says how to add a provider.
    pub fn require_provider(&self) -> Result<(), ConfigError> {
        if self.auth.providers.is_empty() {
            return Err(ConfigError(format!(
                "no identity provider is configured, so nobody could call in {}.\n\
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

/// What `convoke help serve` says of the file.
pub(crate) fn file_help() -> String {
    use std::fmt::Write as _;
    let mut text = format!(
        "{FILE} takes the same settings, with underscores, and more providers and bounds:\n
    listen = \"0.0.0.0:3210\"
    cors_origins = [\"https://app.example.com\"]

    [[auth.providers]]
    issuer = \"https://id.example.com/\"
    audiences = [\"https://api.example.com\"]

    [limits]
    mutation_timeout = \"1s\"\n
[limits], with what holds unless told:\n"
    );
    let limits = Limits::reference();
    let width = limits.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    for (name, value, what) in limits {
        let _ = write!(text, "\n    {name:width$}  {:>10}  {what}", value.to_string());
    }
    text
}

impl From<Config> for crate::runtime::RuntimeOptions {
    fn from(config: Config) -> Self {
        let mut options = Self::in_folder(config.data);
        options.limits = config.limits;
        options.settings = config.sections;
        options
    }
}

fn given<T: Clone>(flags: &[T], file: Vec<T>) -> Vec<T> {
    if flags.is_empty() { file } else { flags.to_vec() }
}

fn read_file(named: Option<&Path>) -> Result<File, ConfigError> {
    let path = named.unwrap_or(Path::new(FILE));
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if named.is_none() && error.kind() == std::io::ErrorKind::NotFound => return Ok(File::default()),
        Err(error) => return Err(ConfigError(format!("{} cannot be read: {error}", path.display()))),
    };
    toml::from_str(&text).map_err(|error| ConfigError(format!("{}: {error}", path.display())))
}

/// The tables that belong to the application and the rates; anything else in the file is a mistake.
fn known_sections(rest: toml::Table) -> Result<toml::Table, ConfigError> {
    let mut known: Vec<&str> = inventory::iter::<SubmittedSection>().map(|section| section.name).collect();
    known.push("rates");
    for name in rest.keys() {
        if !known.contains(&name.as_str()) {
            known.sort_unstable();
            return Err(ConfigError(format!(
                "{FILE}: `{name}` is no setting; besides those of `convoke help serve` there are the tables {}",
                known.join(", ")
            )));
        }
    }
    Ok(rest)
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
            "--auth-issuer needs --auth-audience: a token for another service must not open this one".to_owned(),
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
