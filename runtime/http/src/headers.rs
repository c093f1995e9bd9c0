//! The header fields that the listener itself reads, found in one walk over all of them.
//!
//! A request has about ten fields and the listener asks for nearly as many: a walk that compares names costs less than
//! as many look-ups, each of which hashes a name.

use hyper::HeaderMap;
use hyper::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, FORWARDED, HOST, HeaderName, HeaderValue, ORIGIN, VIA,
};

use super::request_id::X_REQUEST_ID;
use super::trace::TRACEPARENT;

/// Whom the operator acts as, by the control socket.
const X_CONVOKE_ACT_AS: HeaderName = HeaderName::from_static("x-convoke-act-as");

/// In which a proxy that forwards for one client names it.
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// By which a mutation is known that is sent again.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// The fields of one request.
#[derive(Default)]
pub(super) struct Headers<'a> {
    pub(super) authorization: Field<'a>,
    pub(super) content_type: Field<'a>,
    pub(super) content_encoding: Field<'a>,
    pub(super) host: Field<'a>,
    pub(super) origin: Field<'a>,
    pub(super) request_id: Field<'a>,
    pub(super) trace_parent: Field<'a>,
    pub(super) act_as: Field<'a>,
    pub(super) idempotency_key: Field<'a>,
    /// A proxy says that it forwards, by any of the fields that proxies add.
    pub(super) is_forwarded: bool,
}

/// One field that should stand once.
#[derive(Clone, Copy, Default)]
pub(super) enum Field<'a> {
    #[default]
    Absent,
    Once(&'a HeaderValue),
    Repeated,
}

impl<'a> Headers<'a> {
    pub(super) fn of(headers: &'a HeaderMap) -> Self {
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
    /// Its value, if it stands once.
    pub(super) fn once(self) -> Option<&'a HeaderValue> {
        match self {
            Field::Once(value) => Some(value),
            Field::Absent | Field::Repeated => None,
        }
    }

    pub(super) fn is_repeated(self) -> bool {
        matches!(self, Field::Repeated)
    }
}
