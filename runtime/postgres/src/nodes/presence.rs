//! The users of the database: each node, and each tool with exclusive access, has a row that it renews.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing::warn;

use super::{buckets, leases, requests, turns};
use crate::failure::Failure;
use crate::own::{self, LIFETIME_S};
use crate::server::Server;
use crate::session::Session;
use crate::value::Bits;
use crate::writer::Confirmed;
use convoke_core::clock::{Clock as _, Millis, SharedClock};
use convoke_store::{Answerer, Nodes, OpenError, Value};

/// Interval of renewals.
const RENEWAL: Duration = Duration::from_secs(1);
/// Time limit of a renewal. A failover takes longer.
const RENEWAL_MAX: Duration = Duration::from_secs(3);
/// Clock deviation from the database above which a node is not ready. The clock is corrected by at most this; beyond
/// it, jobs would run at wrong times, and ids would not follow those of other nodes.
const DEVIATION_MAX_MS: u64 = SharedClock::OFFSET_MAX_MS.unsigned_abs();
/// Time for which the id of a commit is kept: longer than any lookup.
const COMMITS_KEPT_S: u32 = 3_600;

/// Other permitted users of the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Company<'a> {
    /// Other nodes with this agreement.
    Nodes {
        /// See [`convoke_store::EngineStart::agreed`].
        agreed: Option<&'a str>,
    },
    None,
}

/// A row of `_nodes`, as long as this value exists.
pub(crate) struct Presence {
    id: u128,
    name: Arc<str>,
    server: Arc<Server>,
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Shared {
    ended: Mutex<bool>,
    wake: Condvar,
    /// Numbers of the nodes alive at the last renewal.
    living: Mutex<Vec<u32>>,
    /// Reason why the last renewal failed.
    trouble: Mutex<Option<Failure>>,
    /// Milliseconds by which the database's clock was ahead of this node's at the last renewal.
    deviation_ms: AtomicI64,
    /// Answers requests of other nodes.
    answerer: OnceLock<Answerer>,
}

/// Reason why a user is rejected.
pub(crate) enum Refused {
    /// These users are present.
    Others(String),
    /// This node serves with a different value of a setting that all nodes must share.
    Disagrees(String),
    /// An error of the server.
    Failed(Failure),
}

impl Refused {
    /// Returns the reason why this node cannot open the database, for the data folder of this installation.
    pub(crate) fn into_open_error(self, data: &Path) -> OpenError {
        match self {
            Refused::Others(process) => OpenError::Locked { folder: data.to_owned(), process },
            Refused::Disagrees(other) => OpenError::Disagrees { other },
            Refused::Failed(failure) => failure.into(),
        }
    }
}

impl From<Failure> for Refused {
    fn from(failure: Failure) -> Self {
        Refused::Failed(failure)
    }
}

impl Presence {
    /// Enters a row, if the present users permit it.
    ///
    /// # Errors
    /// The present users; errors of the server.
    pub(crate) fn enter(
        session: &mut Session,
        server: &Arc<Server>,
        company: Company<'_>,
        clock: &Arc<SharedClock>,
        confirmed: Option<&Arc<Confirmed>>,
    ) -> Result<Self, Refused> {
        let id = own::random_id()?;
        // A lost row is entered again, so it waits for no standby.
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = off; ";
        session.run(begin.to_owned() + &own::hold("nodes"))?;
        let others = session.rows(
            &format!(
                "SELECT name, extract(epoch from clock_timestamp() - seen_at)::bigint FROM _nodes \
                 WHERE seen_at > clock_timestamp() - interval '{LIFETIME_S} seconds' AND (alone OR $1) ORDER BY name"
            ),
            vec![Value::Bool(company == Company::None).into()],
        )?;
        if !others.is_empty() {
            session.run("ROLLBACK")?;
            let names: Vec<&str> = others.iter().filter_map(|row| row.try_get(0).ok()).collect();
            return Err(Refused::Others(names.join(", ")));
        }
        if let Company::Nodes { agreed } = company
            && let Some(other) = who_disagrees(session, agreed)?
        {
            session.run("ROLLBACK")?;
            return Err(Refused::Disagrees(other));
        }
        enter_row(session, id, company)?;
        let living = Mutex::new(living(session)?);
        session.run("COMMIT")?;
        let shared = Arc::new(Shared { living, ..Shared::default() });
        let mut keeper = Keeper {
            id,
            server: server.clone(),
            shared: shared.clone(),
            clock: clock.clone(),
            confirmed: confirmed.cloned(),
            agreed: match company {
                Company::Nodes { agreed } => Some(agreed.map(str::to_owned)),
                Company::None => None,
            },
            history: server.primary.history(),
            session: None,
            cleaned: 0,
        };
        keeper.renew_over(session)?;
        let thread = thread::Builder::new().name("convoke-presence".to_owned()).spawn(move || keeper.work());
        let thread = thread.map_err(|error| Failure::Other(format!("no thread for a presence: {error}")))?;
        Ok(Self { id, name: name().into(), server: server.clone(), shared, thread: Mutex::new(Some(thread)) })
    }

