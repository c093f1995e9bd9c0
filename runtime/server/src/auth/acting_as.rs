//! The user that a deploy key acts as: the suffix behind the key.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use convoke_core::identity::Identity;

/// The suffix that names this identity; [`read`] reads it.
pub fn write(issuer: &str, subject: &str) -> String {
    use base64::engine::general_purpose::STANDARD as BASE64;
    BASE64.encode(serde_json::json!({ "issuer": issuer, "subject": subject }).to_string())
}

/// Reads the base64 JSON of an identity.
///
/// ```json
/// {"issuer": "https://id.example.com/", "subject": "user_1"}
/// ```
///
/// Both must be texts that are not empty, the issuer one that a provider can have; other members are ignored, because a deploy key vouches for nothing but whom
/// it means. Either base64 alphabet, padded or not. `None` if it is anything else.
pub fn read(suffix: &str) -> Option<Identity> {
    #[derive(Deserialize)]
    struct ActingAs {
        issuer: String,
        subject: String,
    }
    const CONFIG: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let json = GeneralPurpose::new(&STANDARD, CONFIG)
        .decode(suffix)
        .or_else(|_| GeneralPurpose::new(&URL_SAFE, CONFIG).decode(suffix))
        .ok()?;
    let ActingAs { issuer, subject } = serde_json::from_slice(&json).ok()?;
    let can_be_issuer = super::provider::is_issuer(&issuer);
    (can_be_issuer && super::claims::is_subject(&subject)).then(|| Identity { issuer, subject, ..Identity::default() })
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose;

    use super::*;

    #[test]
    fn an_identity_has_an_issuer_and_a_subject_and_nothing_else() {
        let json = r#"{"issuer":"https://id.example","subject":"ü~?>","email":"a@b.example","roles":["admin"]}"#;
        let expected = Identity { issuer: "https://id.example".into(), subject: "ü~?>".into(), ..Identity::default() };
        for text in [
            general_purpose::STANDARD.encode(json),
            general_purpose::STANDARD_NO_PAD.encode(json),
            general_purpose::URL_SAFE.encode(json),
            general_purpose::URL_SAFE_NO_PAD.encode(json),
        ] {
            assert_eq!(read(&text).as_ref(), Some(&expected), "{text}");
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        let identity = read(&write("https://id.example", "ü\"~")).unwrap();
        assert_eq!((identity.issuer.as_str(), identity.subject.as_str()), ("https://id.example", "ü\"~"));
    }

    #[test]
    fn anything_else_is_no_identity() {
        for json in [
            "",
            "{}",
            r#"{"issuer":"i"}"#,
            r#"{"issuer":"i","subject":""}"#,
            r#"{"issuer":1,"subject":"s"}"#,
            "[]",
            r#"{"issuer":"i|s","subject":"t"}"#,
            r#"{"issuer":"","subject":"t"}"#,
            r#"{"issuer":"https://id.example","subject":"a\u0000b"}"#,
        ] {
            assert_eq!(read(&general_purpose::STANDARD.encode(json)), None, "{json}");
        }
        assert_eq!(read("*"), None);
    }
}
