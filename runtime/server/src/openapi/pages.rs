//! The responses of `/openapi.json`, `/llms.txt` and `/docs`.

use std::sync::OnceLock;

use hyper::header::{CONTENT_SECURITY_POLICY, HeaderValue};

use super::document::{Document, Options};
use super::llms;
use crate::page::{self, Content, File, Page};
use convoke_calls::about::About;
use convoke_calls::registry::Registry;
use convoke_http::{Incoming, Reply};

/// The documents of a server. Each is built at the first request.
#[derive(Default)]
pub struct Pages {
    description: OnceLock<Page>,
    for_models: OnceLock<Page>,
    reference: [OnceLock<Page>; FILES.len()],
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

/// The policy of the reference page: it may load its own files and call this server. Its icons are `data:` images.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

impl Pages {
    /// Serves `/openapi.json`: the document of the public functions.
    pub fn description<E>(&self, registry: &Registry, request: &Incoming<E>) -> Reply {
        let make = || {
            // The start of the server has checked it and reported mistakes.
            let about = About::collect().unwrap_or(&About::NONE);
            let text = Document::of(registry, about, &Options::default()).to_json();
            Page::of("application/json", text.into())
        };
        self.description.get_or_init(make).reply(request)
    }

    /// Serves `/llms.txt`: the list of the public functions.
    pub fn for_models<E>(&self, registry: &Registry, request: &Incoming<E>) -> Reply {
        let make = || {
            let about = About::collect().unwrap_or(&About::NONE);
            Page::of("text/plain; charset=utf-8", llms::text(registry, about).into())
        };
        self.for_models.get_or_init(make).reply(request)
    }

    /// Serves `/docs` and its files.
    pub fn reference<E>(&self, name: &str, request: &Incoming<E>) -> Reply {
        let Some(place) = FILES.iter().position(|file| file.name == name) else {
            return page::none();
        };
        let file = &FILES[place];
        let mut reply = self.reference[place].get_or_init(|| file.page()).reply(request);
        if name.is_empty() {
            reply.fields.push((CONTENT_SECURITY_POLICY, PAGE_POLICY));
        }
        reply
    }
}
