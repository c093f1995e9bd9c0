//! Sessions of the console: one-time codes that open a session, sessions with two secrets each, and tickets for
//! downloads.
//!
//! Codes and tickets are in memory and end with the process. Sessions are also rows, so that they survive a restart and
//! are valid at every node. Only the SHA-256 of a secret is stored. A session needs its cookie and the secret that the
//! page sends in a header: browsers share cookies between all ports of a host, and send them with requests that other
//! sites cause.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use convoke_macros::{table, value};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::auth::deploy_key::KeyProof;
use convoke_core::clock::{Clock, Millis};
use convoke_core::error::{Code, Error, Result};
use convoke_store::{Database, Doc};

/// Lifetime of a code.
const CODE_LIFE: Duration = Duration::from_secs(60);
/// Lifetime of a session.
pub const SESSION_LIFE: Duration = Duration::from_secs(8 * 60 * 60);
/// Lifetime of a ticket.
const TICKET_LIFE: Duration = Duration::from_secs(60);
/// Time for which an ended session is stored, so that a page can say why it ended.
const ENDED_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// Limits of open codes, of sessions, and of the tickets per session. At a limit, the oldest is evicted.
const CODES_MAX: usize = 64;
const SESSIONS_MAX: usize = 256;
const TICKETS_MAX: usize = 16;
/// Time in which repeated requests of a page are recorded only once, and the limit of distinct requests per session.
const LOOK_LIFE: Duration = Duration::from_secs(10 * 60);
const LOOKS_MAX: usize = 256;

type Hash = [u8; 32];

/// The rights of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// All rights, like access to the data folder.
    Operator,
    /// The rights of a deploy key, as long as the key is accepted.
    Key(KeyProof),
}

/// A stored session. Its secrets are stored as hashes.
#[table(name = "_consoleSessions", prefix = "consolesession")]
#[index(by_cookie(cookie), unique)]
#[index(by_end(ends_at))]
pub(super) struct ConsoleSession {
    /// SHA-256 of the cookie, in base64url.
    pub cookie: String,
    /// SHA-256 of the page's secret, in base64url.
    pub secret: String,
    /// The deploy key that logged in; `None` for the operator.
    pub key: Option<String>,
    /// The proof of the deploy key.
    pub proof: Option<SessionProof>,
    /// Expiry.
    pub ends_at: Millis,
    /// Time of the logout.
    pub logged_out_at: Option<Millis>,
}

/// The deployment and the secret's hash of the deploy key that logged in.
#[value]
#[derive(Clone, PartialEq, Eq)]
pub(super) struct SessionProof {
    /// The key's deployment.
    pub environment: String,
    /// SHA-256 of the key's secret, in base64url.
    pub hash: String,
}

impl ConsoleSession {
    /// Converts the row into a session; `None` for an invalid row.
    fn session(&self) -> Option<Session> {
        let hash = |text: &str| URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok();
        let holder = match (&self.key, &self.proof) {
            (None, None) => Holder::Operator,
            (Some(name), Some(proof)) => {
                Holder::Key(KeyProof::stored(proof.environment.parse().ok()?, name.clone(), hash(&proof.hash)?))
            }
            (Some(_), None) | (None, Some(_)) => return None,
        };
        Some(Session::new(holder, hash(&self.secret)?, self.ends_at))
    }

    fn of(cookie: &Hash, session: &Session) -> Self {
        let text = |hash: &Hash| URL_SAFE_NO_PAD.encode(hash);
        let (key, proof) = match &session.holder {
            Holder::Operator => (None, None),
            Holder::Key(proof) => {
                let (environment, name, hash) = proof.parts();
                let proof = SessionProof { environment: environment.to_string(), hash: text(hash) };
                (Some(name.to_owned()), Some(proof))
            }
        };
        let (secret, ends_at) = (text(&session.secret), session.ends_at);
        Self { cookie: text(cookie), secret, key, proof, ends_at, logged_out_at: None }
    }
}

