//! Deploy keys: their text, what is stored of them, and whether one is accepted.
//!
//! A key is `{environment}:{name}|{secret}`, shown once when it is made. Only the SHA-256 of the secret is kept: 32
//! random bytes need no slow hash. Everything here is pure; the table of keys is given as [`DeployKeys`].
//!
//! Whatever holds a secret for a while is zeroed after use: its random bytes, its base64, the hash's input, the text of
//! the key, the answer that shows it, and the request that it came with.

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

/// The keys that exist (in a server: [`super::deploy_key_cache::DeployKeyCache`]). Asked at every call with a key, so that a revocation takes effect as soon as the answer
/// changes.
pub trait DeployKeys: Send + Sync + 'static {
    /// What is stored of the key of this name. Must not wait: answer from memory.
    fn find(&self, name: &str) -> Option<StoredKey>;

    /// Notes that the key was accepted at `at`. Must not wait.
    fn used(&self, name: &str, at: Millis) {
        let _ = (name, at);
    }
}

/// No keys: every one is refused.
pub struct NoDeployKeys;

impl DeployKeys for NoDeployKeys {
    fn find(&self, _: &str) -> Option<StoredKey> {
        None
    }
}

/// What a deploy key may do. The docs of each are what people choose by: see [`Scope::allows`].
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
    /// see and end live connections
    Live,
    /// take, list and remove backups
    Backup,
    /// download backups
    BackupDownload,
    /// list, set and remove secrets; their values are never shown
    Secrets,
    /// make, list, rotate and revoke deploy keys; read the record of their uses
    Keys,
}

impl Scope {
    /// Whether the key of this caller may do it.
    pub fn is_held_by(self, caller: &DeployKeyCaller) -> bool {
        caller.scopes.iter().any(|own| own == self.as_str())
    }

    /// All of them.
    pub const ALL: [Scope; 12] = [
        Scope::Functions,
        Scope::Internal,
        Scope::ActAs,
        Scope::Logs,
        Scope::Data,
        Scope::DataWrite,
        Scope::Jobs,
        Scope::Live,
        Scope::Backup,
        Scope::BackupDownload,
        Scope::Secrets,
        Scope::Keys,
    ];

    /// The spelling in settings, in [`DeployKeyCaller::scopes`] and in refusals.
    pub const fn as_str(self) -> &'static str {
        match self {
            Scope::Functions => "functions",
            Scope::Internal => DeployKeyCaller::INTERNAL,
            Scope::ActAs => "act-as",
            Scope::Logs => "logs",
            Scope::Data => "data",
            Scope::DataWrite => "data-write",
            Scope::Jobs => "jobs",
            Scope::Live => "live",
            Scope::Backup => "backup",
            Scope::BackupDownload => "backup-download",
            Scope::Secrets => "secrets",
            Scope::Keys => "keys",
        }
    }

    /// What a key with this scope may do, as a list of verbs.
    pub fn allows(self) -> String {
        use clap::ValueEnum as _;
        let value = self.to_possible_value();
        value.and_then(|value| value.get_help().map(ToString::to_string)).unwrap_or_default()
    }

    /// Every scope and what it allows, a line each: for those who have to choose.
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

/// The text names none of the scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a scope is functions, internal, act-as, logs, data, data-write, jobs, live, backup, backup-download, secrets or keys"
)]
pub struct UnknownScope;

impl std::str::FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        Scope::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or(UnknownScope)
    }
}

/// Why a key is refused. `Display` is for the client. What is said of an existing key is said only to who knows its
/// secret: a wrong secret and an unknown name read the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeployKeyError {
    /// Not `{environment}:{name}|{secret}`.
    #[error("deploy key cannot be read: expected `environment:name|secret`")]
    Malformed,
    /// No such key, or not its secret.
    #[error("deploy key not accepted")]
    NotAccepted,
    /// A key of another deployment.
    #[error("deploy key is of another environment")]
    OtherEnvironment,
    /// It was taken back.
    #[error("deploy key was revoked")]
    Revoked,
    /// Its time is over.
    #[error("deploy key has expired")]
    Expired,
    /// The suffix is not the base64 JSON of an identity.
    #[error("deploy key names no user to act as: expected base64 of {{'issuer': …, 'subject': …}}")]
    ActingAs,
}

