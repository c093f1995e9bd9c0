//! Deploy keys: their text, their stored form, and their check.
//!
//! A key is `{environment}:{name}|{secret}`, shown once when it is created. Only the SHA-256 of the secret is stored:
//! 32 random bytes need no slow hash. All functions here are pure; [`DeployKeys`] provides the table of keys.
//!
//! All memory with a secret is zeroed after use: the random bytes, their base64, the input of the hash, the text of the
//! key, the response that shows the key, and the request that carries it.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use super::acting_as;
use super::environment::Environment;
use convoke_core::clock::Millis;
use convoke_core::identity::{DeployKeyCaller, Identity};

/// The existing keys; in a server, [`super::deploy_key_cache::DeployKeyCache`]. Each call with a key looks the key up,
/// so that a revocation takes effect immediately.
pub trait DeployKeys: Send + Sync + 'static {
    /// Returns the stored key of this name. Must not wait.
    fn find(&self, name: &str) -> Option<StoredKey>;

    /// Records that the key was accepted at `at`. Must not wait.
    fn used(&self, name: &str, at: Millis) {
        let _ = (name, at);
    }
}

/// An empty table: every key is rejected.
pub struct NoDeployKeys;

impl DeployKeys for NoDeployKeys {
    fn find(&self, _: &str) -> Option<StoredKey> {
        None
    }
}

/// A right of a deploy key. The docs of the variants are the help texts: see [`Scope::allows`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// call functions, admin ones too; see and apply the schema
    Functions,
    /// call internal functions too, with the scope functions
    Internal,
    /// call functions as a user that the caller names
    ActAs,
    /// follow the live logs
    Logs,
    /// read and export tables; see the settings; run the doctor
    Data,
    /// add, change and delete rows
    DataWrite,
    /// see, run again and cancel jobs
    Jobs,
    /// manage webhook endpoints; see and redeliver webhooks
    Webhooks,
    /// see and end live connections
    Live,
    /// take, list and remove backups
    Backup,
    /// download backups
    BackupDownload,
    /// promote a server that follows copies
    Promote,
    /// list, set and remove secrets; their values are never shown
    Secrets,
    /// create, list, rotate and revoke deploy keys; read the record of their uses
    Keys,
}

impl Scope {
    /// Returns true if the caller's key has this scope.
    pub fn is_held_by(self, caller: &DeployKeyCaller) -> bool {
        caller.scopes.iter().any(|own| own == self.as_str())
    }

    /// All scopes.
    pub const ALL: [Scope; 14] = [
        Scope::Functions,
        Scope::Internal,
        Scope::ActAs,
        Scope::Logs,
        Scope::Data,
        Scope::DataWrite,
        Scope::Jobs,
        Scope::Webhooks,
        Scope::Live,
        Scope::Backup,
        Scope::BackupDownload,
        Scope::Promote,
        Scope::Secrets,
        Scope::Keys,
    ];

    /// Returns the spelling in settings, in [`DeployKeyCaller::scopes`] and in rejections.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Functions => "functions",
            Scope::Internal => DeployKeyCaller::INTERNAL,
            Scope::ActAs => "act-as",
            Scope::Logs => "logs",
            Scope::Data => "data",
            Scope::DataWrite => "data-write",
            Scope::Jobs => "jobs",
            Scope::Webhooks => "webhooks",
            Scope::Live => "live",
            Scope::Backup => "backup",
            Scope::BackupDownload => "backup-download",
            Scope::Promote => "promote",
            Scope::Secrets => "secrets",
            Scope::Keys => "keys",
        }
    }

    /// Returns the actions that this scope allows, as a list of verbs.
    pub fn allows(self) -> String {
        use clap::ValueEnum as _;
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }

    /// Returns a help text with one line per scope and the actions that it allows.
    pub fn choice() -> String {
        let lines = Scope::ALL.map(|scope| format!("  {:<15} {}", scope.as_str(), scope.allows()));
        lines.join("\n")
    }
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a scope is functions, internal, act-as, logs, data, data-write, jobs, webhooks, live, backup, backup-download, \
     promote, secrets or keys"
)]
pub struct UnknownScope;

