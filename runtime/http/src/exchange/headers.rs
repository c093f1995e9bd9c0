//! The header fields that the listener reads, found in one pass over all fields.
//!
//! A request has about ten fields, and the listener reads nearly as many. One pass that compares names costs less than
//! ten lookups, each of which hashes a name.

use hyper::HeaderMap;
use hyper::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, FORWARDED, HOST, HeaderName, HeaderValue, ORIGIN, VIA,
};

use super::request_id::X_REQUEST_ID;

/// The identity that the operator acts as, on the control socket.
const X_CONVOKE_ACT_AS: HeaderName = HeaderName::from_static("x-convoke-act-as");

/// The field in which a proxy names the client.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// The key that identifies a repeated mutation.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The fields of one request.
#[derive(Default)]
pub(crate) struct Headers<'a> {
    pub(crate) authorization: Field<'a>,
    pub(crate) content_type: Field<'a>,
    pub(crate) content_encoding: Field<'a>,
    pub(crate) host: Field<'a>,
    pub(crate) origin: Field<'a>,
    pub(crate) request_id: Field<'a>,
    pub(crate) trace_parent: Field<'a>,
    pub(crate) act_as: Field<'a>,
    pub(crate) idempotency_key: Field<'a>,
    /// True if the request has a field that proxies add.
    pub(crate) is_forwarded: bool,
}

/// A field that a request may have once.
#[derive(Clone, Copy, Default)]
pub(crate) enum Field<'a> {
    #[default]
    Absent,
    Once(&'a HeaderValue),
    Repeated,
}

impl<'a> Headers<'a> {
    pub(crate) fn of(headers: &'a HeaderMap) -> Self {
        let mut fields = Self::default();
        for (name, value) in headers {
            if let Some(field) = fields.named(name) {
                *field = match field {
                    Field::Absent => Field::Once(value),
                    Field::Once(_) | Field::Repeated => Field::Repeated,
                };
            } else if *name == FORWARDED
                || *name == VIA
                || name.as_str().starts_with("x-forwarded-")
                || *name == X_REAL_IP
            {
                fields.is_forwarded = true;
            }
        }
        fields
    }

    fn named(&mut self, name: &HeaderName) -> Option<&mut Field<'a>> {
        Some(match *name {
            AUTHORIZATION => &mut self.authorization,
            CONTENT_TYPE => &mut self.content_type,
            CONTENT_ENCODING => &mut self.content_encoding,
            HOST => &mut self.host,
            ORIGIN => &mut self.origin,
            _ if *name == X_REQUEST_ID => &mut self.request_id,
            _ if *name == TRACEPARENT => &mut self.trace_parent,
            _ if *name == X_CONVOKE_ACT_AS => &mut self.act_as,
            _ if *name == IDEMPOTENCY_KEY => &mut self.idempotency_key,
            _ => return None,
        })
    }
}

impl<'a> Field<'a> {
    /// The value, if the request has the field exactly once.
    pub(crate) fn once(self) -> Option<&'a HeaderValue> {
        match self {
            Field::Once(value) => Some(value),
            Field::Absent | Field::Repeated => None,
        }
    }

    pub(crate) fn is_repeated(self) -> bool {
        matches!(self, Field::Repeated)
    }
}
