//! What `/openapi.json` and `/docs` answer: bytes that are made once and served with their digest.

use std::io::{Read as _, Write as _};
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use hyper::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, ETAG, HeaderValue, VARY};
use sha2::{Digest as _, Sha256};

use super::document::{Document, Options};
use convoke_calls::interface::About;
use convoke_calls::registry::Registry;
use convoke_core::error::{Code, Error};
use convoke_http::{Incoming, Reply};

/// The documents of one server. Each is made when it is first asked for.
#[derive(Default)]
pub struct Pages {
    description: OnceLock<Page>,
    reference: [OnceLock<Page>; FILES.len()],
}

/// A file of the reference, as it lies in this program.
struct File {
    /// What follows `/docs/`.
    name: &'static str,
    content_type: &'static str,
    content: Content,
}

enum Content {
    Plain(&'static str),
    Gzip(&'static [u8]),
}

const FILES: [File; 5] = [
    File {
        name: "",
        content_type: "text/html; charset=utf-8",
        content: Content::Plain(include_str!("reference/index.html")),
    },
    File {
        name: "start.js",
        content_type: "text/javascript; charset=utf-8",
        content: Content::Plain(include_str!("reference/start.js")),
    },
    File {
        name: "page.css",
        content_type: "text/css; charset=utf-8",
        content: Content::Plain(include_str!("reference/page.css")),
    },
    File {
        name: "swagger-ui-bundle.js",
        content_type: "text/javascript; charset=utf-8",
        content: Content::Gzip(include_bytes!("reference/swagger-ui-bundle.js.gz")),
    },
    File {
        name: "swagger-ui.css",
        content_type: "text/css; charset=utf-8",
        content: Content::Gzip(include_bytes!("reference/swagger-ui.css.gz")),
    },
];

/// What the page of the reference may do: run its own files and call this server. Its icons are `data:` images, and
/// some of its elements carry their style themselves.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// A document that is ready to be sent.
struct Page {
    content_type: &'static str,
    plain: Bytes,
    gzip: Bytes,
    etag: HeaderValue,
}

impl Pages {
    /// `/openapi.json`: the description of the public functions.
    pub fn description<E>(&self, registry: &Registry, request: &Incoming<E>) -> Reply {
        let make = || {
            // The start looked at it, where a mistake stops it.
            let about = About::collect().unwrap_or(&About::NONE);
            let text = Document::of(registry, about, &Options::default()).to_json();
            Page::of("application/json", text.into())
        };
        self.description.get_or_init(make).reply(request)
    }

    /// `/docs` and what is below it.
    pub fn reference<E>(&self, name: &str, request: &Incoming<E>) -> Reply {
        let Some(place) = FILES.iter().position(|file| file.name == name) else {
            let error = Error::new(Code::RouteNotFound, "There is no such page.");
            let lines = convoke_calls::logs::LogLines::default();
            return Reply::json(error.code().status(), convoke_calls::call::envelope::failure(&error, &lines));
        };
        let file = &FILES[place];
        let mut reply = self.reference[place].get_or_init(|| file.page()).reply(request);
        if name.is_empty() {
            reply.fields.push((CONTENT_SECURITY_POLICY, PAGE_POLICY));
        }
        reply
    }
}

impl File {
    fn page(&self) -> Page {
        match self.content {
            Content::Plain(text) => Page::of(self.content_type, Bytes::from_static(text.as_bytes())),
            Content::Gzip(gzip) => {
                let mut plain = Vec::new();
                GzDecoder::new(gzip).read_to_end(&mut plain).expect("the build compressed it");
                Page::with(self.content_type, plain.into(), Bytes::from_static(gzip))
            }
        }
    }
}

impl Page {
    fn of(content_type: &'static str, plain: Bytes) -> Self {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        let gzip = gzip.write_all(&plain).and_then(|()| gzip.finish()).expect("memory takes what is written");
        Self::with(content_type, plain, gzip.into())
    }

    fn with(content_type: &'static str, plain: Bytes, gzip: Bytes) -> Self {
        // Weak, since it stands for the content in whichever coding.
        let digest = URL_SAFE_NO_PAD.encode(&Sha256::digest(&plain)[..16]);
        let etag = HeaderValue::try_from(format!("W/\"{digest}\"")).expect("base64 is fit for a field");
        Self { content_type, plain, gzip, etag }
    }

    fn reply<E>(&self, request: &Incoming<E>) -> Reply {
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

    /// `If-None-Match` compares weakly (RFC 9110 §13.1.2).
    fn is_among(&self, field: &HeaderValue) -> bool {
        let weak = |tag: &'_ str| tag.trim().trim_start_matches("W/").to_owned();
        let own = weak(self.etag.to_str().unwrap_or_default());
        field.to_str().is_ok_and(|field| field.trim() == "*" || field.split(',').any(|tag| weak(tag) == own))
    }
}
