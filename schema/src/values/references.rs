//! Texts that identify a user.

use convoke::{Id, value};

use crate::tables::User;

/// A user's id, or the `sub` of a user's token, which a client knows without an id.
///
/// A function resolves it: first as the id of a row, then as a subject of the caller's issuer. The subjects of a provider
/// can look like ids.
///
/// ```json
/// "user_01jgfjs5r2a4n8w7k0q3d6m9vt"
/// ```
#[value(text, min = 1, max = 255)]
pub struct UserRef(String);

impl UserRef {
    /// Returns the text as an id, if it has the form of an id.
    pub fn id(&self) -> Option<Id<User>> {
        self.0.parse().ok()
    }

    /// Returns the text as a subject of the caller's issuer.
    pub fn subject(&self) -> &str {
        &self.0
    }
}

impl From<Id<User>> for UserRef {
    fn from(id: Id<User>) -> Self {
        Self(id.to_string())
    }
}

/// The actor of an audited change: a user's id, `deploy-key:<name>`, or `system` for scheduled work.
#[value(text, min = 1, max = 255)]
pub struct Actor(String);

impl Actor {
    /// Returns the actor of a user.
    pub fn user(id: Id<User>) -> Self {
        Self(id.to_string())
    }

    /// Returns the actor of a deploy key that acts as no user.
    pub fn deploy_key(name: &str) -> Self {
        Self(format!("deploy-key:{name}"))
    }

    /// Returns the actor of scheduled work.
    pub fn system() -> Self {
        Self("system".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_by_id_or_by_subject() {
        let id = Id::<User>::from_bits(42);
        assert_eq!(UserRef::from(id).id(), Some(id));
        let subject = UserRef::new("auth0|5f7c8ec7c33c6c004bbafe82").unwrap();
        assert_eq!(subject.id(), None);
        assert_eq!(subject.subject(), "auth0|5f7c8ec7c33c6c004bbafe82");
        assert_eq!(UserRef::new("user_of_another_provider").unwrap().id(), None);
        assert_eq!(UserRef::new("meeting_0000000000000000000000001a").unwrap().id(), None);
    }

    #[test]
    fn a_reference_is_one_to_255_characters() {
        assert!(UserRef::new("").is_err());
        assert!(UserRef::new("x".repeat(255)).is_ok());
        assert!(UserRef::new("x".repeat(256)).is_err());
        assert!(UserRef::new("a\0b").is_err());
    }

    #[test]
    fn actor_text_includes_its_kind() {
        assert!(Actor::user(Id::from_bits(1)).as_str().starts_with("user_"));
        assert_eq!(Actor::deploy_key("nightly").as_str(), "deploy-key:nightly");
    }
}
