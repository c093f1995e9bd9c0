//! The envelope of a request for live results.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::codec::{Format, decode};
use convoke_core::error::{Code, Error, Result};
use convoke_core::limits::Limits;

/// One query of a request for live results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AskedQuery {
    /// The function's path.
    pub path: String,
    /// The arguments' JSON.
    pub args: String,
    /// Format of values.
    pub format: Format,
    /// The end of its pages, if the client received it before ([`QueryResult::journal`](super::QueryResult::journal)).
    pub journal: Option<String>,
}

impl AskedQuery {
    /// Reads `{"queries": [{"path": …, "args": {…}}, …]}`.
    ///
    /// # Errors
    /// `INVALID_JSON`, `INVALID_ENVELOPE`, `UNSUPPORTED_FORMAT`.
    pub fn read_all(body: &[u8], limits: &Limits) -> Result<Vec<Self>> {
        #[derive(Deserialize)]
        struct Wire<'a> {
            #[serde(borrow)]
            queries: Vec<Query<'a>>,
        }
        #[derive(Deserialize)]
        struct Query<'a> {
            path: String,
            #[serde(borrow)]
            args: &'a RawValue,
            format: Option<String>,
        }
        decode::strict(body, limits.json_depth_max)?;
        let wrong = |_| {
            let message = "The body must be an object such as {\"queries\": [{\"path\": \"a/b:c\", \"args\": {}}]}";
            Error::new(Code::InvalidEnvelope, message)
        };
        let wire: Wire<'_> = serde_json::from_slice(body).map_err(wrong)?;
        let max = limits.live_queries_per_request_max;
        if wire.queries.is_empty() || wire.queries.len() > max {
            return Err(Error::new(Code::InvalidEnvelope, format!("queries must have 1 to {max} members")));
        }
        let one = |query: Query<'_>| Self::of(query.path, query.args.get(), query.format.as_deref());
        wire.queries.into_iter().map(one).collect()
    }

    /// Reads one query from separate parts.
    ///
    /// # Errors
    /// As [`AskedQuery::read_all`].
    pub fn read(path: Option<String>, args: Option<&str>, limits: &Limits) -> Result<Self> {
        let path = path.ok_or_else(|| Error::new(Code::InvalidEnvelope, "path is missing"))?;
        let args = args.unwrap_or("{}");
        decode::strict(args.as_bytes(), limits.json_depth_max)?;
        Self::of(path, args, None)
    }

    fn of(path: String, args: &str, format: Option<&str>) -> Result<Self> {
        let args = decode::object_or_array(args)?.to_owned();
        Ok(Self { path, args, format: Format::named(format)?, journal: None })
    }
}