/// The reason why a request has no session. `Display` is for the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSession {
    /// The browser sends no cookie: it never had one, or the cookie expired.
    #[error("This browser is not logged in, or its session of 8 hours has expired")]
    NoCookie,
    /// The page's secret is missing or belongs to another session.
    #[error("This page is not logged in")]
    WrongSecret,
    /// The session is older than 8 hours.
    #[error("The session has expired after 8 hours")]
    Expired,
    /// The session was logged out, possibly in another tab or at another node.
    #[error("The session was logged out")]
    LoggedOut,
    /// The session has no row.
    #[error(
        "The server does not know the session: the data folder is another one or was restored, or newer sessions took its place"
    )]
    Unknown,
}

impl From<NoSession> for Error {
    fn from(reason: NoSession) -> Self {
        Error::new(Code::InvalidCredentials, format!("{reason}; log in again"))
    }
}

/// The secrets of a new session, which are sent to the browser once.
#[derive(Debug)]
pub struct Opened {
    /// The value of the cookie.
    pub cookie: String,
    /// The secret that the page sends in a header.
    pub secret: String,
}

/// The codes, sessions and tickets of a server.
pub struct Sessions {
    clock: Arc<dyn Clock>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    codes: HashMap<Hash, (Holder, Duration)>,
    sessions: HashMap<Hash, Session>,
}

#[derive(Clone)]
struct Session {
    holder: Holder,
    secret: Hash,
    ends_at: Millis,
    /// True if the row could not be written, so the session exists only in memory.
    is_unstored: bool,
    tickets: HashMap<Hash, (String, Duration)>,
    /// Hashes of recent requests, each with the time until which it is not recorded again.
    looked_at: HashMap<Hash, Duration>,
}

impl Session {
    fn new(holder: Holder, secret: Hash, ends_at: Millis) -> Self {
        let (tickets, looked_at) = (HashMap::new(), HashMap::new());
        Self { holder, secret, ends_at, is_unstored: false, tickets, looked_at }
    }

    fn check(&self, secret: &[u8], now: Millis) -> std::result::Result<(Holder, Duration), NoSession> {
        let fits: bool = self.secret.ct_eq(&Sha256::digest(secret)[..]).into();
        match (fits, now < self.ends_at) {
            (false, _) => Err(NoSession::WrongSecret),
            (true, false) => Err(NoSession::Expired),
            (true, true) => Ok((self.holder.clone(), self.ends_at.since(now))),
        }
    }
}

impl Sessions {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// Returns a code that opens one session for this holder.
    ///
    /// # Errors
    /// `INTERNAL`: the system has no random bytes.
    pub fn code(&self, holder: Holder) -> Result<String> {
        let code = random()?;
        let now = self.clock.monotonic();
        let mut state = self.state.lock();
        make_room(&mut state.codes, CODES_MAX, now, |(_, until)| *until);
        state.codes.insert(hash(&code), (holder, now + CODE_LIFE));
        Ok(code)
    }

    /// Removes a code and returns its holder.
    pub fn redeem(&self, code: &str) -> Option<Holder> {
        let (holder, until) = self.state.lock().codes.remove(&hash(code))?;
        (self.clock.monotonic() < until).then_some(holder)
    }

    /// Opens a session. If its row cannot be written, the session ends with the process.
    ///
    /// # Errors
    /// `INTERNAL`: the system has no random bytes.
    pub async fn open(&self, database: &Database, holder: Holder) -> Result<Opened> {
        let opened = Opened { cookie: random()?, secret: random()? };
        let now = self.clock.now();
        let (cookie, mut session) =
            (hash(&opened.cookie), Session::new(holder, hash(&opened.secret), now + SESSION_LIFE));
        let row = ConsoleSession::of(&cookie, &session);
        let store = database.write_admin("open a session of the console", move |db| {
            let rows = db.query(ConsoleSession::by_end).take(2 * SESSIONS_MAX)?;
            let surplus = (rows.len() + 1).saturating_sub(SESSIONS_MAX);
            for (place, old) in rows.iter().enumerate() {
                if place < surplus || old.ends_at + ENDED_KEPT < now {
                    db.delete(old.id())?;
                }
            }
            Ok(db.insert(row.clone()).map(|_| ())?)
        });
        if let Err(error) = store.await {
            tracing::warn!("a session of the console cannot be stored and ends with the process: {}", error.chain());
            session.is_unstored = true;
        }
        self.cache(cookie, session);
        Ok(opened)
    }

