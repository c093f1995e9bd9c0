//! E-mail addresses, in the one form in which they are compared.

use convoke::value;

/// The longest address: RFC 5321 §4.5.3.1.3, less the angle brackets.
const CHARS_MAX: usize = 254;
/// The longest local part: RFC 5321 §4.5.3.1.1.
const LOCAL_CHARS_MAX: usize = 64;

/// An e-mail address, trimmed and in lower case.
///
/// ```json
/// "grace@example.com"
/// ```
#[value(text, trim, max = 254, check = address, expected = "an e-mail address of at most 254 characters")]
pub struct EmailAddress(String);

impl EmailAddress {
    /// What stands before the `@`.
    pub fn local_part(&self) -> &str {
        self.0.split_once('@').map_or("", |(local, _)| local)
    }
}

/// The address of somebody invited to a meeting.
///
/// ```json
/// "grace@example.com"
/// ```
#[value(text, trim, check = participant_address)]
pub struct ParticipantEmail(String);

impl ParticipantEmail {
    /// The address.
    pub fn into_address(self) -> EmailAddress {
        EmailAddress(self.0)
    }
}

fn address(text: String) -> Result<String, String> {
    let lower = text.to_lowercase();
    match is_address(&lower) {
        true => Ok(lower),
        // Whole, where other refusals cut what they quote: a sender has to find it among many.
        false => Err(format!("must be an e-mail address of at most {CHARS_MAX} characters (got {text:?})")),
    }
}

fn participant_address(text: String) -> Result<String, String> {
    let lower = text.to_lowercase();
    if is_address(&lower) {
        return Ok(lower);
    }
    Err(format!("Invalid participant email: {text}"))
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
    fn what_is_no_address_is_refused() {
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
