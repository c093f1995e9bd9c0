//! Web addresses.

use convoke::value;
use url::Url;

/// An absolute URL with the scheme http or https, at most 2048 characters, stored unchanged.
///
/// ```json
/// "https://www.linkedin.com/in/ada"
/// ```
#[value(text, max = 2048, check = absolute)]
pub struct HttpUrl(String);

/// An [`HttpUrl`], or `""` for no URL.
///
/// ```json
/// "https://www.linkedin.com/in/ada"
/// ```
#[value(text, max = HttpUrl::CHARS_MAX, check = absolute_or_empty)]
pub struct UrlOrEmpty(String);

impl UrlOrEmpty {
    /// Returns the URL, if there is one.
    pub fn into_url(self) -> Option<HttpUrl> {
        (!self.0.is_empty()).then_some(HttpUrl(self.0))
    }
}

fn absolute(text: String) -> Result<String, String> {
    if is_absolute(&text) { Ok(text) } else { Err("must be an absolute http or https URL".to_owned()) }
}

fn absolute_or_empty(text: String) -> Result<String, String> {
    if text.is_empty() { Ok(text) } else { absolute(text) }
}

fn is_absolute(text: &str) -> bool {
    // The parser accepts sloppy forms as browsers do (`http:host`, tabs, surrounding white space). A stored URL is exact.
    let (scheme, rest) = text.split_once(':').unwrap_or_default();
    (scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https"))
        && rest.starts_with("//")
        && !rest.starts_with("///")
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
        && Url::parse(text).is_ok_and(|url| url.has_host())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_absolute_and_of_the_web() {
        for good in [
            "http://a",
            "https://www.linkedin.com/in/ada",
            "HTTPS://Example.org",
            "http://localhost:3000/x?y=z#w",
            "https://[::1]/",
            "https://bücher.example/größe",
        ] {
            assert_eq!(HttpUrl::new(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            "linkedin.com/in/ada",
            "//example.org",
            "/in/ada",
            "ftp://example.org",
            "javascript:alert(1)",
            "http:example.org",
            "http:///example.org",
            "https://",
            "http://a b",
            " https://example.org",
            "https://example.org ",
            "https://exa\tmple.org",
            "mailto:ada@example.org",
            "http://[::1",
            "http://a:99999",
        ] {
            assert!(HttpUrl::new(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn an_address_ends_at_2048_characters() {
        let long = |chars: usize| format!("https://example.org/{}", "x".repeat(chars - 20));
        assert!(HttpUrl::new(long(2048)).is_ok());
        assert!(HttpUrl::new(long(2049)).is_err());
    }

    #[test]
    fn an_empty_text_means_no_address_where_that_is_allowed() {
        assert_eq!(UrlOrEmpty::new("").unwrap().into_url(), None);
        assert_eq!(UrlOrEmpty::new("https://a").unwrap().into_url(), Some(HttpUrl::new("https://a").unwrap()));
        assert!(UrlOrEmpty::new(" ").is_err());
        assert_eq!(UrlOrEmpty::new("x").unwrap_err().sentence(), "must be an absolute http or https URL (got \"x\")");
    }
}