impl std::str::FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        Scope::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or(UnknownScope)
    }
}

/// The reason why a key is rejected. `Display` is for the client. Without the secret, a client learns nothing about a
/// key: a wrong secret and an unknown name have the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeployKeyError {
    /// Not `{environment}:{name}|{secret}`.
    #[error("deploy key cannot be read: expected `environment:name|secret`")]
    Malformed,
    /// An unknown name or a wrong secret.
    #[error("deploy key not accepted")]
    NotAccepted,
    /// The key is of another deployment.
    #[error("deploy key is of another environment")]
    OtherEnvironment,
    /// The key was revoked.
    #[error("deploy key was revoked")]
    Revoked,
    /// The key has expired.
    #[error("deploy key has expired")]
    Expired,
    /// The suffix is not the base64 JSON of an identity.
    #[error("deploy key names no user to act as: expected base64 of {{'issuer': …, 'subject': …}}")]
    ActingAs,
}

/// A stored key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredKey {
    /// The one deployment in which it is accepted.
    pub environment: Environment,
    /// The accepted secrets: the current one, and after a rotation the previous ones until they expire.
    pub secrets: Vec<StoredSecret>,
    /// The rights of the key.
    pub scopes: Vec<Scope>,
    /// Time from which the key is rejected.
    pub expires_at: Option<Millis>,
    /// True if the key was revoked.
    pub revoked: bool,
}

/// The SHA-256 of a secret and its expiry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredSecret {
    /// SHA-256 of the secret's text.
    pub hash: [u8; 32],
    /// Time from which the secret is rejected; `None` for the current secret.
    pub until: Option<Millis>,
}

/// The text of a new key. It is shown once and not stored. `{:?}` hides the secret.
pub struct NewKey(SecretString);

impl NewKey {
    /// Returns `{environment}:{name}|{secret}`.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}|…", self.reveal().split('|').next().unwrap_or_default())
    }
}

/// The system provides no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("no random bytes: {0}")]
pub struct NoRandomness(getrandom::Error);

/// The reason why a key cannot be created.
#[derive(Debug, thiserror::Error)]
pub enum MintError {
    /// The name is invalid.
    #[error("a deploy key's name is 1 to 64 of letters, digits, `.`, `_` and `-`, and begins with a letter or digit")]
    Name,
    /// No secret could be generated.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

/// Creates a key of this name. Returns its text for the caller, and the key to store.
///
/// # Errors
/// An invalid name, or no random bytes.
pub fn mint(
    environment: Environment,
    name: &str,
    scopes: impl Into<Vec<Scope>>,
    expires_at: Option<Millis>,
) -> Result<(NewKey, StoredKey), MintError> {
    // The name is a segment of the path that revokes the key, and clients remove `..` from paths.
    if !is_name(name) || !name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return Err(MintError::Name);
    }
    let secret = new_secret()?;
    let secrets = vec![StoredSecret { hash: hash(&secret), until: None }];
    let stored = StoredKey { environment, secrets, scopes: scopes.into(), expires_at, revoked: false };
    Ok((text(environment, name, &secret), stored))
}

impl StoredKey {
    /// Replaces the secret. The previous secret is accepted for `overlap` more; earlier secrets keep their own expiry.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn rotate(&mut self, name: &str, now: Millis, overlap: Duration) -> Result<NewKey, NoRandomness> {
        let secret = new_secret()?;
        self.secrets.retain(|old| old.until.is_none_or(|until| now < until));
        for old in &mut self.secrets {
            old.until.get_or_insert(now + overlap);
        }
        self.secrets.insert(0, StoredSecret { hash: hash(&secret), until: None });
        Ok(text(self.environment, name, &secret))
    }

    fn check(&self, environment: Environment, now: Millis) -> Result<(), DeployKeyError> {
        if self.environment != environment {
            return Err(DeployKeyError::OtherEnvironment);
        }
        if self.revoked {
            return Err(DeployKeyError::Revoked);
        }
        if self.expires_at.is_some_and(|end| now >= end) {
            return Err(DeployKeyError::Expired);
        }
        Ok(())
    }

    /// Compares with every secret in constant time.
    fn knows(&self, given: &[u8; 32], now: Millis) -> bool {
        let fits = self.secrets.iter().filter(|own| own.until.is_none_or(|until| now < until));
        fits.fold(subtle::Choice::from(0), |any, own| any | own.hash.ct_eq(given)).into()
    }
}

