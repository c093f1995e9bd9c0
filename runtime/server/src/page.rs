//! Documents that are the same for all callers: built once and served with an entity tag.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use hyper::header::{CONTENT_ENCODING, ETAG, HeaderValue, LOCATION, VARY};
use sha2::{Digest as _, Sha256};

use convoke_calls::call::envelope;
use convoke_calls::logs::LogLines;
use convoke_core::error::{Code, Error};
use convoke_http::{Incoming, Reply};

/// A file that is embedded in the program.
pub(crate) struct File {
    /// The path below the path of the pages.
    pub name: &'static str,
    pub content_type: &'static str,
    pub content: Content,
}

pub(crate) enum Content {
    Plain(&'static str),
    Gzip(&'static [u8]),
}

/// A document in both codings, with its entity tag.
pub(crate) struct Page {
    content_type: &'static str,
    plain: Bytes,
    gzip: Bytes,
    etag: HeaderValue,
}

impl File {
    /// Decompresses or compresses the file into a page.
    pub(crate) fn page(&self) -> Page {
        match self.content {
            Content::Plain(text) => Page::of(self.content_type, Bytes::from_static(text.as_bytes())),
            Content::Gzip(gzip) => {
                let mut plain = Vec::new();
                GzDecoder::new(gzip).read_to_end(&mut plain).expect("the file is valid gzip");
                Page::with(self.content_type, plain.into(), Bytes::from_static(gzip))
            }
        }
    }
}

impl Page {
    pub(crate) fn of(content_type: &'static str, plain: Bytes) -> Self {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        let gzip = gzip.write_all(&plain).and_then(|()| gzip.finish()).expect("writes to memory do not fail");
        Self::with(content_type, plain, gzip.into())
    }

    fn with(content_type: &'static str, plain: Bytes, gzip: Bytes) -> Self {
        // The tag is weak, because it is the same for both codings.
        let digest = URL_SAFE_NO_PAD.encode(&Sha256::digest(&plain)[..16]);
        let etag = HeaderValue::try_from(format!("W/\"{digest}\"")).expect("base64 is a valid field value");
        Self { content_type, plain, gzip, etag }
    }

    pub(crate) fn reply<E>(&self, request: &Incoming<E>) -> Reply {
        let mut fields = vec![(ETAG, self.etag.clone()), (VARY, const { HeaderValue::from_static("accept-encoding") })];
        if request.if_none_match.as_ref().is_some_and(|field| self.is_among(field)) {
            return Reply { fields, ..Reply::json(304, Bytes::new()) };
        }
        let body = match request.accepts_gzip {
            true => {
                fields.push((CONTENT_ENCODING, const { HeaderValue::from_static("gzip") }));
                self.gzip.clone()
            }
            false => self.plain.clone(),
        };
        Reply { content_type: self.content_type, fields, ..Reply::json(200, body) }
    }

    /// Returns true if the tag matches the field. `If-None-Match` compares weakly (RFC 9110 §13.1.2).
    fn is_among(&self, field: &HeaderValue) -> bool {
        let weak = |tag: &'_ str| tag.trim().trim_start_matches("W/").to_owned();
        let own = weak(self.etag.to_str().unwrap_or_default());
        field.to_str().is_ok_and(|field| field.trim() == "*" || field.split(',').any(|tag| weak(tag) == own))
    }
}

/// Redirects to another page.
pub(crate) fn found(location: HeaderValue) -> Reply {
    Reply { fields: vec![(LOCATION, location)], ..Reply::json(302, Bytes::new()) }
}

/// Returns the response for an unknown page.
pub(crate) fn none() -> Reply {
    failed(&Error::new(Code::RouteNotFound, "There is no such page."))
}

/// Returns the response for a page that cannot be served.
pub(crate) fn failed(error: &Error) -> Reply {
    Reply::json(error.code().status(), envelope::failure(error, &LogLines::default()))
}