    pub(crate) fn id(&self) -> u128 {
        self.id
    }

    /// Returns its number and name, and the numbers of all live nodes.
    pub(crate) fn nodes(&self) -> Nodes {
        let living = self.shared.living.lock().clone();
        Nodes::Many { own: number(self.id), name: self.name.clone(), living }
    }

    /// Sets the function that answers requests of other nodes; the first one stays.
    pub(crate) fn answer_by(&self, answerer: Answerer) {
        let _ = self.shared.answerer.set(answerer);
    }

    /// Returns the milliseconds by which the database's clock is ahead of this node's.
    pub(crate) fn deviation_ms(&self) -> i64 {
        self.shared.deviation_ms.load(Relaxed)
    }

    /// Checks if this node can serve.
    ///
    /// # Errors
    /// The reason.
    pub(crate) fn health(&self) -> Result<(), String> {
        let trouble = self.trouble().map(Failure::reason);
        trouble.or_else(|| deviates(self.deviation_ms())).map_or(Ok(()), Err)
    }

    /// Returns the reason why the row cannot be renewed, if there is one: the server does not respond, or accepts no
    /// writes.
    pub(crate) fn trouble(&self) -> Option<Failure> {
        self.shared.trouble.lock().clone()
    }

    /// Deletes the row. A second call does nothing.
    pub(crate) fn leave(&self) {
        let Some(thread) = self.thread.lock().take() else { return };
        *self.shared.ended.lock() = true;
        self.shared.wake.notify_all();
        let _ = thread.join();
        // The row expires if it cannot be deleted.
        if let Ok(mut session) = Session::open(&self.server) {
            let _ = session.run("SET synchronous_commit = off");
            let _ = session.change("DELETE FROM _nodes WHERE id = $1", vec![own::id(self.id)]);
        }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Returns the unique number of a node.
fn number(id: u128) -> u32 {
    u32::try_from(id & u128::from(u32::MAX)).unwrap_or(0)
}

/// Returns a live node with a different agreement.
fn who_disagrees(session: &mut Session, agreed: Option<&str>) -> Result<Option<String>, Failure> {
    let sql = format!(
        "SELECT name FROM _nodes WHERE seen_at > clock_timestamp() - interval '{LIFETIME_S} seconds' AND NOT alone \
         AND agreed IS DISTINCT FROM nullif($1, '') ORDER BY name LIMIT 1"
    );
    let rows = session.rows(&sql, vec![Value::Text(agreed.unwrap_or_default().to_owned()).into()])?;
    Ok(rows.first().and_then(|row| row.try_get(0).ok()))
}

fn living(session: &mut Session) -> Result<Vec<u32>, Failure> {
    let sql = format!("SELECT id FROM _nodes WHERE seen_at > clock_timestamp() - interval '{LIFETIME_S} seconds'");
    let rows = session.rows(&sql, Vec::new())?;
    Ok(rows.iter().filter_map(|row| row.try_get::<_, Bits>(0).ok()).map(|id| number(id.0)).collect())
}

/// Returns the name of this process for users.
fn name() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{} on {}", std::process::id(), host.trim())
}

/// Writes the row.
pub(crate) fn enter_row(session: &mut Session, id: u128, company: Company<'_>) -> Result<(), Failure> {
    let agreed = match company {
        Company::Nodes { agreed } => agreed.unwrap_or_default().to_owned(),
        Company::None => String::new(),
    };
    let is_alone = Value::Bool(company == Company::None);
    let params = vec![own::id(id), Value::Text(name()).into(), is_alone.into(), Value::Text(agreed).into()];
    let sql = "INSERT INTO _nodes (id, name, alone, agreed) VALUES ($1, $2, $3, nullif($4, ''))";
    session.change(sql, params).map(drop)
}

/// Renews the row on its own thread.
struct Keeper {
    id: u128,
    server: Arc<Server>,
    shared: Arc<Shared>,
    clock: Arc<SharedClock>,
    /// For a node: the state of the server's confirmations, which is tested while it is bad.
    confirmed: Option<Arc<Confirmed>>,
    /// For a node: the value of [`Company::Nodes`] in its row.
    agreed: Option<Option<String>>,
    /// History of the database at the last renewal.
    history: u64,
    session: Option<Session>,
    cleaned: u32,
}

impl Keeper {
    fn work(mut self) {
        loop {
            let mut ended = self.shared.ended.lock();
            if !*ended {
                self.shared.wake.wait_for(&mut ended, RENEWAL);
            }
            if *ended {
                return;
            }
            drop(ended);
            let trouble = self.renew().err();
            if matches!(trouble, Some(Failure::Late | Failure::Cut(_) | Failure::NotWritable(_))) {
                self.server.primary.doubt();
            }
            let mut known = self.shared.trouble.lock();
            if let Some(failure) = trouble.clone().filter(|_| known.is_none()) {
                warn!("this node is not ready: {}", failure.reason());
            }
            *known = trouble;
            drop(known);
            self.try_to_confirm();
        }
    }

