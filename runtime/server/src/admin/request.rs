//! The request of a handler: path parameters, query parameters and a JSON body.

use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use serde::de::DeserializeOwned;

use convoke_calls::codec::decode;
use convoke_core::error::{Error, Result};
use convoke_core::id::{Id, Named};
use convoke_core::identity::DeployKeyCaller;
use convoke_http::{Incoming, query_member, query_members};
use convoke_store::Cursor;

/// An admin request whose caller has the route's scope.
#[derive(Clone, Debug)]
pub struct AdminRequest {
    /// The caller: a deploy key or the operator.
    pub caller: Arc<DeployKeyCaller>,
    /// The request id in the log and in the record of key uses.
    pub request_id: Arc<str>,
    /// The body; empty if there is none.
    pub body: Bytes,
    /// The values of the first and the second path parameter.
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

    /// Returns the first path parameter.
    pub fn part(&self) -> &str {
        &self.parts[0]
    }

    /// Parses the first path parameter as an id.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: it is no id of this table.
    pub fn id<T: Named>(&self) -> Result<Id<T>> {
        let given = self.part();
        given.parse().map_err(|error| Error::invalid_argument("id", format!("id: {error} (got {given:?})")))
    }

    /// Returns the second path parameter.
    pub fn second_part(&self) -> &str {
        &self.parts[1]
    }

    /// Returns the first query parameter `name`, decoded; `None` if it is missing or empty.
    pub fn query(&self, name: &str) -> Option<String> {
        query_member(self.query.as_deref().unwrap_or_default(), name)
    }

    /// Returns all non-empty query parameters `name`, decoded.
    pub fn query_all(&self, name: &str) -> Vec<String> {
        query_members(self.query.as_deref().unwrap_or_default(), name)
    }

    /// Parses the query parameter `name`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: the parameter is invalid.
    pub fn query_as<T: FromStr<Err: std::fmt::Display>>(&self, name: &str) -> Result<Option<T>> {
        let read = |text: String| {
            text.parse().map_err(|error| Error::invalid_argument(name, format!("{name}: {error} (got {text:?})")))
        };
        self.query(name).map(read).transpose()
    }

    /// Returns the query parameter `limit`: the number of items of a page, 100 by default and 500 at most.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`: it is no number.
    pub fn limit(&self) -> Result<usize> {
        Ok(self.query_as::<usize>("limit")?.unwrap_or(100).clamp(1, 500))
    }

    /// Returns the query parameter `cursor`, from an earlier page of the list.
    ///
    /// # Errors
    /// None here: the store rejects a cursor of another list.
    pub fn cursor(&self) -> Result<Option<Cursor>> {
        let read = |text: String| serde_json::from_value(text.into()).map_err(Error::internal);
        self.query("cursor").map(read).transpose()
    }

    /// Parses the body as a JSON object. An empty body counts as `{}`.
    ///
    /// # Errors
    /// `INVALID_JSON`, also for a duplicate name or trailing text; `INVALID_ARGUMENT`: a missing, unknown or invalid
    /// member.
    pub fn args<T: DeserializeOwned>(&self) -> Result<T> {
        let body = if self.body.is_empty() { &b"{}"[..] } else { &self.body };
        decode::plain(decode::strict(body, usize::MAX)?)
    }
}

#[cfg(test)]
mod tests {
    use convoke_core::error::Code;

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
    fn query_parameters_are_decoded_and_parsed() {
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
    fn invalid_member_of_the_body_is_named() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Args {
            name: Option<String>,
        }
        assert_eq!(of("", "").args::<Args>().unwrap().name, None);
        assert_eq!(of("", r#"{"name":"ci"}"#).args::<Args>().unwrap().name.as_deref(), Some("ci"));
        let error = of("", r#"{"name":7}"#).args::<Args>().unwrap_err();
        assert_eq!(error.message(), "name: must be a string (got 7)");
        assert_eq!((error.code(), error.field()), (Code::InvalidArgument, Some("name")));
        let error = of("", "[]").args::<Args>().unwrap_err();
        assert!(!error.message().contains("Args"), "{error}");
        for no_object_alone in ["{", r#"{"name":"a"} {}"#, r#"{"name":"a","name":"a"}"#] {
            assert_eq!(of("", no_object_alone).args::<Args>().unwrap_err().code(), Code::InvalidJson);
        }
    }
}
