//! Cache keys: the function, the arguments, the format, and the caller if the run used it.
//!
//! Arguments are compared as sent: two spellings of the same arguments are two keys. A canonical form would cost more
//! than a run of most queries.

use std::hash::{Hash, RandomState};
use std::sync::Arc;

use quick_cache::Equivalent;

use crate::codec::Format;
use crate::codec::decode::Body;
use crate::registry::Registered;
use convoke_core::identity::{Caller, Identity};

/// Hashes with a secret of this process, so that clients cannot choose keys that collide.
pub(super) type Hasher = RandomState;

/// A request for a result.
#[derive(Clone, Copy)]
pub(crate) struct CacheRequest<'a> {
    pub(super) function: &'a Registered,
    form: Form,
    text: &'a str,
}

/// The form of the arguments' text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Form {
    Envelope,
    Args(Format),
}

impl<'a> CacheRequest<'a> {
    /// Returns none for a route, whose results are not cached.
    pub(super) fn new(function: &'a Registered, args: Body<'a>) -> Option<Self> {
        let (form, text) = match args {
            Body::Envelope(body) => (Form::Envelope, body),
            Body::Args(args, format) => (Form::Args(format), args),
            Body::Route(_) => return None,
        };
        Some(Self { function, form, text })
    }

    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns the key for one caller, or for all callers.
    pub(super) fn by(&self, caller: Option<&'a Caller>) -> KeyRef<'a> {
        KeyRef { function: self.function.place(), form: self.form, text: self.text, caller }
    }
}

/// The borrowed form of a [`Key`], for lookups.
pub(super) struct KeyRef<'a> {
    function: usize,
    form: Form,
    text: &'a str,
    caller: Option<&'a Caller>,
}

/// The key of a cached result.
#[derive(Debug, Clone)]
pub(super) struct Key {
    function: usize,
    form: Form,
    text: Arc<str>,
    caller: Option<Caller>,
}

impl Key {
    pub(super) fn len(&self) -> usize {
        self.text.len()
    }

    fn borrowed(&self) -> KeyRef<'_> {
        KeyRef { function: self.function, form: self.form, text: &self.text, caller: self.caller.as_ref() }
    }
}

impl KeyRef<'_> {
    pub(super) fn to_owned(&self) -> Key {
        Key { function: self.function, form: self.form, text: self.text.into(), caller: self.caller.cloned() }
    }
}

impl Hash for KeyRef<'_> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        // The form and most parts of a caller are not hashed: equality compares them in full, and each part costs time.
        (self.function, self.text).hash(state);
        let Some(caller) = self.caller else { return };
        let part = caller.identity().map(|identity| (identity.subject.as_str(), identity.issued_at));
        part.hash(state);
    }
}

impl PartialEq for KeyRef<'_> {
    fn eq(&self, other: &Self) -> bool {
        let is_same_caller = match (self.caller, other.caller) {
            (None, None) => true,
            (Some(one), Some(other)) => is_same(one, other),
            _ => false,
        };
        is_same_caller && self.function == other.function && self.form == other.form && self.text == other.text
    }
}

impl Hash for Key {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.borrowed().hash(state);
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.borrowed() == other.borrowed()
    }
}

impl Eq for Key {}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        *self == key.borrowed()
    }
}

/// Returns true if a function cannot distinguish two callers: the same kind, with the same claims, scopes and name.
fn is_same(one: &Caller, other: &Caller) -> bool {
    let are_equal = |one: &Arc<Identity>, other: &Arc<Identity>| Arc::ptr_eq(one, other) || one == other;
    match (one, other) {
        (Caller::Nobody, Caller::Nobody) | (Caller::System, Caller::System) => true,
        (Caller::User(one), Caller::User(other)) => are_equal(one, other),
        (Caller::DeployKey(one), Caller::DeployKey(other)) => {
            let acting = match (&one.acting_as, &other.acting_as) {
                (None, None) => true,
                (Some(one), Some(other)) => are_equal(one, other),
                _ => false,
            };
            acting && one.name == other.name && one.scopes == other.scopes
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use convoke_core::identity::DeployKeyCaller;

    fn user(subject: &str, roles: &[&str]) -> Caller {
        let roles = roles.iter().map(|role| (*role).to_owned()).collect();
        Caller::User(Arc::new(Identity { subject: subject.into(), roles, ..Identity::default() }))
    }

    fn key(scopes: &[&str], acting_as: Option<&str>) -> Caller {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let identity = |subject: &str| Arc::new(Identity { subject: subject.into(), ..Identity::default() });
        Caller::DeployKey(Arc::new(DeployKeyCaller { name: "ci".into(), scopes, acting_as: acting_as.map(identity) }))
    }

    #[test]
    fn callers_are_equal_only_if_a_function_cannot_distinguish_them() {
        let all = || {
            [
                Caller::Nobody,
                Caller::System,
                user("ada", &[]),
                user("ada", &["admin"]),
                user("bob", &[]),
                key(&["functions"], None),
                key(&["functions", "act-as"], None),
                key(&["functions"], Some("ada")),
            ]
        };
        for (place, one) in all().iter().enumerate() {
            for (other_place, other) in all().iter().enumerate() {
                assert_eq!(is_same(one, other), place == other_place, "{one:?} and {other:?}");
            }
        }
    }
}
