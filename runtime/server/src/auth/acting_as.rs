//! The user that a request acts as: in the suffix of a deploy key, or in a header of the operator's own requests.

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde::Deserialize;

use convoke_core::identity::Identity;

/// The user that a request acts as.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ActingAs {
    /// The user's issuer. `None`: the first issuer that the server accepts.
    pub issuer: Option<String>,
    /// The user's subject.
    pub subject: String,
    /// True: an unknown user is created; false: never; `None`: in development only. A deploy key cannot create users, because
    /// it vouches for no claims.
    #[serde(default)]
    pub create: Option<bool>,
}

impl ActingAs {
    /// Returns the identity; `issuer` is the default issuer. Returns `None` for an invalid issuer or subject.
    pub fn identity(&self, issuer: &str) -> Option<Identity> {
        let issuer = self.issuer.as_deref().unwrap_or(issuer);
        let fits = super::provider::is_issuer(issuer) && super::claims::is_subject(&self.subject);
        fits.then(|| Identity { issuer: issuer.to_owned(), subject: self.subject.clone(), ..Identity::default() })
    }
}

/// Encodes the user; [`read`] decodes it.
pub fn write(user: &ActingAs) -> String {
    use base64::engine::general_purpose::STANDARD as BASE64;
    let ActingAs { issuer, subject, create } = user;
    let mut members = serde_json::json!({ "subject": subject });
    if let Some(issuer) = issuer {
        members["issuer"] = issuer.as_str().into();
    }
    if let Some(create) = create {
        members["create"] = (*create).into();
    }
    BASE64.encode(members.to_string())
}

/// Decodes the base64 JSON of a user.
///
/// ```json
/// {"issuer": "https://id.example.com/", "subject": "user_1", "create": true}
/// ```
///
/// Ignores other members. Accepts both base64 alphabets, with or without padding. Returns `None` for any other text.
pub fn read(suffix: &str) -> Option<ActingAs> {
    const CONFIG: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let json = GeneralPurpose::new(&STANDARD, CONFIG)
        .decode(suffix)
        .or_else(|_| GeneralPurpose::new(&URL_SAFE, CONFIG).decode(suffix))
        .ok()?;
    serde_json::from_slice(&json).ok()
}

/// Decodes the identity that follows a deploy key. It needs both issuer and subject.
pub fn read_identity(suffix: &str) -> Option<Identity> {
    read(suffix)?.identity("")
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose;

    use super::*;

    #[test]
    fn identity_has_only_an_issuer_and_a_subject() {
        let json = r#"{"issuer":"https://id.example","subject":"ü~?>","email":"a@b.example","roles":["admin"]}"#;
        let expected = Identity { issuer: "https://id.example".into(), subject: "ü~?>".into(), ..Identity::default() };
        for text in [
            general_purpose::STANDARD.encode(json),
            general_purpose::STANDARD_NO_PAD.encode(json),
            general_purpose::URL_SAFE.encode(json),
            general_purpose::URL_SAFE_NO_PAD.encode(json),
        ] {
            assert_eq!(read_identity(&text).as_ref(), Some(&expected), "{text}");
        }
    }

    #[test]
    fn encoded_user_decodes_to_itself() {
        for (issuer, create) in [(Some("https://id.example".to_owned()), Some(false)), (None, Some(true)), (None, None)]
        {
            let user = ActingAs { issuer, subject: "ü\"~".to_owned(), create };
            assert_eq!(read(&write(&user)).unwrap(), user);
        }
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
            r#"{"subject":"t"}"#,
        ] {
            assert_eq!(read_identity(&general_purpose::STANDARD.encode(json)), None, "{json}");
        }
        assert_eq!(read_identity("*"), None);
    }
}
