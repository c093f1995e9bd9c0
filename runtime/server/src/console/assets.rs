//! The files of the console, embedded in the program.

use std::sync::OnceLock;

use hyper::header::{CONTENT_SECURITY_POLICY, HeaderName, HeaderValue};

use crate::page::{self, Content, File, Page};
use convoke_http::{Incoming, Reply};

/// The files, each compressed at the first request.
pub struct Assets {
    pages: [OnceLock<Page>; FILES.len()],
}

impl Default for Assets {
    fn default() -> Self {
        Self { pages: std::array::from_fn(|_| OnceLock::new()) }
    }
}

const HTML: &str = "text/html; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";

macro_rules! files {
    ($($name:literal $content_type:ident $content:ident $include:ident;)*) => {
        [$(File {
            name: $name,
            content_type: $content_type,
            content: Content::$content($include!(concat!("app/", $name))),
        },)*]
    };
}

/// The page is first: it is served for every path that is not a file.
static FILES: [File; 33] = files! {
    "index.html" HTML Plain include_str;
    "app.css" CSS Plain include_str;
    "main.js" JS Plain include_str;
    "api.js" JS Plain include_str;
    "router.js" JS Plain include_str;
    "ui.js" JS Plain include_str;
    "text.js" JS Plain include_str;
    "chart.js" JS Plain include_str;
    "form.js" JS Plain include_str;
    "value.js" JS Plain include_str;
    "login.js" JS Plain include_str;
    "work.js" JS Plain include_str;
    "node.js" JS Plain include_str;
    "palette.js" JS Plain include_str;
    "pages/overview.js" JS Plain include_str;
    "pages/functions.js" JS Plain include_str;
    "pages/calls.js" JS Plain include_str;
    "pages/data.js" JS Plain include_str;
    "pages/conditions.js" JS Plain include_str;
    "pages/jobs.js" JS Plain include_str;
    "pages/workflows.js" JS Plain include_str;
    "pages/webhooks.js" JS Plain include_str;
    "pages/live.js" JS Plain include_str;
    "pages/schema.js" JS Plain include_str;
    "pages/keys.js" JS Plain include_str;
    "pages/backups.js" JS Plain include_str;
    "pages/secrets.js" JS Plain include_str;
    "pages/settings.js" JS Plain include_str;
    "vendor/preact.js" JS Plain include_str;
    "vendor/hooks.js" JS Plain include_str;
    "vendor/htm.js" JS Plain include_str;
    "vendor/uPlot.js.gz" JS Gzip include_bytes;
    "vendor/uPlot.css" CSS Plain include_str;
};

/// The prefix of the paths of files.
const FILES_AT: &str = "assets/";
/// The suffix of embedded compressed files. Their paths do not have it.
const COMPRESSED: &str = ".gz";

/// The policy of the page: it may load its own files and call this server. Inline scripts and styles are blocked.
const PAGE_POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);
const OPENER_POLICY: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

impl Assets {
    /// Returns a file, or the page, whose scripts select the view by the path.
    pub fn reply<E>(&self, path: &str, request: &Incoming<E>) -> Reply {
        let position = match path.strip_prefix(FILES_AT) {
            None => 0,
            Some(name) => match FILES.iter().position(|file| file.name.trim_end_matches(COMPRESSED) == name) {
                None => return page::none(),
                Some(position) => position,
            },
        };
        let mut reply = self.pages[position].get_or_init(|| FILES[position].page()).reply(request);
        reply.fields.push((RESOURCE_POLICY, const { HeaderValue::from_static("same-origin") }));
        if position == 0 {
            reply.fields.push((CONTENT_SECURITY_POLICY, PAGE_POLICY));
            reply.fields.push((OPENER_POLICY, const { HeaderValue::from_static("same-origin") }));
        }
        reply
    }
}