/// What is stored of one key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredKey {
    /// The one deployment in which it is accepted.
    pub environment: Environment,
    /// The secrets that are accepted: one, or after a rotation also former ones for a while.
    pub secrets: Vec<StoredSecret>,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// From then on it is refused.
    pub expires_at: Option<Millis>,
    /// Whether it was taken back.
    pub revoked: bool,
}

/// The SHA-256 of a secret, and until when it is accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredSecret {
    /// SHA-256 of the secret's text.
    pub hash: [u8; 32],
    /// From then on it is refused; `None` for the current one.
    pub until: Option<Millis>,
}

/// The text of a new key. It is shown once and kept nowhere; `{:?}` hides the secret.
pub struct NewKey(SecretString);

impl NewKey {
    /// `{environment}:{name}|{secret}`.
    pub fn reveal(&self) -> &str {
        self.0.expose_secret()
    }
}

impl std::fmt::Debug for NewKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}|…", self.reveal().split('|').next().unwrap_or_default())
    }
}

/// The system has no random bytes to give.
#[derive(Debug, thiserror::Error)]
#[error("no random bytes: {0}")]
pub struct NoRandomness(getrandom::Error);

/// Why a key cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum MintError {
    /// The name does not fit.
    #[error("a deploy key's name is 1 to 64 of letters, digits, `.`, `_` and `-`, and begins with a letter or digit")]
    Name,
    /// No secret could be drawn.
    #[error(transparent)]
    NoRandomness(#[from] NoRandomness),
}

/// Makes a key of this name: its text for the person who asked, and what to store.
///
/// # Errors
/// A name that cannot stand in a key.
pub fn mint(
    environment: Environment,
    name: &str,
    scopes: impl Into<Vec<Scope>>,
    expires_at: Option<Millis>,
) -> Result<(NewKey, StoredKey), MintError> {
    // A name is a part of the path by which a key is revoked, and clients take `..` out of a path.
    if !is_name(name) || !name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        return Err(MintError::Name);
    }
    let secret = new_secret()?;
    let secrets = vec![StoredSecret { hash: hash(&secret), until: None }];
    let stored = StoredKey { environment, secrets, scopes: scopes.into(), expires_at, revoked: false };
    Ok((text(environment, name, &secret), stored))
}

impl StoredKey {
    /// Gives the key a new secret; the former one is accepted for `overlap` more. A secret that was already on its way
    /// out keeps its own end.
    ///
    /// # Errors
    /// When the system has no random bytes.
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

    /// Compares with every secret, in a time that does not depend on which of them fits or how far.
    fn knows(&self, given: &[u8; 32], now: Millis) -> bool {
        let fits = self.secrets.iter().filter(|own| own.until.is_none_or(|until| now < until));
        fits.fold(subtle::Choice::from(0), |any, own| any | own.hash.ct_eq(given)).into()
    }
}

/// A refusal, before the keyword is known under which the key was sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Rejection {
    /// The key itself.
    Key(DeployKeyError),
    /// A good key without this scope.
    Scope(Scope),
}

impl From<DeployKeyError> for Rejection {
    fn from(error: DeployKeyError) -> Self {
        Rejection::Key(error)
    }
}

/// Who calls with the key `given`, `{environment}:{name}|{secret}` with an optional `:{user}` behind it.
///
/// # Errors
/// Why the key is not accepted here and now; [`Scope::ActAs`] if it names a user and may not.
pub fn accept(
    given: &str,
    environment: Environment,
    keys: &dyn DeployKeys,
    now: Millis,
) -> Result<DeployKeyCaller, Rejection> {
    let given = Given::parse(given)?;
    let user = given.user.map(|user| acting_as::read_identity(user).ok_or(DeployKeyError::ActingAs));
    given.proof().accept(environment, keys, now, || user.transpose())
}

