//! Who logged in: codes that open a session once, sessions with their two secrets, and tickets for downloads.
//!
//! All of it is in memory and ends with the process. Nothing that is handed out is kept, only its SHA-256. A session
//! needs its cookie and the secret that the page sends beside it: cookies are shared by all ports of a host, and are sent
//! by requests that other sites cause; the secret is neither.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

use crate::auth::deploy_key::KeyProof;
use convoke_core::clock::Clock;
use convoke_core::error::{Error, Result};

/// How long a code opens a session.
const CODE_LIFE: Duration = Duration::from_secs(60);
/// How long a session lasts.
pub const SESSION_LIFE: Duration = Duration::from_secs(8 * 60 * 60);
/// How long a ticket opens its download.
const TICKET_LIFE: Duration = Duration::from_secs(60);
/// Codes that wait, sessions that last, and tickets of a session: the oldest go first.
const CODES_MAX: usize = 64;
const SESSIONS_MAX: usize = 256;
const TICKETS_MAX: usize = 16;
/// How long one entry in the record stands for the same look of a page, and how many looks of a session are told apart.
const LOOK_LIFE: Duration = Duration::from_secs(10 * 60);
const LOOKS_MAX: usize = 256;

type Hash = [u8; 32];

/// Whose rights a session has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Those of whoever holds the data folder: all.
    Operator,
    /// Those of a deploy key, for as long as it is accepted.
    Key(KeyProof),
}

/// A session that was opened. Its texts are handed out this once.
#[derive(Debug)]
pub struct Opened {
    /// The value of the cookie.
    pub cookie: String,
    /// What the page sends beside it.
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

struct Session {
    holder: Holder,
    secret: Hash,
    until: Duration,
    tickets: HashMap<Hash, (String, Duration)>,
    /// What it looked at, and until when that needs no further entry in the record.
    looked_at: HashMap<Hash, Duration>,
}

impl Sessions {
    pub(super) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: Mutex::default() }
    }

    /// A code that opens a session for this holder, once and soon.
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

    /// Whom a code lets in. It is spent by this.
    pub fn redeem(&self, code: &str) -> Option<Holder> {
        let (holder, until) = self.state.lock().codes.remove(&hash(code))?;
        (self.clock.monotonic() < until).then_some(holder)
    }

    /// Opens a session.
    ///
    /// # Errors
    /// `INTERNAL`: the system has no random bytes.
    pub fn open(&self, holder: Holder) -> Result<Opened> {
        let opened = Opened { cookie: random()?, secret: random()? };
        let now = self.clock.monotonic();
        let session = Session {
            holder,
            secret: hash(&opened.secret),
            until: now + SESSION_LIFE,
            tickets: HashMap::new(),
            looked_at: HashMap::new(),
        };
        let mut state = self.state.lock();
        make_room(&mut state.sessions, SESSIONS_MAX, now, |session| session.until);
        state.sessions.insert(hash(&opened.cookie), session);
        Ok(opened)
    }

    /// Whose session these two belong to, and how long it still lasts.
    pub fn holder(&self, cookie: &str, secret: &[u8]) -> Option<(Holder, Duration)> {
        let (now, cookie, secret) = (self.clock.monotonic(), hash(cookie), Sha256::digest(secret));
        let state = self.state.lock();
        let session = state.sessions.get(&cookie).filter(|session| now < session.until)?;
        let fits: bool = session.secret.ct_eq(&secret[..]).into();
        fits.then(|| (session.holder.clone(), session.until - now))
    }

    /// Whether a session looks at something that it has not looked at lately: pages ask for the same every few seconds,
    /// and a record of that would have nothing else in it.
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

    /// Ends a session.
    pub fn end(&self, cookie: &str) {
        self.state.lock().sessions.remove(&hash(cookie));
    }

    /// A ticket by which the browser itself fetches what this session may: a download cannot send the page's secret.
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

    /// Whose session it is, and what it fetches. It is spent by this.
    pub fn fetch(&self, cookie: &str, ticket: &str) -> Option<(Holder, String)> {
        let now = self.clock.monotonic();
        let mut state = self.state.lock();
        let session = state.sessions.get_mut(&hash(cookie)).filter(|session| now < session.until)?;
        let (path, until) = session.tickets.remove(&hash(ticket))?;
        (now < until).then(|| (session.holder.clone(), path))
    }
}

