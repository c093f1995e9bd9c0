//! The CORS protocol of the Fetch standard: the pages of other origins that may call.

use std::collections::HashMap;
use std::time::Duration;

use hyper::HeaderMap;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, HeaderValue, VARY,
};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::client_addr;
use super::origin::Origin;

/// A rejected origin is logged once per this interval.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Largest number of rejected origins in the log interval. Further origins are not logged.
const LOGGED_MAX: usize = 256;

/// The origins whose pages may read the responses of calls.
///
/// Calls do not use cookies, so credentials mode is never allowed, and `*` is safe to configure.
pub(crate) struct Cors {
    origins: Vec<Origin>,
    any: bool,
    loopback: bool,
    /// The rejected origins that were logged, with the time.
    logged: Mutex<HashMap<String, Instant>>,
}

impl Cors {
    /// Allows `origins`. If `loopback` is true, every origin of this machine is allowed, on any port.
    ///
    /// # Errors
    /// The first of `origins` that no browser sends.
    pub(crate) fn new(origins: &[String], loopback: bool) -> Result<Self, String> {
        let mut cors = Self { origins: Vec::new(), any: false, loopback, logged: Mutex::default() };
        for origin in origins {
            if origin == "*" {
                cors.any = true;
            } else {
                let parsed = Origin::parse(origin).filter(|_| is_origin(origin));
                cors.origins.push(parsed.ok_or_else(|| origin.clone())?);
            }
        }
        Ok(cors)
    }

    /// True if no origin is ever allowed. Responses then need no CORS fields.
    pub(crate) fn is_off(&self) -> bool {
        self.origins.is_empty() && !self.any && !self.loopback
    }

    /// Returns the request's origin if it is allowed.
    pub(crate) fn allowed(&self, origin: Option<&HeaderValue>) -> Option<HeaderValue> {
        let origin = origin?;
        let is_named = || {
            let origin = origin.to_str().ok().and_then(Origin::parse);
            origin.is_some_and(|origin| self.origins.contains(&origin))
        };
        let allowed = self.any || self.loopback && is_loopback(origin) || is_named();
        allowed.then(|| origin.clone())
    }

    /// Logs that a page of this origin was rejected, once per minute.
    pub(crate) fn log_rejected(&self, origin: &HeaderValue) {
        let origin = String::from_utf8_lossy(origin.as_bytes());
        if self.is_log_due(&origin, Instant::now()) {
            tracing::warn!(%origin, "a page of this origin was rejected; the setting cors_origins (--cors-origin) allows it");
        }
    }

    fn is_log_due(&self, origin: &str, now: Instant) -> bool {
        let mut logged = self.logged.lock();
        logged.retain(|_, at| now < *at + LOG_INTERVAL);
        if logged.len() >= LOGGED_MAX || logged.contains_key(origin) {
            return false;
        }
        logged.insert(origin.to_owned(), now);
        true
    }
}

/// Allows a page of `origin` to read the response.
pub(crate) fn admit(origin: Option<HeaderValue>, response: &mut HeaderMap) {
    // A cache must not serve one origin's response to another origin.
    response.insert(VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static(
                "x-request-id, retry-after, www-authenticate, idempotency-replayed, accept-ranges, content-disposition, \
                 content-length, content-range, etag, location, tus-resumable, tus-version, tus-extension, tus-max-size, \
                 upload-offset, upload-length, upload-defer-length, upload-expires, x-convoke-storage-id",
            ),
        );
    }
}

/// Adds the allowed methods and fields to the response to a preflight of an allowed origin.
pub(crate) fn answer_preflight(response: &mut HeaderMap) {
    response.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST, PATCH"));
    response.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "authorization, content-type, x-request-id, traceparent, tracestate, convex-client, last-event-id, \
             idempotency-key, mcp-protocol-version, mcp-method, mcp-name, range, if-range, if-none-match, \
             tus-resumable, upload-offset, upload-length, upload-defer-length, upload-metadata",
        ),
    );
    // Two hours, the longest time for which common browsers cache it.
    response.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
}

/// True for `scheme://host` or `scheme://host:port` in lower case without a path, as browsers serialize an origin.
fn is_origin(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, authority)| {
        let plain = |byte: u8| byte.is_ascii_graphic() && !byte.is_ascii_uppercase() && !b"/?#@,*".contains(&byte);
        !scheme.is_empty() && scheme.bytes().all(plain) && !authority.is_empty() && authority.bytes().all(plain)
    })
}

fn is_loopback(origin: &HeaderValue) -> bool {
    let Some((scheme, authority)) = origin.to_str().ok().and_then(|origin| origin.split_once("://")) else {
        return false;
    };
    matches!(scheme, "http" | "https") && client_addr::names_this_machine(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed(cors: &Cors, origin: &str) -> bool {
        let origin = HeaderValue::from_str(origin).unwrap();
        cors.allowed(Some(&origin)).is_some_and(|echoed| echoed == origin)
    }

    #[test]
    fn origin_is_compared_by_scheme_host_and_port() {
        for configured in ["https://app.example.com", "https://app.example.com:443"] {
            let cors = Cors::new(&[configured.to_owned()], false).unwrap();
            assert!(allowed(&cors, "https://app.example.com"), "{configured}");
        }
        let cors = Cors::new(&["https://app.example.com".to_owned()], false).unwrap();
        for other in
            ["http://app.example.com", "https://app.example.com:8443", "https://app.example.com.evil.net", "null"]
        {
            assert!(!allowed(&cors, other), "{other}");
        }
    }

    #[tokio::test]
    async fn rejected_origin_is_logged_once_per_minute() {
        let cors = Cors::new(&[], false).unwrap();
        let now = Instant::now();
        assert!(cors.is_log_due("https://a.example", now) && !cors.is_log_due("https://a.example", now));
        assert!(cors.is_log_due("https://b.example", now));
        assert!(cors.is_log_due("https://a.example", now + LOG_INTERVAL));
        for number in 0..LOGGED_MAX {
            cors.is_log_due(&number.to_string(), now + LOG_INTERVAL);
        }
        assert!(!cors.is_log_due("https://c.example", now + LOG_INTERVAL), "the list is bounded");
    }

    #[test]
    fn loopback_origins_are_those_of_this_machine_only() {
        let cors = Cors::new(&[], true).unwrap();
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173", "http://app.localhost"] {
            assert!(allowed(&cors, origin), "{origin}");
        }
        for origin in ["http://localhost.evil.net", "http://127.0.0.1.evil.net", "ftp://localhost", "http://evil.net"] {
            assert!(!allowed(&cors, origin), "{origin}");
        }
    }

    #[test]
    fn origin_that_no_browser_sends_is_a_configuration_error() {
        for wrong in ["app.example.com", "https://app.example.com/", "https://App.example.com", "https://*.example.com"]
        {
            assert_eq!(Cors::new(&[wrong.to_owned()], false).err().as_deref(), Some(wrong));
        }
        assert!(allowed(&Cors::new(&["*".to_owned()], false).unwrap(), "https://anyone.example"));
        assert!(Cors::new(&[], false).unwrap().is_off());
    }
}
