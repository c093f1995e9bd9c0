//! E-mail addresses in normalized form.

use convoke::value;
use icu_normalizer::ComposingNormalizerBorrowed;

/// Longest address: RFC 5321 §4.5.3.1.3, without the angle brackets.
const CHARS_MAX: usize = 254;
/// Longest local part: RFC 5321 §4.5.3.1.1.
const LOCAL_CHARS_MAX: usize = 64;

/// An e-mail address in normalized form: trimmed, ASCII letters in lower case, the rest of the local part in NFC, the
/// domain in the Unicode form of IDNA (UTS #46).
///
/// Other letters of the local part do not change: a mail server may distinguish them, and a letter must not match
/// another that looks like it (the Kelvin sign is not a k).
///
/// ```json
/// "grace@example.com"
/// ```
#[value(text, trim, max = CHARS_MAX, check = address, expected = "an e-mail address of at most 254 characters")]
pub struct EmailAddress(String);

impl EmailAddress {
    /// Returns the part before the `@`.
    pub fn local_part(&self) -> &str {
        self.0.split_once('@').map_or("", |(local, _)| local)
    }
}

/// The e-mail address of an invited user.
///
/// ```json
/// "grace@example.com"
/// ```
#[value(text, trim, check = participant_address)]
pub struct ParticipantEmail(String);

impl ParticipantEmail {
    /// Returns the address.
    pub fn into_address(self) -> EmailAddress {
        EmailAddress(self.0)
    }
}

fn address(text: String) -> Result<String, String> {
    // The complete address, although other errors shorten their quotes: the caller must find it among many addresses.
    comparable(&text)
        .ok_or_else(|| format!("must be an e-mail address of at most {CHARS_MAX} characters (got {text:?})"))
}

fn participant_address(text: String) -> Result<String, String> {
    comparable(&text).ok_or_else(|| format!("Invalid participant email: {text}"))
}

/// Returns the normalized form of an address, or `None` if the text is not an address.
fn comparable(text: &str) -> Option<String> {
    let (local, domain) = text.split_once('@')?;
    let address = format!("{}@{}", local_form(local), domain_form(domain)?);
    is_address(&address).then_some(address)
}

fn local_form(local: &str) -> String {
    let nfc = ComposingNormalizerBorrowed::new_nfc();
    // NFC maps a few letters to ASCII, such as the Kelvin sign. These letters are not normalized.
    let stays = |c: char| !c.is_ascii() && nfc.normalize(c.encode_utf8(&mut [0; 4])).is_ascii();
    let mut form = String::with_capacity(local.len());
    for part in local.split_inclusive(stays) {
        let last = part.chars().next_back().filter(|c| stays(*c));
        let run = &part[..part.len() - last.map_or(0, char::len_utf8)];
        form.push_str(&nfc.normalize(&run.to_ascii_lowercase()));
        form.extend(last);
    }
    form
}

fn domain_form(domain: &str) -> Option<String> {
    let lower = domain.to_ascii_lowercase();
    if lower.is_ascii() && !lower.contains("xn--") {
        return Some(lower);
    }
    let ascii = idna::domain_to_ascii(domain).ok()?;
    let (unicode, read) = idna::domain_to_unicode(&ascii);
    read.ok().map(|()| unicode)
}

