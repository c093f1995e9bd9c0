//! Settings of media: lifetime of tokens, and STUN and TURN servers.

use convoke::settings::Section;
use convoke::value;
use schemars::JsonSchema;
use serde::Deserialize;

use super::tokens::VALID_S;

/// Rooms of meetings.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Rooms {
    /// Lifetime of a room token in seconds: 60 to 21,600; 15 minutes by default. A client requests a new token to
    /// reconnect; connected clients stay connected.
    pub token_valid_s: TokenValidity,
}

/// Lifetime of a room token in seconds: a minute to six hours.
#[value(integer, min = 60, max = 21_600)]
pub struct TokenValidity(i64);

impl Default for TokenValidity {
    fn default() -> Self {
        Self(VALID_S)
    }
}

/// STUN servers, which tell clients their public address.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Stun {
    /// URLs. The default is a public server, so that clients behind different routers can connect. Use `[]` for none,
    /// or your own server to keep the addresses of users private.
    pub urls: Vec<StunUrl>,
}

/// URL of a STUN server: `stun:host:port`.
#[value(text, trim, max = 255, pattern = "^stuns?:[^/]+$", expected = "an address such as stun:stun.example.org:3478")]
pub struct StunUrl(String);

impl Default for Stun {
    fn default() -> Self {
        Self { urls: vec![StunUrl("stun:stun.l.google.com:19302".to_owned())] }
    }
}

/// TURN servers, which relay media if no direct connection is possible. They share the secret `TURN_SECRET` with this
/// installation: `use-auth-secret` and `static-auth-secret` of coturn.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Turn {
    /// URLs; none by default.
    #[schemars(example = ["turn:turn.example.org:3478"])]
    pub urls: Vec<TurnUrl>,
}

/// Name of the secret shared with the relays.
pub const TURN_SECRET: &str = "TURN_SECRET";

/// URL of a TURN server: `turn:host:port`, `turns:host:port?transport=tcp`.
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

    fn secrets(&self) -> Vec<&'static str> {
        if self.urls.is_empty() { Vec::new() } else { vec![TURN_SECRET] }
    }
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