/// 32 random bytes in base64url.
fn random() -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(Error::internal)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}

/// Drops what is over, and the one that ends first if there is still no room.
fn make_room<T>(held: &mut HashMap<Hash, T>, max: usize, now: Duration, until: impl Fn(&T) -> Duration) {
    held.retain(|_, one| now < until(one));
    if held.len() >= max
        && let Some(first) = held.iter().min_by_key(|(_, one)| until(one)).map(|(hash, _)| *hash)
    {
        held.remove(&first);
    }
}

#[cfg(test)]
mod tests {
    use convoke_core::clock::Millis;

    use super::*;

    #[derive(Default)]
    struct Moved(Mutex<Duration>);

    impl Moved {
        fn advance(&self, by: Duration) {
            *self.0.lock() += by;
        }
    }

    impl Clock for Moved {
        fn now(&self) -> Millis {
            Millis(0)
        }
        fn monotonic(&self) -> Duration {
            *self.0.lock()
        }
    }

    fn sessions() -> (Arc<Moved>, Sessions) {
        let clock = Arc::<Moved>::default();
        (clock.clone(), Sessions::new(clock))
    }

    #[test]
    fn a_code_opens_once_and_within_a_minute() {
        let (clock, sessions) = sessions();
        let code = sessions.code(Holder::Operator).unwrap();
        assert_eq!(sessions.redeem("other"), None);
        assert_eq!(sessions.redeem(&code), Some(Holder::Operator));
        assert_eq!(sessions.redeem(&code), None, "it is spent");
        let late = sessions.code(Holder::Operator).unwrap();
        clock.advance(CODE_LIFE);
        assert_eq!(sessions.redeem(&late), None);
    }

    #[test]
    fn a_session_needs_both_secrets_and_ends_by_itself_and_by_logout() {
        let (clock, sessions) = sessions();
        let (one, other) = (sessions.open(Holder::Operator).unwrap(), sessions.open(Holder::Operator).unwrap());
        let is_open = |cookie: &str, secret: &str| sessions.holder(cookie, secret.as_bytes()).is_some();
        assert!(is_open(&one.cookie, &one.secret));
        assert!(!is_open(&one.cookie, &other.secret) && !is_open(&one.secret, &one.cookie) && !is_open("", ""));
        sessions.end(&one.cookie);
        assert!(!is_open(&one.cookie, &one.secret) && is_open(&other.cookie, &other.secret));
        clock.advance(SESSION_LIFE);
        assert!(!is_open(&other.cookie, &other.secret));
    }

    #[test]
    fn a_ticket_fetches_once_soon_and_for_its_own_session() {
        let (clock, sessions) = sessions();
        let (one, other) = (sessions.open(Holder::Operator).unwrap(), sessions.open(Holder::Operator).unwrap());
        let ticket = sessions.ticket(&one.cookie, "backup/a".to_owned()).unwrap();
        assert_eq!(sessions.fetch(&other.cookie, &ticket), None);
        assert_eq!(sessions.fetch(&one.cookie, &ticket), Some((Holder::Operator, "backup/a".to_owned())));
        assert_eq!(sessions.fetch(&one.cookie, &ticket), None);
        let late = sessions.ticket(&one.cookie, "backup/a".to_owned()).unwrap();
        clock.advance(TICKET_LIFE);
        assert_eq!(sessions.fetch(&one.cookie, &late), None);
    }

    #[test]
    fn there_are_so_many_of_each_and_the_oldest_go_first() {
        let (clock, sessions) = sessions();
        let first = sessions.open(Holder::Operator).unwrap();
        for _ in 0..SESSIONS_MAX {
            clock.advance(Duration::from_millis(1));
            sessions.open(Holder::Operator).unwrap();
        }
        assert_eq!(sessions.state.lock().sessions.len(), SESSIONS_MAX);
        assert!(sessions.holder(&first.cookie, first.secret.as_bytes()).is_none());
        for _ in 0..2 * CODES_MAX {
            sessions.code(Holder::Operator).unwrap();
        }
        assert_eq!(sessions.state.lock().codes.len(), CODES_MAX);
    }
}
