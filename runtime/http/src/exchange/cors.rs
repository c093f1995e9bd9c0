//! Which pages of other origins may call (the Fetch standard's CORS protocol).

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

/// A refused origin is logged once in this time.
const LOG_INTERVAL: Duration = Duration::from_secs(60);
/// Refused origins that are remembered; further ones are not logged until the time of others is over.
const LOGGED_MAX: usize = 256;

/// The origins whose pages may read what calls answer.
///
/// Cookies play no part in a call, so credentials mode is never allowed, and `*` is safe to configure.
pub(crate) struct Cors {
    origins: Vec<Origin>,
    any: bool,
    loopback: bool,
    /// The origins that were logged as refused, and when.
    logged: Mutex<HashMap<String, Instant>>,
}

impl Cors {
    /// `loopback` admits every origin of this machine, on any port.
    ///
    /// # Errors
    /// The first of `origins` that no browser would ever send.
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

    /// Whether nothing is ever allowed, so that no field needs to say so.
    pub(crate) fn is_off(&self) -> bool {
        self.origins.is_empty() && !self.any && !self.loopback
    }

    /// The origin to answer to; `None` if the request has none or it is not allowed.
    pub(crate) fn allowed(&self, origin: Option<&HeaderValue>) -> Option<HeaderValue> {
        let origin = origin?;
        let is_named = || {
            let origin = origin.to_str().ok().and_then(Origin::parse);
            origin.is_some_and(|origin| self.origins.contains(&origin))
        };
        let allowed = self.any || self.loopback && is_loopback(origin) || is_named();
        allowed.then(|| origin.clone())
    }

    /// Logs that a page of this origin was refused, once a minute.
    pub(crate) fn log_refused(&self, origin: &HeaderValue) {
        let origin = String::from_utf8_lossy(origin.as_bytes());
        if self.is_log_due(&origin, Instant::now()) {
            tracing::warn!(%origin, "a page of this origin was refused; the setting cors_origins (--cors-origin) allows it");
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

/// Lets a page of `origin` read the response.
pub(crate) fn admit(origin: Option<HeaderValue>, response: &mut HeaderMap) {
    // A cache must not hand one origin's answer, or the lack of it, to another.
    response.insert(VARY, HeaderValue::from_static("origin"));
    if let Some(origin) = origin {
        response.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        response.insert(
            ACCESS_CONTROL_EXPOSE_HEADERS,
            HeaderValue::from_static("x-request-id, retry-after, www-authenticate, idempotency-replayed"),
        );
    }
}

/// Says what a page may send, in answer to a preflight of an allowed origin.
pub(crate) fn answer_preflight(response: &mut HeaderMap) {
    response.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, HEAD, POST"));
    response.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static(
            "authorization, content-type, x-request-id, traceparent, tracestate, convex-client, last-event-id, \
             idempotency-key",
        ),
    );
    // Two hours, the most that the widespread browsers keep it for.
    response.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
}

/// `scheme://host` or `scheme://host:port` in lower case, without a path: as browsers serialize it.
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
    fn a_configured_origin_is_allowed_by_scheme_host_and_port() {
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
    async fn a_refused_origin_is_logged_once_a_minute() {
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
    fn loopback_origins_are_those_of_this_machine_and_no_look_alike() {
        let cors = Cors::new(&[], true).unwrap();
        for origin in ["http://localhost:3000", "https://127.0.0.1", "http://[::1]:5173", "http://app.localhost"] {
            assert!(allowed(&cors, origin), "{origin}");
        }
        for origin in ["http://localhost.evil.net", "http://127.0.0.1.evil.net", "ftp://localhost", "http://evil.net"] {
            assert!(!allowed(&cors, origin), "{origin}");
        }
    }

    #[test]
    fn an_origin_that_no_browser_sends_is_a_mistake_in_the_configuration() {
        for wrong in ["app.example.com", "https://app.example.com/", "https://App.example.com", "https://*.example.com"]
        {
            assert_eq!(Cors::new(&[wrong.to_owned()], false).err().as_deref(), Some(wrong));
        }
        assert!(allowed(&Cors::new(&["*".to_owned()], false).unwrap(), "https://anyone.example"));
        assert!(Cors::new(&[], false).unwrap().is_off());
    }
}