    /// Adds a session to the cache. Removes expired sessions, and the oldest if there are too many.
    fn cache(&self, cookie: Hash, session: Session) {
        let (now, sessions) = (self.clock.now(), &mut self.state.lock().sessions);
        make_room(sessions, SESSIONS_MAX, now, |one| one.ends_at);
        sessions.insert(cookie, session);
    }

    /// Returns the holder of the session with this cookie and secret, and the remaining time. The row is authoritative,
    /// because another node may have ended the session. If the store cannot be read, the cached session counts.
    ///
    /// # Errors
    /// The reason why there is no session.
    pub async fn holder(
        &self,
        database: &Database,
        cookie: &str,
        secret: &[u8],
    ) -> std::result::Result<(Holder, Duration), NoSession> {
        let cookie = hash(cookie);
        let known = self.state.lock().sessions.get(&cookie).cloned();
        let is_unstored = known.as_ref().is_some_and(|session| session.is_unstored);
        let stored = if is_unstored { None } else { find(database, cookie).await.ok() };
        let session = match (stored, known) {
            (Some(Some(row)), _) if row.logged_out_at.is_some() => Err(NoSession::LoggedOut),
            (Some(Some(row)), known) => row.session().ok_or(NoSession::Unknown).inspect(|session| {
                if known.is_none() {
                    self.cache(cookie, session.clone());
                }
            }),
            (None, Some(session)) => Ok(session),
            (Some(None), _) | (None, None) => Err(NoSession::Unknown),
        };
        let checked = session.and_then(|session| session.check(secret, self.clock.now()));
        if matches!(checked, Err(NoSession::LoggedOut | NoSession::Unknown | NoSession::Expired)) {
            self.state.lock().sessions.remove(&cookie);
        }
        checked
    }

    /// Returns true if the request must be recorded, because the session has not sent it recently. Pages repeat the
    /// same requests every few seconds, which would fill the record.
    pub fn is_news(&self, cookie: &str, what: &str) -> bool {
        let now = self.clock.monotonic();
        let mut state = self.state.lock();
        let Some(session) = state.sessions.get_mut(&hash(cookie)) else { return true };
        let what = hash(what);
        if session.looked_at.get(&what).is_some_and(|until| now < *until) {
            return false;
        }
        make_room(&mut session.looked_at, LOOKS_MAX, now, |until| *until);
        session.looked_at.insert(what, now + LOOK_LIFE);
        true
    }

    /// Ends a session at every node.
    ///
    /// # Errors
    /// A failure of the store. The session is still open.
    pub async fn end(&self, database: &Database, cookie: &str) -> Result<()> {
        let (cookie, now) = (hash(cookie), self.clock.now());
        let is_unstored = self.state.lock().sessions.get(&cookie).is_some_and(|session| session.is_unstored);
        if !is_unstored {
            let text = URL_SAFE_NO_PAD.encode(cookie);
            let end = database.write_admin("end a session of the console", move |db| {
                if let Some(row) = db.query(ConsoleSession::by_cookie).eq(&text).unique()? {
                    db.patch(row.id(), |row| row.logged_out_at = Some(now))?;
                }
                Ok(())
            });
            end.await?;
        }
        self.state.lock().sessions.remove(&cookie);
        Ok(())
    }

    /// Returns a ticket for a download. The browser itself fetches it and cannot send the page's secret.
    ///
    /// # Errors
    /// `INTERNAL`: the system has no random bytes.
    pub fn ticket(&self, cookie: &str, path_and_query: String) -> Result<String> {
        let ticket = random()?;
        let now = self.clock.monotonic();
        if let Some(session) = self.state.lock().sessions.get_mut(&hash(cookie)) {
            make_room(&mut session.tickets, TICKETS_MAX, now, |(_, until)| *until);
            session.tickets.insert(hash(&ticket), (path_and_query, now + TICKET_LIFE));
        }
        Ok(ticket)
    }