    /// Lets reads and mutations start again once a commit is confirmed.
    fn try_to_confirm(&self) {
        let Some(confirmed) = &self.confirmed else { return };
        if confirmed.refused().is_none() && !self.server.primary.is_doubted() {
            return;
        }
        let now = self.clock.machine().monotonic();
        let opened = Session::open(&self.server).map(|session| session.with_patience(RENEWAL_MAX));
        if opened.and_then(|mut session| session.confirm(RENEWAL)).is_ok() {
            confirmed.restore();
            self.server.primary.trust(now);
        }
    }

    fn renew(&mut self) -> Result<(), Failure> {
        let mut session = match self.session.take().filter(Session::is_sound) {
            Some(session) => session,
            None => {
                let mut session = Session::open(&self.server)?.with_patience(RENEWAL_MAX);
                // Other nodes must see this one while a standby does not respond, too.
                session.run("SET synchronous_commit = off")?;
                session
            }
        };
        self.renew_over(&mut session)?;
        if let Some(answerer) = self.shared.answerer.get() {
            requests::answer(&mut session, number(self.id), answerer)?;
        }
        self.cleaned += 1;
        if self.cleaned.is_multiple_of(60) {
            session.run(format!(
                "DELETE FROM _commits WHERE at < now() - interval '{COMMITS_KEPT_S} seconds'; \
                 DELETE FROM _nodes WHERE seen_at < now() - interval '1 hour'; {}; {}; {}",
                buckets::CLEAN,
                requests::CLEAN,
                turns::CLEAN
            ))?;
            // Leases use the time that a test sets.
            if !self.clock.is_held() {
                session.run(leases::CLEAN)?;
            }
        }
        self.session = Some(session);
        Ok(())
    }

    /// Renews the row, and reads the other nodes and the clock deviation.
    fn renew_over(&mut self, session: &mut Session) -> Result<(), Failure> {
        const RENEW: &str = "UPDATE _nodes SET seen_at = clock_timestamp() WHERE id = $1 \
                             RETURNING (extract(epoch FROM seen_at) * 1000)::bigint";
        let machine = self.clock.machine();
        let (asked, began) = (machine.now(), machine.monotonic());
        let history = self.server.primary.history();
        let mut rows = session.rows(RENEW, vec![own::id(self.id)])?;
        if rows.is_empty()
            && self.history != history
            && let Some(agreed) = &self.agreed
        {
            // A history without it.
            enter_row(session, self.id, Company::Nodes { agreed: agreed.as_deref() })?;
            rows = session.rows(RENEW, vec![own::id(self.id)])?;
        }
        let answered = asked + machine.monotonic().saturating_sub(began);
        let Some(row) = rows.first() else {
            // Other nodes have taken over its work.
            let reason = "this node was not heard of for an hour, and is forgotten: restart it";
            return Err(Failure::Other(reason.to_owned()));
        };
        self.history = history;
        self.server.primary.hear(began);
        let theirs = row.try_get::<_, i64>(0).ok();
        if let Some(theirs) = theirs.filter(|_| !self.clock.is_held()) {
            self.clock.measure(Millis(theirs), asked, answered);
            self.set_deviation(beyond(theirs, asked.0, answered.0));
        }
        *self.shared.living.lock() = living(session)?;
        Ok(())
    }

    fn set_deviation(&self, deviation_ms: i64) {
        let before = self.shared.deviation_ms.swap(deviation_ms, Relaxed);
        if let Some(reason) = deviates(deviation_ms).filter(|_| deviates(before).is_none()) {
            warn!("{reason}");
        }
    }
}

/// Returns the deviation of `theirs` from the time between request and response: the database read its clock at some
/// moment in between.
fn beyond(theirs: i64, asked: i64, answered: i64) -> i64 {
    theirs - theirs.clamp(asked, answered.max(asked))
}

/// Returns the reason why a clock with this deviation is too wrong, if it is.
fn deviates(ms: i64) -> Option<String> {
    let side = if ms < 0 { "ahead of" } else { "behind" };
    (ms.unsigned_abs() > DEVIATION_MAX_MS).then(|| {
        let ms = ms.unsigned_abs();
        format!("the clock of this node is {ms} ms {side} the database's, more than {DEVIATION_MAX_MS} ms: set it right (NTP)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_deviation_excludes_the_round_trip() {
        assert_eq!(beyond(1_000, 990, 1_010), 0);
        assert_eq!(beyond(1_000, 400, 450), 550);
        assert_eq!(beyond(1_000, 1_501, 1_501), -501);
        assert_eq!(beyond(1_000, 1_501, 1_400), -501);
        assert_eq!((deviates(500), deviates(-500)), (None, None));
        assert!(deviates(501).unwrap().contains("501 ms behind"));
        assert!(deviates(-60_000).unwrap().contains("60000 ms ahead of"));
    }
}
