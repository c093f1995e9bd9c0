//! What a handler is asked: parts of the path, members of the query, a JSON body.

use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use convoke_calls::codec::decode;
use convoke_core::error::{Code, Error, Result};
use convoke_core::identity::DeployKeyCaller;
use convoke_http::{Incoming, query_member, query_members};
use convoke_store::Cursor;

/// A request whose caller has the route's scope.
#[derive(Clone, Debug)]
pub struct AdminRequest {
    /// Who asks: a deploy key, or the operator.
    pub caller: Arc<DeployKeyCaller>,
    /// The id under which the log, and the record of uses, speak of it.
    pub request_id: Arc<str>,
    /// The whole body; empty if there is none.
    pub body: Bytes,
    /// What stood in the path for the route's first `{…}`, and for its second.
    parts: [String; 2],
    query: Option<String>,
}

impl AdminRequest {
    pub(crate) fn new<E>(caller: &Arc<DeployKeyCaller>, incoming: &Incoming<E>) -> Self {
        Self {
            caller: caller.clone(),
            request_id: incoming.request_id.clone(),
            body: incoming.body.clone(),
            parts: [incoming.param(0).to_owned(), incoming.param(1).to_owned()],
            query: incoming.uri.query().map(str::to_owned),
        }
    }

    /// What stood in the path in place of the route's first `{…}`.
    pub fn part(&self) -> &str {
        &self.parts[0]
    }

    /// What stood in the path in place of the route's second `{…}`.
    pub fn second_part(&self) -> &str {
        &self.parts[1]
    }

    /// The member `name` of the query, decoded; the first if there are several, none if it is empty.
    pub fn query(&self, name: &str) -> Option<String> {
        query_member(self.query.as_deref().unwrap_or_default(), name)
    }

    /// Every member `name` of the query, decoded, without the empty ones.
    pub fn query_all(&self, name: &str) -> Vec<String> {
        query_members(self.query.as_deref().unwrap_or_default(), name)
    }

    /// The member `name` of the query as what the handler needs.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with what the type says of it.
    pub fn query_as<T: FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<Option<T>> {
        let read = |text: String| {
            text.parse().map_err(|error| Error::invalid_argument(name, format!("{name}: {error} (got {text:?})")))
        };
        self.query(name).map(read).transpose()
    }

    /// The member `cursor` of the query, as an earlier part of the list gave it.
    ///
    /// # Errors
    /// None here: a cursor of another list is refused where it is used.
    pub fn cursor(&self) -> Result<Option<Cursor>> {
        let read = |text: String| serde_json::from_value(text.into()).map_err(Error::internal);
        self.query("cursor").map(read).transpose()
    }

    /// The body as a JSON object; none at all is `{}`.
    ///
    /// # Errors
    /// `INVALID_JSON`, also for a name that stands twice or for what follows the object; `INVALID_ARGUMENT` for a member that is missing, unknown or does not fit.
    pub fn args<T: DeserializeOwned>(&self) -> Result<T> {
        let body = if self.body.is_empty() { &b"{}"[..] } else { &self.body };
        decode::strict(body, usize::MAX)?;
        let mut reader = serde_json::Deserializer::from_slice(body);
        serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            match error.inner().classify() {
                serde_json::error::Category::Data => Error::invalid_argument(path, error.inner().to_string()),
                serde_json::error::Category::Io
                | serde_json::error::Category::Syntax
                | serde_json::error::Category::Eof => Error::new(Code::InvalidJson, error.inner().to_string()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(query: &str, body: &'static str) -> AdminRequest {
        AdminRequest {
            caller: super::super::operator::key(None),
            request_id: "r".into(),
            body: Bytes::from_static(body.as_bytes()),
            parts: ["a".to_owned(), String::new()],
            query: Some(query.to_owned()),
        }
    }

    #[test]
    fn members_of_the_query_are_decoded_and_read_as_what_is_needed() {
        let request = of("state=failed&name=a%20b+c&limit=7&limit=8&empty=&bad=x", "");
        assert_eq!(request.query("state").as_deref(), Some("failed"));
        assert_eq!(request.query("name").as_deref(), Some("a b c"));
        assert_eq!(request.query_as::<u32>("limit").unwrap(), Some(7));
        assert_eq!(request.query("empty"), None);
        assert_eq!(request.query_all("limit"), ["7", "8"]);
        assert_eq!(request.query("absent"), None);
        let error = request.query_as::<u32>("bad").unwrap_err();
        assert_eq!((error.code(), error.field()), (Code::InvalidArgument, Some("bad")));
        assert_eq!(request.part(), "a");
    }

    #[test]
    fn a_body_is_an_object_and_what_does_not_fit_is_named() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Args {
            name: Option<String>,
        }
        assert_eq!(of("", "").args::<Args>().unwrap().name, None);
        assert_eq!(of("", r#"{"name":"ci"}"#).args::<Args>().unwrap().name.as_deref(), Some("ci"));
        let error = of("", r#"{"name":7}"#).args::<Args>().unwrap_err();
        assert_eq!((error.code(), error.field()), (Code::InvalidArgument, Some("name")));
        for no_object_alone in ["{", r#"{"name":"a"} {}"#, r#"{"name":"a","name":"a"}"#] {
            assert_eq!(of("", no_object_alone).args::<Args>().unwrap_err().code(), Code::InvalidJson);
        }
    }
}