/// The rejection of a key, without the scheme of the header.
#[derive(Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The key is rejected.
    Key(DeployKeyError),
    /// The key is valid but lacks this scope.
    Scope(Scope),
}

impl From<DeployKeyError> for Rejection {
    fn from(error: DeployKeyError) -> Self {
        Rejection::Key(error)
    }
}

/// Returns the caller of the key `given`: `{environment}:{name}|{secret}`, optionally followed by `:{user}`.
///
/// # Errors
/// The reason why the key is rejected; [`Scope::ActAs`] if it names a user without this scope.
pub fn accept(
    given: &str,
    environment: Environment,
    keys: &dyn DeployKeys,
    now: Millis,
) -> Result<DeployKeyCaller, Rejection> {
    let given = ParsedKey::parse(given)?;
    let user = given.user.map(|user| acting_as::read_identity(user).ok_or(DeployKeyError::ActingAs));
    given.proof().accept(environment, keys, now, || user.transpose())
}

/// The proof that a client presented a key. It allows later checks of the key, but does not contain the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyProof {
    environment: Environment,
    name: String,
    hash: [u8; 32],
}

impl KeyProof {
    /// Creates the proof from the text of a key, `{environment}:{name}|{secret}`.
    ///
    /// # Errors
    /// [`DeployKeyError::Malformed`].
    pub fn of(given: &str) -> Result<Self, DeployKeyError> {
        ParsedKey::parse(given).map(|given| given.proof())
    }

    /// Restores a stored proof from its [`KeyProof::parts`].
    pub(crate) fn stored(environment: Environment, name: String, hash: [u8; 32]) -> Self {
        Self { environment, name, hash }
    }

    /// Returns the key's deployment, its name, and the SHA-256 of its secret.
    pub(crate) fn parts(&self) -> (Environment, &str, &[u8; 32]) {
        (self.environment, &self.name, &self.hash)
    }

    /// Returns the key's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the caller of this key. `acting_as` returns the user that it acts as, if any.
    ///
    /// # Errors
    /// Those of [`accept`].
    pub fn accept(
        &self,
        environment: Environment,
        keys: &dyn DeployKeys,
        now: Millis,
        acting_as: impl FnOnce() -> Result<Option<Identity>, DeployKeyError>,
    ) -> Result<DeployKeyCaller, Rejection> {
        if self.environment != environment {
            return Err(DeployKeyError::OtherEnvironment.into());
        }
        let stored = keys.find(&self.name).filter(|stored| stored.knows(&self.hash, now));
        let stored = stored.ok_or(DeployKeyError::NotAccepted)?;
        stored.check(environment, now)?;
        let acting_as = acting_as();
        if !matches!(acting_as, Ok(None)) && !stored.scopes.contains(&Scope::ActAs) {
            return Err(Rejection::Scope(Scope::ActAs));
        }
        let acting_as = acting_as?.map(Arc::new);
        keys.used(&self.name, now);
        let scopes = stored.scopes.iter().map(|scope| scope.as_str().to_owned()).collect();
        Ok(DeployKeyCaller { name: self.name.clone(), scopes, acting_as })
    }
}

/// The parsed text of a key.
struct ParsedKey<'a> {
    environment: Environment,
    name: &'a str,
    secret: &'a str,
    user: Option<&'a str>,
}

impl<'a> ParsedKey<'a> {
    fn proof(&self) -> KeyProof {
        KeyProof { environment: self.environment, name: self.name.to_owned(), hash: hash(self.secret) }
    }

