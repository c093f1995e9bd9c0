//! The sources of settings: flags, their environment variables, and the file.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use http::Uri;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use crate::auth::Environment;
use crate::auth::provider::AuthConfig;
use convoke_calls::call::envelope::LogLinesOn;

/// Returns a parser of [`LogLinesOn`] with help texts.
fn log_lines() -> impl TypedValueParser<Value = LogLinesOn> {
    let words = [PossibleValue::new("error").help("Errors only"), PossibleValue::new("always").help("Successes too")];
    PossibleValuesParser::new(words).map(|word| match &*word {
        "always" => LogLinesOn::Always,
        _ => LogLinesOn::Error,
    })
}

/// Reads the address under which clients reach the server, and removes the slash at its end.
fn public_url(text: &str) -> Result<String, String> {
    let hint = "write a scheme and a host, for example https://api.example.com";
    let uri: Uri = text.parse().map_err(|error| format!("{error}; {hint}"))?;
    let has_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
    let is_origin = has_scheme && uri.path() == "/" && uri.query().is_none() && !text.contains(['#', '@']);
    let Some(authority) = uri.authority().filter(|_| is_origin) else {
        return Err(format!("`{text}` is not the address of a server; {hint}"));
    };
    Ok(format!("{}://{authority}", uri.scheme_str().unwrap_or_default()))
}

fn read_public_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| public_url(&text).map_err(de::Error::custom)).transpose()
}

/// The flags that `serve` and `dev` share. The environment (`CONVOKE_…`) and the file can set each of them too.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Flags {
    /// Settings file [default: convoke.toml, if it exists]
    #[arg(long, value_name = "FILE", env = "CONVOKE_CONFIG", global = true)]
    pub config: Option<PathBuf>,
    /// Folder of the database, keys and secrets [default: ./data]
    #[arg(long, value_name = "DIR", env = "CONVOKE_DATA", global = true)]
    pub data: Option<PathBuf>,
    /// Address of an external database, for several nodes: postgres://user@host/database. Its password is the secret
    /// STORE_PASSWORD. Without it, the database is a file in the data folder
    #[arg(long, value_name = "URL", env = "CONVOKE_STORE", global = true)]
    pub store: Option<String>,
    /// Address to serve calls on; port 0 picks a free one [default: 127.0.0.1:3210]
    #[arg(long, value_name = "ADDR", env = "CONVOKE_LISTEN")]
    pub listen: Option<SocketAddr>,
    /// Separate address to serve /metrics, /healthz and /readyz on
    #[arg(long, value_name = "ADDR", env = "CONVOKE_OPS_LISTEN")]
    pub ops_listen: Option<SocketAddr>,
    /// Address under which clients reach this server, with scheme and without path. Links, upload addresses and callback
    /// URLs begin with it. Set it behind a proxy. Without it, they begin with the address of the listener
    #[arg(long, value_name = "URL", env = "CONVOKE_PUBLIC_URL", value_parser = public_url)]
    pub public_url: Option<String>,
    /// Serve the console on the main listener too, not only on the ops listener [default: false; dev: true]
    #[arg(long, value_name = "BOOL", env = "CONVOKE_CONSOLE", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub console: Option<bool>,
    /// Additional host name of the console in browsers, besides the server's own addresses; may be repeated
    #[arg(long, value_name = "HOST", env = "CONVOKE_CONSOLE_HOST", value_delimiter = ',')]
    pub console_host: Vec<String>,
    /// Calls whose response includes their log lines [default: error; dev: always]
    #[arg(long, value_name = "WHEN", env = "CONVOKE_LOG_LINES", value_parser = log_lines())]
    pub log_lines: Option<LogLinesOn>,
    /// Folder of a static site to serve at `/`, after all routes
    #[arg(long = "site", value_name = "DIR", env = "CONVOKE_SITE")]
    pub site_dir: Option<PathBuf>,
    /// Compress large responses of text by Accept-Encoding [default: true]
    #[arg(long, value_name = "BOOL", env = "CONVOKE_COMPRESSION", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub compression: Option<bool>,
    /// Issuer of the accepted tokens, exactly as in the tokens
    #[arg(long, value_name = "URL", env = "CONVOKE_AUTH_ISSUER")]
    pub auth_issuer: Option<String>,
    /// Audience of the accepted tokens; may be repeated
    #[arg(long, value_name = "TEXT", env = "CONVOKE_AUTH_AUDIENCE", value_delimiter = ',')]
    pub auth_audience: Vec<String>,
    /// Keys of the issuer [default: found by OpenID Connect discovery]
    #[arg(long, value_name = "URL|FILE", env = "CONVOKE_AUTH_JWKS")]
    pub auth_jwks: Option<String>,
    /// Origin whose pages may call functions; may be repeated
    #[arg(long, value_name = "ORIGIN", env = "CONVOKE_CORS_ORIGIN", value_delimiter = ',')]
    pub cors_origin: Vec<String>,
    /// Network of trusted proxies, whose X-Forwarded-For is used; may be repeated
    #[arg(long, value_name = "CIDR", env = "CONVOKE_TRUSTED_PROXY", value_delimiter = ',')]
    pub trusted_proxy: Vec<ipnet::IpNet>,
    /// Certificate chain (PEM); enables TLS together with --tls-key
    #[arg(long, value_name = "FILE", env = "CONVOKE_TLS_CERT", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", env = "CONVOKE_TLS_KEY", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Filter of the log: `info` logs one line per call. By default `info` for a server and `warn` for other commands
    #[arg(long, value_name = "FILTER", env = "CONVOKE_LOG")]
    pub log: Option<String>,
    /// Format of the log [default: text]
    #[arg(long, value_name = "FORMAT", env = "CONVOKE_LOG_FORMAT")]
    pub log_format: Option<LogFormat>,
}

