//! From the claims of a verified token to the identity that functions see.
//!
//! `token` checks the claims that decide whether the token is accepted.

use serde_json::{Map, Value};

use super::provider::ProviderConfig;
use super::token::{Times, TokenError};
use convoke_core::identity::{Identity, KEY_CHARS_MAX};

/// The longest e-mail address, in characters (RFC 5321 §4.5.3.1.3, less the angle brackets).
const EMAIL_CHARS_MAX: usize = 254;

/// Returns true if every table can store this subject: 1 to 255 characters, without U+0000.
pub(super) fn is_subject(text: &str) -> bool {
    !text.is_empty() && fits(text, KEY_CHARS_MAX)
}

fn fits(text: &str, chars_max: usize) -> bool {
    !text.contains('\0') && text.chars().count() <= chars_max
}

/// Returns the identity of verified claims. Empty texts count as absent. Texts that a user's row cannot store also
/// count as absent and are logged: an optional claim must not lock out its user.
///
/// # Errors
/// [`TokenError::Subject`] without a subject of 1 … 255 characters.
pub fn identity(provider: &ProviderConfig, times: Times, claims: Map<String, Value>) -> Result<Identity, TokenError> {
    let names = &provider.claims;
    let given = |name: &str| find(&claims, name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let subject = given(&names.subject).filter(|subject| is_subject(subject)).ok_or(TokenError::Subject)?.to_owned();
    let user = User { issuer: &provider.issuer, subject: &subject };
    let text = |name: &str, chars_max| given(name).filter(|text| user.takes(name, text, chars_max)).map(str::to_owned);

    let email = text(&names.email, EMAIL_CHARS_MAX);
    // An absent claim is not a false claim: it revokes no earlier verification.
    let claimed = find(&claims, &names.email_verified).map(is_true);
    let vouched = if provider.trusted_for_email { Some(true) } else { claimed };
    Ok(Identity {
        issuer: provider.issuer.clone(),
        email_verified: vouched.filter(|_| email.is_some()),
        email,
        name: text(&names.name, usize::MAX),
        picture: text(&names.picture, usize::MAX),
        org_id: text(&names.org_id, KEY_CHARS_MAX),
        roles: roles(&claims, &names.roles, &user),
        subject,
        issued_at: times.issued_at.map(to_seconds),
        expires_at: Some(to_seconds(times.expires_at)),
        claims,
    })
}

/// The user whose claims are read, for the log.
#[derive(Clone, Copy)]
struct User<'a> {
    issuer: &'a str,
    subject: &'a str,
}

impl User<'_> {
    /// Returns true if the claim's text fits. Logs a text that does not fit, because the user lacks the claim.
    fn takes(&self, claim: &str, text: &str, chars_max: usize) -> bool {
        let fits = fits(text, chars_max);
        if !fits {
            let Self { issuer, subject } = self;
            let rule = match chars_max {
                usize::MAX => "contains U+0000".to_owned(),
                most => format!("contains U+0000 or has more than {most} characters"),
            };
            tracing::warn!(target: "convoke::auth", issuer, subject, claim, "ignored a claim of a token: it {rule}");
        }
        fits
    }
}

fn find<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let Some(pointer) = name.strip_prefix('/') else { return claims.get(name) };
    let (first, rest) = match pointer.find('/') {
        Some(end) => pointer.split_at(end),
        None => (pointer, ""),
    };
    claims.get(&first.replace("~1", "/").replace("~0", "~"))?.pointer(rest)
}

/// Accepts the flag as a boolean or as a text, because some providers write a text.
fn is_true(value: &Value) -> bool {
    value.as_bool() == Some(true) || value.as_str() == Some("true")
}

fn roles(claims: &Map<String, Value>, names: &[String], user: &User<'_>) -> Vec<String> {
    let mut roles: Vec<String> = Vec::new();
    for (name, value) in names.iter().filter_map(|name| Some((name, find(claims, name)?))) {
        let listed = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        for role in listed.iter().filter_map(Value::as_str).filter(|role| !role.is_empty()) {
            if user.takes(name, role, KEY_CHARS_MAX) && !roles.iter().any(|known| known == role) {
                roles.push(role.to_owned());
            }
        }
    }
    roles
}