    fn parse(text: &'a str) -> Result<Self, DeployKeyError> {
        let (key, rest) = text.split_once('|').ok_or(DeployKeyError::Malformed)?;
        let (environment, name) = key.split_once(':').ok_or(DeployKeyError::Malformed)?;
        let environment = environment.parse().map_err(|_| DeployKeyError::Malformed)?;
        // Neither base64 alphabet has a colon, so the first one ends the secret.
        let (secret, user) = rest.split_once(':').map_or((rest, None), |(secret, user)| (secret, Some(user)));
        let whole = is_name(name) && secret.len() == SECRET_CHARS && secret.bytes().all(is_base64url);
        if whole { Ok(Self { environment, name, secret, user }) } else { Err(DeployKeyError::Malformed) }
    }
}

const SECRET_BYTES: usize = 32;
/// Length of a secret in base64url.
const SECRET_CHARS: usize = 43;

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}

fn is_base64url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

fn new_secret() -> Result<Zeroizing<String>, NoRandomness> {
    let mut bytes = Zeroizing::new([0; SECRET_BYTES]);
    getrandom::fill(&mut *bytes).map_err(NoRandomness)?;
    Ok(Zeroizing::new(URL_SAFE_NO_PAD.encode(bytes.as_slice())))
}

fn text(environment: Environment, name: &str, secret: &str) -> NewKey {
    // One allocation: a growing text would leave copies of the secret in freed memory.
    NewKey([environment.as_str(), ":", name, "|", secret].concat().into())
}

fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use base64::engine::general_purpose::STANDARD;

    use super::*;

    const STAGING: Environment = Environment::Staging;
    const NOW: Millis = Millis(1_000_000);

    struct Table(HashMap<&'static str, StoredKey>);

    impl DeployKeys for Table {
        fn find(&self, name: &str) -> Option<StoredKey> {
            self.0.get(name).cloned()
        }
    }

    fn minted(scopes: &[Scope]) -> (NewKey, StoredKey) {
        mint(STAGING, "ci", scopes, None).unwrap()
    }

    fn accept_at(given: &str, stored: &StoredKey, now: Millis) -> Result<DeployKeyCaller, Rejection> {
        accept(given, STAGING, &Table(HashMap::from([("ci", stored.clone())])), now)
    }

    fn refused(given: &str, stored: &StoredKey) -> DeployKeyError {
        match accept_at(given, stored, NOW).unwrap_err() {
            Rejection::Key(error) => error,
            Rejection::Scope(scope) => panic!("{scope}"),
        }
    }

    #[test]
    fn new_key_is_accepted_with_its_scopes() {
        let (key, stored) = minted(&[Scope::Functions, Scope::Logs]);
        let (head, secret) = key.reveal().split_once('|').unwrap();
        assert_eq!((head, secret.len()), ("staging:ci", 43));

        let caller = accept_at(key.reveal(), &stored, NOW).unwrap();

        assert_eq!((caller.name.as_str(), caller.scopes.as_slice()), ("ci", &["functions".into(), "logs".into()][..]));
        assert!(Scope::Logs.is_held_by(&caller) && !Scope::Data.is_held_by(&caller));
        assert!(caller.acting_as.is_none());
    }

    #[test]
    fn stored_key_and_log_contain_no_secret() {
        let (key, stored) = minted(&Scope::ALL);
        let secret = key.reveal().split_once('|').unwrap().1;
        assert!(!serde_json::to_string(&stored).unwrap().contains(secret));
        assert_eq!(format!("{key:?}"), "staging:ci|…");
    }

    #[test]
    fn wrong_secret_and_unknown_name_are_rejected_alike() {
        let (key, stored) = minted(&[]);
        let (other, _) = minted(&[]);
        assert_eq!(refused(other.reveal(), &stored), DeployKeyError::NotAccepted);
        let unknown = key.reveal().replace("ci", "cd");
        assert_eq!(refused(&unknown, &stored), DeployKeyError::NotAccepted);
    }

    #[test]
    fn key_of_another_environment_is_rejected() {
        let (key, stored) = minted(&[]);
        let elsewhere = key.reveal().replace("staging", "production");
        assert_eq!(refused(&elsewhere, &stored), DeployKeyError::OtherEnvironment);
        let moved = StoredKey { environment: Environment::Development, ..stored };
        assert_eq!(refused(key.reveal(), &moved), DeployKeyError::OtherEnvironment);
    }

    #[test]
    fn reason_of_a_rejected_key_needs_its_secret() {
        let (key, stored) = minted(&[]);
        let expired = StoredKey { expires_at: Some(NOW), ..stored.clone() };
        assert_eq!(refused(key.reveal(), &expired), DeployKeyError::Expired);
        assert!(accept_at(key.reveal(), &expired, Millis(NOW.get() - 1)).is_ok());
        let revoked = StoredKey { revoked: true, ..stored };
        assert_eq!(refused(key.reveal(), &revoked), DeployKeyError::Revoked);
        assert_eq!(refused(minted(&[]).0.reveal(), &revoked), DeployKeyError::NotAccepted);
    }

    #[test]
    fn after_a_rotation_both_secrets_are_accepted_until_the_overlap_ends() {
        let (first, mut stored) = minted(&[]);
        let second = stored.rotate("ci", NOW, Duration::from_secs(60)).unwrap();
        let (before, after) = (Millis(NOW.get() + 59_999), Millis(NOW.get() + 60_000));
        assert!(accept_at(first.reveal(), &stored, before).is_ok());
        assert!(accept_at(second.reveal(), &stored, before).is_ok());
        assert_eq!(accept_at(first.reveal(), &stored, after).unwrap_err(), DeployKeyError::NotAccepted.into());
        assert!(accept_at(second.reveal(), &stored, after).is_ok());

        let third = stored.rotate("ci", after, Duration::ZERO).unwrap();
        assert_eq!(stored.secrets.len(), 2, "the first one is gone");
        assert!(accept_at(second.reveal(), &stored, after).is_err());
        assert!(accept_at(third.reveal(), &stored, after).is_ok());
    }

    #[test]
    fn acting_as_a_user_needs_its_scope() {
        let user = STANDARD.encode(r#"{"issuer":"https://id.example","subject":"u1"}"#);
        let (key, stored) = minted(&[Scope::Functions]);
        let given = format!("{}:{user}", key.reveal());
        assert_eq!(accept_at(&given, &stored, NOW).unwrap_err(), Rejection::Scope(Scope::ActAs));

        let (key, stored) = minted(&[Scope::ActAs]);
        let caller = accept_at(&format!("{}:{user}", key.reveal()), &stored, NOW).unwrap();
        assert_eq!(caller.acting_as.unwrap().token_identifier(), "https://id.example|u1");
        assert_eq!(refused(&format!("{}:e30=", key.reveal()), &stored), DeployKeyError::ActingAs);
        assert_eq!(refused(&format!("{}:", key.reveal()), &stored), DeployKeyError::ActingAs);
    }

    #[test]
    fn text_without_key_form_is_malformed() {
        let (key, stored) = minted(&[]);
        let secret = key.reveal().split_once('|').unwrap().1;
        for text in [
            "",
            "staging:ci",
            &format!("ci|{secret}"),
            &format!("prod:ci|{secret}"),
            &format!("staging:|{secret}"),
            &format!("staging:a b|{secret}"),
            &format!("staging:ci|{secret}x"),
            &format!("staging:ci|{}", &secret[1..]),
            &format!("staging:ci|{}+", &secret[1..]),
        ] {
            assert_eq!(refused(text, &stored), DeployKeyError::Malformed, "{text}");
        }
        for name in ["a|b", "", ".", "..", "-a", "é"] {
            assert!(matches!(mint(STAGING, name, [], None), Err(MintError::Name)), "{name}");
        }
        assert!(matches!(mint(STAGING, &"x".repeat(65), [], None), Err(MintError::Name)));
    }

    #[test]
    fn every_scope_has_a_description() {
        for scope in Scope::ALL {
            assert!(Scope::choice().lines().any(|line| line.trim_start().starts_with(scope.as_str())), "{scope}");
            assert!(scope.allows().len() > 10, "{scope}: {:?}", scope.allows());
        }
    }

    #[test]
    fn every_scope_reads_back_as_it_is_written() {
        for scope in Scope::ALL {
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
            assert_eq!(scope.as_str().parse(), Ok(scope));
        }
    }
}