/// The format of the operator's log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// The flag of the deployment.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct EnvironmentFlag {
    /// Deployment; a deploy key is valid in only one [default: production]
    #[arg(long, value_name = "NAME", env = "CONVOKE_ENV")]
    pub env: Option<Environment>,
}

/// `convoke.toml`. The flags of the same names have the descriptions of its settings.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct File {
    pub(crate) data: Option<PathBuf>,
    #[schemars(example = "postgres://convoke@db.example.com/convoke")]
    pub(crate) store: Option<String>,
    #[serde(alias = "env")]
    #[schemars(with = "Option<String>")]
    pub(crate) environment: Option<Environment>,
    #[schemars(with = "Option<String>")]
    pub(crate) listen: Option<SocketAddr>,
    #[schemars(with = "Option<String>", example = "127.0.0.1:3211")]
    pub(crate) ops_listen: Option<SocketAddr>,
    #[schemars(with = "Option<String>", example = "https://api.example.com")]
    #[serde(deserialize_with = "read_public_url")]
    pub(crate) public_url: Option<String>,
    pub(crate) console: Option<bool>,
    #[serde(alias = "console_host")]
    #[schemars(example = ["console.example.com"])]
    pub(crate) console_hosts: Vec<String>,
    #[schemars(with = "Option<String>")]
    pub(crate) log_lines: Option<LogLinesOn>,
    #[serde(alias = "cors_origin")]
    #[schemars(example = ["https://app.example.com"])]
    pub(crate) cors_origins: Vec<String>,
    #[serde(alias = "trusted_proxy")]
    #[schemars(with = "Vec<String>", example = ["10.0.0.0/8"])]
    pub(crate) trusted_proxies: Vec<ipnet::IpNet>,
    #[schemars(example = "warn,convoke=debug")]
    pub(crate) log: Option<String>,
    #[schemars(with = "Option<String>")]
    pub(crate) log_format: Option<LogFormat>,
    pub(crate) compression: Option<bool>,
    pub(crate) auth: AuthConfig,
    pub(crate) tls: Tls,
    pub(crate) site: SiteFiles,
    pub(crate) dev: Dev,
    #[schemars(skip)]
    pub(crate) limits: toml::Table,
    #[serde(flatten)]
    #[schemars(skip)]
    pub(crate) rest: toml::Table,
}

/// TLS. If both files are set, the listener accepts only TLS. The files are read again when they change.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tls {
    #[schemars(example = "/etc/convoke/tls/fullchain.pem")]
    pub(crate) cert: Option<PathBuf>,
    #[schemars(example = "/etc/convoke/tls/privkey.pem")]
    pub(crate) key: Option<PathBuf>,
}

/// A static site: the files of a folder, at the paths that no route has.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct SiteFiles {
    #[schemars(example = "./dist")]
    pub(crate) dir: Option<PathBuf>,
    /// True if an unknown path without a file extension has the page `index.html`: a single-page application.
    pub(crate) spa: bool,
}

/// Development with `convoke dev`. Other commands ignore it.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Dev {
    /// Typed clients that `convoke dev` writes when the interface of the program changes. Each names one file.
    pub(crate) clients: Vec<ClientFile>,
}

/// Typed clients, each with its file.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClientFile {
    /// File of a TypeScript client, as `convoke codegen typescript --out` writes it.
    #[schemars(example = "web/src/convoke.ts")]
    pub typescript: Option<PathBuf>,
    /// File of typed references for npm's `convex`, as `convoke codegen convex --out` writes it.
    #[schemars(example = "web/src/api.ts")]
    pub convex: Option<PathBuf>,
    /// File of a Rust client, as `convoke codegen rust --out` writes it.
    #[schemars(example = "client/src/convoke.rs")]
    pub rust: Option<PathBuf>,
}
