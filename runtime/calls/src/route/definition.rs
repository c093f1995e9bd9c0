//! A route as data: the options of its attribute.

use std::time::Duration;

use schemars::{Schema, SchemaGenerator};

use super::unverified::Unverified;
use convoke_core::error::{Code, Error, Result};

/// The options of `#[route]`.
pub struct RouteDef {
    /// The method, in capitals. A route for `GET` serves `HEAD` too.
    pub method: &'static str,
    /// The pattern of the path.
    pub path: &'static str,
    /// The check of the signature, which runs before anything else.
    pub verify: Option<Verify>,
    /// The place of the sender's event id.
    pub once: Option<Once>,
    /// Maximum bytes of a body. None: the limit of all requests.
    pub body_bytes_max: Option<usize>,
    /// Timeout of an action. None: the limit of all actions.
    pub timeout: Option<Duration>,
    /// True if pages of allowed origins may send requests.
    pub cors: bool,
    /// The parameters of the function after its context.
    pub parameters: &'static [Parameter],
}

/// The check of a request's signature. A `secret` is the name of a secret of the installation; its text has one key per
/// line, so that an old and a new key are accepted while the sender changes its key.
#[derive(Clone, Copy)]
pub enum Verify {
    /// Standard Webhooks.
    StandardWebhooks {
        /// Name of the secret.
        secret: &'static str,
    },
    /// Stripe.
    Stripe {
        /// Name of the secret.
        secret: &'static str,
    },
    /// GitHub.
    Github {
        /// Name of the secret.
        secret: &'static str,
    },
    /// HMAC-SHA256 of the body, in a header.
    HmacSha256 {
        /// Name of the header, in lower case.
        header: &'static str,
        /// Name of the secret.
        secret: &'static str,
    },
    /// A check of the author. It may use the `Authorization` field, so the request has no caller.
    Own(fn(&Unverified<'_>) -> Result<()>),
}

impl Verify {
    /// Returns the name of the secret that must be set.
    pub fn secret(&self) -> Option<&'static str> {
        match self {
            Verify::StandardWebhooks { secret }
            | Verify::Stripe { secret }
            | Verify::Github { secret }
            | Verify::HmacSha256 { secret, .. } => Some(secret),
            Verify::Own(_) => None,
        }
    }
}

/// The place of the sender's id of an event.
#[derive(Clone, Copy, Debug)]
pub enum Once {
    /// A header, in lower case.
    Header(&'static str),
    /// A JSON pointer (RFC 6901) into the body.
    Json(&'static str),
}

/// A parameter of a route's function.
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// The part of the request that it reads.
    pub source: Source,
    /// The JSON schema of its value.
    pub schema: fn(&mut SchemaGenerator) -> Schema,
}

/// The part of a request that an extractor reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The body as JSON.
    Json,
    /// A part of the path.
    Path,
    /// The query.
    Query,
    /// The body as a form.
    Form,
    /// All headers.
    Headers,
    /// The body as bytes.
    Bytes,
    /// The whole request.
    Request,
}

impl Source {
    /// True if the extractor reads the body.
    pub fn is_body(self) -> bool {
        matches!(self, Source::Json | Source::Form | Source::Bytes | Source::Request)
    }
}

impl RouteDef {
    /// Returns the names of the parameters in the path, in their order.
    pub fn path_parameters(&self) -> impl Iterator<Item = &'static str> {
        let braces = self.path.split('{').skip(1).filter_map(|part| part.split('}').next());
        braces.map(|name| name.trim_start_matches('*'))
    }

    /// Returns the path with numbers in place of names: two methods of one path may name its parameters differently.
    pub fn pattern(&self) -> String {
        let mut parts = self.path.split('{');
        let first = parts.next().unwrap_or_default().to_owned();
        parts.enumerate().fold(first, |pattern, (number, part)| {
            let (name, rest) = part.split_once('}').unwrap_or((part, ""));
            let star = if name.starts_with('*') { "*" } else { "" };
            format!("{pattern}{{{star}p{number}}}{rest}")
        })
    }

    /// Returns the HTTP status of the response to an error. On a route with `verify`, an error that is not of the
    /// function itself, and one that passes, never has a status of 2xx: the sender of an event then sends it again.
    pub fn status_of(&self, error: &Error) -> u16 {
        let status = error.route_status();
        match error.code() {
            _ if self.verify.is_none() || status != 200 => status,
            Code::InvalidArgument => 400,
            Code::Unauthenticated => 401,
            Code::RateLimited => 429,
            Code::ProviderError | Code::Timeout | Code::Unavailable => 503,
            _ => status,
        }
    }

    /// True if a request may have a body.
    pub fn has_body(&self) -> bool {
        self.verify.is_some()
            || matches!(self.once, Some(Once::Json(_)))
            || self.parameters.iter().any(|parameter| parameter.source.is_body())
    }

    /// True if the route reads headers.
    pub fn has_headers(&self) -> bool {
        self.has_body()
            || self.once.is_some()
            || self.parameters.iter().any(|parameter| parameter.source == Source::Headers)
    }
}

/// Shows the method and the path.
impl std::fmt::Display for RouteDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.path)
    }
}