fn to_seconds(millis: i64) -> i64 {
    millis.div_euclid(1000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::provider::ClaimNames;
    use super::*;

    const TIMES: Times = Times { issued_at: Some(1_000_999), expires_at: 2_000_000 };

    fn identity_of(provider: &ProviderConfig, claims: Value) -> Result<Identity, TokenError> {
        let Value::Object(claims) = claims else { panic!("an object") };
        identity(provider, TIMES, claims)
    }

    fn provider() -> ProviderConfig {
        ProviderConfig::new("https://id.example", "api")
    }

    #[test]
    fn every_field_comes_from_its_claim() {
        let claims = json!({
            "sub": "u1", "email": "a@b.example", "email_verified": true, "name": "Ada", "picture": "https://p.example",
            "org_id": "o1", "roles": ["admin", "editor"], "role": "admin", "extra": {"a": 1},
        });
        let identity = identity_of(&provider(), claims.clone()).unwrap();
        assert_eq!(identity.token_identifier(), "https://id.example|u1");
        assert_eq!(identity.email.as_deref(), Some("a@b.example"));
        assert_eq!(identity.email_verified, Some(true));
        assert_eq!(identity.name.as_deref(), Some("Ada"));
        assert_eq!(identity.picture.as_deref(), Some("https://p.example"));
        assert_eq!(identity.org_id.as_deref(), Some("o1"));
        assert_eq!(identity.roles, ["admin", "editor"]);
        assert_eq!((identity.issued_at, identity.expires_at), (Some(1000), Some(2000)));
        assert_eq!(Value::Object(identity.claims), claims);
    }

    #[test]
    fn field_can_come_from_another_or_nested_claim() {
        let claims = ClaimNames {
            subject: "uid".into(),
            org_id: "https://x.example/org".into(),
            roles: vec!["/realm/roles".into(), "/a~1b".into()],
            ..ClaimNames::default()
        };
        let provider = ProviderConfig { claims, ..provider() };
        let token = json!({
            "uid": "u2", "sub": "no", "https://x.example/org": "o2", "realm": {"roles": ["one"]}, "a/b": "two", "roles": ["no"],
        });
        let identity = identity_of(&provider, token).unwrap();
        assert_eq!(identity.subject, "u2");
        assert_eq!(identity.org_id.as_deref(), Some("o2"));
        assert_eq!(identity.roles, ["one", "two"]);
    }

    #[test]
    fn address_is_verified_by_claim_or_trusted_provider() {
        let trusted = ProviderConfig { trusted_for_email: true, ..provider() };
        let verified = |provider: &ProviderConfig, claims| identity_of(provider, claims).unwrap().email_verified;
        let with = |claim: Value| json!({"sub": "u", "email": "a@b.example", "email_verified": claim});
        assert_eq!(verified(&provider(), json!({"sub": "u", "email": "a@b.example"})), None);
        for no in [json!(false), json!("yes"), json!(null)] {
            assert_eq!(verified(&provider(), with(no)), Some(false));
        }
        for yes in [json!(true), json!("true")] {
            assert_eq!(verified(&provider(), with(yes)), Some(true));
        }
        assert_eq!(verified(&trusted, with(json!(false))), Some(true));
        assert_eq!(verified(&trusted, json!({"sub": "u"})), None);
    }

    #[test]
    fn subject_has_1_to_255_characters() {
        for subject in [json!(null), json!(""), json!(7), json!("x".repeat(256)), json!("a\0b")] {
            assert_eq!(identity_of(&provider(), json!({ "sub": subject })), Err(TokenError::Subject));
        }
        assert_eq!(identity_of(&provider(), json!({})), Err(TokenError::Subject));
        assert!(identity_of(&provider(), json!({ "sub": "é".repeat(255) })).is_ok());
    }

    #[test]
    fn claims_of_another_type_count_as_absent() {
        let claims = json!({"sub": "u", "email": 1, "name": "", "org_id": [], "roles": {"a": 1}, "role": ["x", 2, ""]});
        let identity = identity_of(&provider(), claims).unwrap();
        assert_eq!((identity.email, identity.name, identity.org_id), (None, None, None));
        assert_eq!(identity.roles, ["x"]);
    }

    #[test]
    fn unstorable_claim_counts_as_absent() {
        let (long, nul) = ("x".repeat(256), "a\0b");
        for org in [&*long, nul] {
            let claims = json!({
                "sub": "u", "org_id": org, "email": nul, "name": nul, "picture": nul, "roles": [nul, "admin", &*long],
            });
            let identity = identity_of(&provider(), claims).unwrap();
            assert_eq!((identity.org_id, identity.email), (None, None), "{org:?}");
            assert_eq!((identity.name, identity.picture), (None, None));
            assert_eq!(identity.roles, ["admin"]);
        }
        let org = "é".repeat(255);
        let email = format!("a@{}.org", "x".repeat(249));
        let identity = identity_of(&provider(), json!({"sub": "u", "org_id": org, "email": email})).unwrap();
        assert_eq!((identity.org_id, identity.email), (Some(org), None));
    }
}
