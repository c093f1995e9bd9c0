//! The origin of a page (RFC 6454), which CORS, WebSocket handshakes and the console compare.

/// Scheme, host and port. The default port of a scheme equals no port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: String,
    port: Option<u16>,
}

impl Origin {
    /// Parses `https://app.example.com` or `http://localhost:5173`. Returns `None` for anything else, such as `null`.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        Self::of(scheme, authority)
    }

    /// The origin of the pages with this scheme and `Host`.
    pub fn of(scheme: &str, authority: &str) -> Option<Self> {
        let (host, port) = match authority.rsplit_once(':') {
            // The colons of an IPv6 address are within brackets.
            Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
            Some(_) | None => (authority, None),
        };
        let port = match port {
            Some(port) if port.bytes().all(|byte| byte.is_ascii_digit()) => Some(port.parse::<u16>().ok()?),
            Some(_) => return None,
            None => None,
        };
        if scheme.is_empty() || host.is_empty() || host.contains(['/', '@', '?', '#']) {
            return None;
        }
        let scheme = scheme.to_ascii_lowercase();
        let default = match &*scheme {
            "http" => Some(80),
            "https" => Some(443),
            _ => None,
        };
        Some(Self { port: port.or(default), host: host.to_ascii_lowercase(), scheme })
    }

    /// True if this is the origin of the server at `host`. Without a `scheme`, a proxy may have ended TLS without
    /// reporting it, so both `http` and `https` match.
    pub(crate) fn is_own(&self, scheme: Option<&str>, host: &str) -> bool {
        let is_of = |scheme| Self::of(scheme, host).as_ref() == Some(self);
        scheme.map_or_else(|| is_of("http") || is_of("https"), is_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_port_equals_no_port() {
        let parsed = |text| Origin::parse(text).unwrap();
        for (one, other) in [
            ("https://api.example", "https://api.example:443"),
            ("http://api.example", "HTTP://API.example:80"),
            ("https://[2001:db8::1]", "https://[2001:db8::1]:443"),
        ] {
            assert_eq!(parsed(one), parsed(other));
        }
        for (one, other) in [
            ("https://api.example", "http://api.example"),
            ("https://api.example", "https://api.example:80"),
            ("https://api.example:8443", "https://api.example"),
            ("https://api.example", "https://api.example.evil"),
            ("capacitor://localhost", "http://localhost"),
        ] {
            assert_ne!(parsed(one), parsed(other));
        }
        for wrong in ["null", "api.example", "https://", "https://a/b", "https://u@a", "https://a:x", "https://a:70000"]
        {
            assert_eq!(Origin::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn own_origin_matches_by_scheme_host_and_port() {
        for (origin, scheme, host, is_own) in [
            ("https://api.example", Some("https"), "api.example", true),
            ("https://api.example", Some("https"), "api.example:443", true),
            ("https://api.example:443", Some("https"), "api.example", true),
            ("https://api.example:8443", Some("https"), "api.example:8443", true),
            ("https://api.example:8443", Some("https"), "api.example", false),
            ("http://api.example", Some("https"), "api.example", false),
            ("https://api.example", Some("http"), "api.example", false),
            ("https://api.example", None, "api.example:443", true),
            ("https://api.example", None, "api.example", true),
            ("http://api.example", None, "api.example:80", true),
            ("https://api.example", None, "api.example:80", false),
            ("ftp://api.example", None, "api.example", false),
        ] {
            assert_eq!(Origin::parse(origin).unwrap().is_own(scheme, host), is_own, "{origin} {scheme:?} {host}");
        }
    }
}