fn is_address(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else { return false };
    text.chars().count() <= CHARS_MAX
        && (1..=LOCAL_CHARS_MAX).contains(&local.chars().count())
        && domain.contains('.')
        && domain.split('.').all(|label| !label.is_empty())
        && !text.chars().any(|c| c.is_whitespace() || c.is_control())
        && !domain.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_trimmed_and_in_lower_case() {
        assert_eq!(EmailAddress::new(" \u{a0}Ada@Example.ORG\u{3000}").unwrap().as_str(), "ada@example.org");
        assert_eq!(EmailAddress::new("ada+x@example.org").unwrap().local_part(), "ada+x");
        assert_eq!(EmailAddress::new("ada@bücher.example").unwrap().as_str(), "ada@bücher.example");
    }

    #[test]
    fn letters_that_look_alike_stay_apart_in_the_local_part() {
        let form = |text: &str| EmailAddress::new(text).unwrap().as_str().to_owned();
        assert_eq!(form("LUKE@example.com"), "luke@example.com");
        assert_eq!(form("lu\u{212a}e@example.com"), "lu\u{212a}e@example.com", "the Kelvin sign");
        assert_eq!(form("JOS\u{c9}@example.com"), "jos\u{c9}@example.com");
        assert_eq!(form("JOSE\u{301}@example.com"), "jose\u{301}@example.com".replace("e\u{301}", "\u{e9}"));
        assert_eq!(form("\u{212b}@example.com"), "\u{c5}@example.com", "the angstrom sign is the letter");
        for text in ["lu\u{212a}e@example.com", "Jose\u{301}@B\u{fc}cher.example", "a\u{212a}e\u{301}\u{212a}@x.org"] {
            assert_eq!(form(&form(text)), form(text), "{text}");
        }
    }

    #[test]
    fn a_domain_is_compared_as_idna_does() {
        let form = |domain: &str| EmailAddress::new(format!("a@{domain}")).unwrap().as_str().to_owned();
        for domain in ["b\u{fc}cher.example", "B\u{dc}CHER.example", "bu\u{308}cher.example", "XN--BCHER-KVA.example"] {
            assert_eq!(form(domain), "a@b\u{fc}cher.example", "{domain}");
        }
        assert_eq!(form("\u{212a}elvin.example"), "a@kelvin.example");
        assert_eq!(form("my_host.Example"), "a@my_host.example");
        for domain in ["xn--a.example", "a\u{ff20}b.example", "xn--\u{fc}.example"] {
            assert!(EmailAddress::new(format!("a@{domain}")).is_err(), "{domain}");
        }
    }

    #[test]
    fn invalid_address_is_rejected() {
        let local = "x".repeat(65);
        let long = format!("a@{}.org", "x".repeat(249));
        for bad in [
            "",
            " ",
            "ada",
            "@example.org",
            "ada@",
            "ada@example",
            "ada@.org",
            "ada@example.",
            "ada@a..org",
            "a@b@example.org",
            "a da@example.org",
            "ada@exa mple.org",
            "a\u{a0}b@example.org",
            "ada\n@example.org",
            "ada\0@example.org",
            &format!("{local}@example.org"),
            &long,
        ] {
            assert!(EmailAddress::new(bad).is_err(), "{bad:?}");
            assert!(ParticipantEmail::new(bad).is_err(), "{bad:?}");
        }
        assert!(EmailAddress::new(format!("{}@example.org", "x".repeat(64))).is_ok());
        assert!(EmailAddress::new(format!("a@{}.org", "x".repeat(248))).is_ok());
    }

    #[test]
    fn a_refusal_names_the_participant() {
        assert_eq!(
            ParticipantEmail::new(" not an address ").unwrap_err().sentence(),
            "Invalid participant email: not an address"
        );
        let long = format!("{}@example.org", "x".repeat(300));
        assert_eq!(
            ParticipantEmail::new(long.as_str()).unwrap_err().sentence(),
            format!("Invalid participant email: {long}"),
            "it is quoted whole"
        );
        let local = format!("{}@example.org", "x".repeat(100));
        assert_eq!(
            EmailAddress::new(local.as_str()).unwrap_err().sentence(),
            format!("must be an e-mail address of at most 254 characters (got {local:?})")
        );
        assert_eq!(ParticipantEmail::new("").unwrap_err().sentence(), "Invalid participant email: ");
        assert_eq!(
            EmailAddress::new("x").unwrap_err().sentence(),
            "must be an e-mail address of at most 254 characters (got \"x\")"
        );
        assert_eq!(ParticipantEmail::new("Bob@x.org").unwrap().into_address(), EmailAddress::new("bob@x.org").unwrap());
    }
}
