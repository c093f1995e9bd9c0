//! What an installation decides about media: how long tokens last, and the servers that help clients find each other.

use convoke::settings::Section;
use convoke::value;
use schemars::JsonSchema;
use serde::Deserialize;

use super::tokens::VALID_S;

/// Rooms of meetings.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rooms {
    /// How long a token opens its room, in seconds: 60 … 21,600, a quarter of an hour by default. A client asks for
    /// a new one to connect again; who is in stays in.
    pub token_valid_s: TokenValidity,
}

/// How long a token opens its room, in seconds: a minute to six hours.
#[value(integer, min = 60, max = 21_600)]
pub struct TokenValidity(i64);

impl Default for TokenValidity {
    fn default() -> Self {
        Self(VALID_S)
    }
}

/// Servers that tell a client its public address.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stun {
    /// Their addresses. By default a public one, so that clients behind different routers find each other at once;
    /// `[]` for none, and an address of one's own where nobody outside may learn who connects.
    pub urls: Vec<StunUrl>,
}

/// The address of a STUN server: `stun:host:port`.
#[value(text, trim, max = 255, pattern = "^stuns?:[^/]+$", expected = "an address such as stun:stun.example.org:3478")]
pub struct StunUrl(String);

impl Default for Stun {
    fn default() -> Self {
        Self { urls: vec![StunUrl("stun:stun.l.google.com:19302".to_owned())] }
    }
}

/// Servers that relay what finds no way of its own. They share the secret `TURN_SECRET` with this
/// installation: `use-auth-secret` and `static-auth-secret` of coturn.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// Their addresses; none by default.
    #[schemars(example = ["turn:turn.example.org:3478"])]
    pub urls: Vec<TurnUrl>,
}

/// The secret that the relays know as well.
pub const TURN_SECRET: &str = "TURN_SECRET";

/// The address of a TURN server: `turn:host:port`, `turns:host:port?transport=tcp`.
#[value(text, trim, max = 255, pattern = "^turns?:[^/]+$", expected = "an address such as turn:turn.example.org:3478")]
pub struct TurnUrl(String);

impl Section for Rooms {
    const NAME: &'static str = "rooms";
}
convoke::section!(Rooms);

impl Section for Stun {
    const NAME: &'static str = "stun";
}
convoke::section!(Stun);

impl Section for Turn {
    const NAME: &'static str = "turn";
}
convoke::section!(Turn);

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_token_lasts_a_minute_to_six_hours() {
        let read = |seconds: i64| from_value::<Rooms>(json!({"token_valid_s": seconds}));
        assert_eq!(Rooms::default().token_valid_s.get(), 900);
        assert!(read(59).is_err() && read(21_601).is_err());
        assert!(read(60).is_ok() && read(21_600).is_ok());
    }

    #[test]
    fn addresses_are_checked_by_their_scheme() {
        assert!(from_value::<Stun>(json!({"urls": ["stun:a.example:3478", "stuns:b.example"]})).is_ok());
        assert!(from_value::<Stun>(json!({"urls": []})).unwrap().urls.is_empty());
        assert!(from_value::<Turn>(json!({"urls": ["turns:a.example:5349?transport=tcp"]})).is_ok());
        for typo in ["https://a.example", "a.example", "stun:", "turn://a.example"] {
            assert!(from_value::<Stun>(json!({"urls": [typo]})).is_err(), "{typo}");
            assert!(from_value::<Turn>(json!({"urls": [typo]})).is_err(), "{typo}");
        }
        assert!(from_value::<Turn>(json!({"secret": "in the open"})).is_err());
    }
}