/// What is left of a key once it was read: enough to ask again later whether it is accepted, and nothing that opens a
/// door.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyProof {
    environment: Environment,
    name: String,
    hash: [u8; 32],
}

impl KeyProof {
    /// Of the text of a key, `{environment}:{name}|{secret}`.
    ///
    /// # Errors
    /// [`DeployKeyError::Malformed`].
    pub fn of(given: &str) -> Result<Self, DeployKeyError> {
        Given::parse(given).map(|given| given.proof())
    }

    /// As it was stored: the parts that [`KeyProof::parts`] returned.
    pub(crate) fn stored(environment: Environment, name: String, hash: [u8; 32]) -> Self {
        Self { environment, name, hash }
    }

    /// The key's deployment, its name, and the SHA-256 of its secret.
    pub(crate) fn parts(&self) -> (Environment, &str, &[u8; 32]) {
        (self.environment, &self.name, &self.hash)
    }

    /// The key's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Who calls with this key, as the user that `acting_as` names, if any.
    ///
    /// # Errors
    /// As [`accept`].
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

/// A key as it was sent, taken apart.
struct Given<'a> {
    environment: Environment,
    name: &'a str,
    secret: &'a str,
    user: Option<&'a str>,
}

impl<'a> Given<'a> {
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
/// The base64url text of a secret.
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
    // In one piece: a text that grows leaves its beginnings behind.
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
    fn a_new_key_is_accepted_and_names_its_scopes() {
        let (key, stored) = minted(&[Scope::Functions, Scope::Logs]);
        let (head, secret) = key.reveal().split_once('|').unwrap();
        assert_eq!((head, secret.len()), ("staging:ci", 43));

        let caller = accept_at(key.reveal(), &stored, NOW).unwrap();

        assert_eq!((caller.name.as_str(), caller.scopes.as_slice()), ("ci", &["functions".into(), "logs".into()][..]));
        assert!(Scope::Logs.is_held_by(&caller) && !Scope::Data.is_held_by(&caller));
        assert!(caller.acting_as.is_none());
    }

    #[test]
    fn what_is_stored_and_what_is_shown_in_a_log_holds_no_secret() {
        let (key, stored) = minted(&Scope::ALL);
        let secret = key.reveal().split_once('|').unwrap().1;
        assert!(!serde_json::to_string(&stored).unwrap().contains(secret));
        assert_eq!(format!("{key:?}"), "staging:ci|…");
    }

    #[test]
    fn a_wrong_secret_and_an_unknown_name_are_refused_alike() {
        let (key, stored) = minted(&[]);
        let (other, _) = minted(&[]);
        assert_eq!(refused(other.reveal(), &stored), DeployKeyError::NotAccepted);
        let unknown = key.reveal().replace("ci", "cd");
        assert_eq!(refused(&unknown, &stored), DeployKeyError::NotAccepted);
    }

    #[test]
    fn a_key_of_another_environment_is_refused() {
        let (key, stored) = minted(&[]);
        let elsewhere = key.reveal().replace("staging", "production");
        assert_eq!(refused(&elsewhere, &stored), DeployKeyError::OtherEnvironment);
        let moved = StoredKey { environment: Environment::Development, ..stored };
        assert_eq!(refused(key.reveal(), &moved), DeployKeyError::OtherEnvironment);
    }

    #[test]
    fn an_expired_or_revoked_key_is_refused_and_only_who_knows_the_secret_learns_why() {
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
    fn a_key_acts_as_a_user_only_with_the_scope() {
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
    fn a_text_that_is_no_key_is_malformed() {
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
    fn every_scope_says_what_it_allows() {
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