    /// Removes a ticket and returns the session's holder and the path.
    pub fn fetch(&self, cookie: &str, ticket: &str) -> Option<(Holder, String)> {
        let now = self.clock.monotonic();
        let mut state = self.state.lock();
        let is_open = |session: &&mut Session| self.clock.now() < session.ends_at;
        let session = state.sessions.get_mut(&hash(cookie)).filter(is_open)?;
        let (path, until) = session.tickets.remove(&hash(ticket))?;
        (now < until).then(|| (session.holder.clone(), path))
    }
}

/// Returns the row of a session, if there is one.
async fn find(database: &Database, cookie: Hash) -> Result<Option<Doc<ConsoleSession>>> {
    let cookie = URL_SAFE_NO_PAD.encode(cookie);
    database.read_admin(move |db| Ok(db.query(ConsoleSession::by_cookie).eq(cookie.as_str()).unique()?)).await
}

/// Returns 32 random bytes in base64url.
fn random() -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}

/// Evicts expired entries and, if the map is still full, the entry that expires first.
fn make_room<T, Time: Ord>(entries: &mut HashMap<Hash, T>, max: usize, now: Time, until: impl Fn(&T) -> Time) {
    entries.retain(|_, one| now < until(one));
    if entries.len() >= max
        && let Some(first) = entries.iter().min_by_key(|(_, one)| until(one)).map(|(hash, _)| *hash)
    {
        entries.remove(&first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct ManualClock(Mutex<Duration>);

    impl ManualClock {
        fn advance(&self, by: Duration) {
            *self.0.lock() += by;
        }
    }

    impl Clock for ManualClock {
        fn now(&self) -> Millis {
            Millis(0) + *self.0.lock()
        }
        fn monotonic(&self) -> Duration {
            *self.0.lock()
        }
    }

    fn sessions() -> (Arc<ManualClock>, Sessions) {
        let clock = Arc::<ManualClock>::default();
        (clock.clone(), Sessions::new(clock))
    }

    #[test]
    fn login_code_works_once_within_a_minute() {
        let (clock, sessions) = sessions();
        let code = sessions.code(Holder::Operator).unwrap();
        assert_eq!(sessions.redeem("other"), None);
        assert_eq!(sessions.redeem(&code), Some(Holder::Operator));
        assert_eq!(sessions.redeem(&code), None, "a code is valid once");
        let late = sessions.code(Holder::Operator).unwrap();
        clock.advance(CODE_LIFE);
        assert_eq!(sessions.redeem(&late), None);
    }

    /// Opens a session without a store and returns its cookie.
    fn opened(sessions: &Sessions) -> String {
        let cookie = random().unwrap();
        let session = Session::new(Holder::Operator, hash("secret"), sessions.clock.now() + SESSION_LIFE);
        sessions.cache(hash(&cookie), session);
        cookie
    }

    #[test]
    fn ticket_is_valid_once_and_for_its_own_session() {
        let (clock, sessions) = sessions();
        let (one, other) = (opened(&sessions), opened(&sessions));
        let ticket = sessions.ticket(&one, "backup/a".to_owned()).unwrap();
        assert_eq!(sessions.fetch(&other, &ticket), None);
        assert_eq!(sessions.fetch(&one, &ticket), Some((Holder::Operator, "backup/a".to_owned())));
        assert_eq!(sessions.fetch(&one, &ticket), None);
        let late = sessions.ticket(&one, "backup/a".to_owned()).unwrap();
        clock.advance(TICKET_LIFE);
        assert_eq!(sessions.fetch(&one, &late), None);
    }

    #[test]
    fn sessions_and_codes_are_bounded() {
        let (clock, sessions) = sessions();
        let first = opened(&sessions);
        for _ in 0..SESSIONS_MAX {
            clock.advance(Duration::from_millis(1));
            opened(&sessions);
        }
        assert_eq!(sessions.state.lock().sessions.len(), SESSIONS_MAX);
        assert!(!sessions.state.lock().sessions.contains_key(&hash(&first)));
        for _ in 0..2 * CODES_MAX {
            sessions.code(Holder::Operator).unwrap();
        }
        assert_eq!(sessions.state.lock().codes.len(), CODES_MAX);
    }
}
