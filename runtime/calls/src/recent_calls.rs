//! The calls that ended lately, and those who follow them: what `convoke logs` shows.
//!
//! Each call leaves one entry, in a ring of its thread's shard. A call that nobody follows pays for that entry alone. Who
//! follows gets a bounded queue: one that is too slow loses entries and is told how many, and no call ever waits.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::{Serialize, Serializer};
use tokio::sync::broadcast;

use crate::function::Kind;
use crate::logs::LogLines;
use crate::observe::{By, CallObserver, Called, CompletedCall, Stage};
use crate::shards::Shards;
use convoke_core::clock::Millis;
use convoke_core::error::{Code, Error, Result};

/// Calls that can be asked for afterwards.
pub const RECENT_MAX: usize = 256;
/// Bytes that the log lines of one shard may take; older calls go first.
const SHARD_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of log lines that one entry keeps.
const ENTRY_BYTES_MAX: usize = 32 * 1024;
/// Bytes of what went wrong that one entry keeps.
const ERROR_BYTES_MAX: usize = 4 * 1024;
/// Entries that wait for one who follows.
const WAITING_MAX: usize = 512;
/// Who may follow at once.
const FOLLOWERS_MAX: usize = 16;

/// A call that ended, or a request that was refused before there was one. Its JSON:
///
/// `{"time":1732180000000,"requestId":"…","function":"users/queries/getCurrentUser","kind":"query","outcome":"OK",
/// "durationMs":0.41,"subject":"ada","logLines":["[INFO] …"]}`; what does not apply is left out.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// When it ended.
    pub time: Millis,
    /// Under which id it stands in the log.
    pub request_id: Arc<str>,
    /// The function's path; of a refused request, what it asked for.
    pub function: Arc<str>,
    /// The function's kind, if one was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The code it ended in; `OK` without one.
    #[serde(serialize_with = "outcome")]
    pub outcome: Option<Code>,
    /// How long it took.
    #[serde(rename = "durationMs", serialize_with = "milliseconds")]
    pub elapsed: Duration,
    /// The subject of the identity it ran as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Box<str>>,
    /// The name of the deploy key that made it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deploy_key: Option<Box<str>>,
    /// Whether the scheduler made it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub scheduled: bool,
    /// What went wrong, for the operator: with its causes, if it is no function's doing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Box<str>>,
    /// What the function logged.
    #[serde(skip_serializing_if = "LogLines::is_empty")]
    pub log_lines: LogLines,
}

impl CallRecord {
    fn of(call: &CompletedCall<'_>) -> Self {
        let (function, kind) = match call.called {
            Called::Function(function) => (function.path.clone(), Some(function.kind())),
            Called::Rejected(rejection) => (rejection.asked_in_short().into(), None),
        };
        Self {
            time: call.at,
            request_id: call.request_id.clone(),
            function,
            kind,
            outcome: call.outcome(),
            elapsed: call.elapsed,
            subject: call.caller.identity().map(|identity| identity.subject.as_str().into()),
            deploy_key: call.caller.deploy_key().map(|key| key.name.as_str().into()),
            scheduled: call.by == By::Scheduler,
            error: call.error.map(|error| match (call.called, error.code().status()) {
                (Called::Function(_), 500..) => error.chain().into(),
                _ => error.message().into(),
            }),
            log_lines: call.log_lines.clone(),
        }
    }

    /// Bytes of what it holds that may be large.
    fn bytes(&self) -> usize {
        self.log_lines.bytes() + self.error.as_ref().map_or(0, |error| error.len())
    }
}

fn outcome<S: Serializer>(outcome: &Option<Code>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_str(outcome.map_or("OK", Code::as_str))
}

fn milliseconds<S: Serializer>(elapsed: &Duration, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    serializer.serialize_f64(elapsed.as_micros() as f64 / 1_000.0)
}

/// The recent calls of a runtime, and who follows.
pub(crate) struct RecentCalls {
    recent: Shards<Ring>,
    followers: Arc<AtomicUsize>,
    sender: broadcast::Sender<Arc<CallRecord>>,
}

#[derive(Default)]
struct Ring {
    entries: VecDeque<CallRecord>,
    bytes: usize,
}

impl Default for RecentCalls {
    fn default() -> Self {
        Self { recent: Shards::default(), followers: Arc::default(), sender: broadcast::Sender::new(WAITING_MAX) }
    }
}

impl CallObserver for RecentCalls {
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>> {
        match call.called {
            Called::Rejected(rejection) if rejection.stage == Stage::Listener => self.mention(|| CallRecord::of(call)),
            Called::Function(_) | Called::Rejected(_) => self.enter(CallRecord::of(call)),
        }
        None
    }
}

impl RecentCalls {
    /// Enters a call that ended.
    pub(crate) fn enter(&self, entry: CallRecord) {
        let entry = self.show(entry);
        self.recent.mine().push(entry);
    }

    /// Shows a request that never reached a function to those who follow. It takes the place of no recent call: a flood
    /// of such would leave nothing else.
    pub(crate) fn mention(&self, entry: impl FnOnce() -> CallRecord) {
        if self.is_followed() {
            self.show(entry());
        }
    }

    fn is_followed(&self) -> bool {
        self.followers.load(Ordering::Relaxed) > 0
    }

    fn show(&self, mut entry: CallRecord) -> CallRecord {
        entry.log_lines.keep(ENTRY_BYTES_MAX);
        if let Some(error) = entry.error.take_if(|error| error.len() > ERROR_BYTES_MAX) {
            entry.error = Some(error[..error.floor_char_boundary(ERROR_BYTES_MAX)].into());
        }
        if self.is_followed() {
            // Fails if the last one has just gone.
            let _ = self.sender.send(Arc::new(entry.clone()));
        }
        entry
    }

    /// The last calls that a filter lets through, at most `count` and [`RECENT_MAX`], oldest first.
    pub(crate) fn recent(&self, filter: &Filter, count: usize) -> Vec<CallRecord> {
        let mut entries: Vec<CallRecord> = Vec::new();
        for shard in self.recent.each() {
            entries.extend(shard.entries.iter().filter(|entry| filter.admits(entry)).cloned());
        }
        entries.sort_by_key(|entry| entry.time);
        let surplus = entries.len().saturating_sub(count.min(RECENT_MAX));
        entries.split_off(surplus)
    }

    /// Follows what ends from now on.
    ///
    /// # Errors
    /// `OVERLOADED` if as many follow as may.
    pub(crate) fn follow(&self, filter: Filter) -> Result<Follower> {
        let place = Place(self.followers.clone());
        if place.0.fetch_add(1, Ordering::Relaxed) >= FOLLOWERS_MAX {
            return Err(Error::overloaded("As many follow the live calls as may; try again when one has gone"));
        }
        Ok(Follower { receiver: self.sender.subscribe(), filter, _place: place })
    }
}

impl Ring {
    fn push(&mut self, entry: CallRecord) {
        self.bytes += entry.bytes();
        while self.entries.len() >= RECENT_MAX || (self.bytes > SHARD_BYTES_MAX && !self.entries.is_empty()) {
            let oldest = self.entries.pop_front();
            self.bytes -= oldest.map_or(0, |entry| entry.bytes());
        }
        self.entries.push_back(entry);
    }
}

/// A follower of the live calls. Dropped, its place is free.
pub struct Follower {
    receiver: broadcast::Receiver<Arc<CallRecord>>,
    filter: Filter,
    _place: Place,
}

struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What one who follows is told.
#[derive(Clone, Debug)]
pub enum Followed {
    /// A call ended.
    Ended(Arc<CallRecord>),
    /// So many entries came faster than they were taken, and are lost to it.
    Lost(u64),
}

impl Follower {
    /// The next call that the filter lets through; `None` when the runtime has ended.
    pub async fn next(&mut self) -> Option<Followed> {
        loop {
            match self.receiver.recv().await {
                Ok(entry) if self.filter.admits(&entry) => return Some(Followed::Ended(entry)),
                Ok(_) => {}
                Err(broadcast::error::RecvError::Lagged(lost)) => return Some(Followed::Lost(lost)),
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

/// Which calls are asked for.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// A pattern of paths: `*` stands for any characters; without one, it is how the path begins.
    pub function: Option<String>,
    /// How they ended.
    pub outcome: Option<Wanted>,
    /// One call, and what it made.
    pub request_id: Option<String>,
    /// The subject of the identity that they ran as.
    pub subject: Option<String>,
    /// Those that took longer.
    pub slower_than: Option<Duration>,
}

/// How a call is to have ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Without an error.
    Ok,
    /// In any error.
    Error,
    /// In this one.
    Code(Code),
}

impl std::str::FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let upper = text.to_ascii_uppercase();
        match upper.as_str() {
            "OK" => Ok(Self::Ok),
            "ERROR" => Ok(Self::Error),
            _ => match Code::ALL.iter().find(|code| code.as_str() == upper) {
                Some(code) => Ok(Self::Code(*code)),
                None => Err(format!(
                    "{text:?} is no outcome: ok, error, or a code such as {} or {}",
                    Code::Forbidden,
                    Code::Internal
                )),
            },
        }
    }
}

impl Filter {
    fn admits(&self, entry: &CallRecord) -> bool {
        let outcome = match self.outcome {
            None => true,
            Some(Wanted::Ok) => entry.outcome.is_none(),
            Some(Wanted::Error) => entry.outcome.is_some(),
            Some(Wanted::Code(code)) => entry.outcome == Some(code),
        };
        outcome
            && self.function.as_deref().is_none_or(|pattern| matches(pattern, &entry.function))
            && self.request_id.as_deref().is_none_or(|id| id == &*entry.request_id)
            && self.subject.as_deref().is_none_or(|subject| entry.subject.as_deref() == Some(subject))
            && self.slower_than.is_none_or(|bound| entry.elapsed > bound)
    }
}

/// Whether a path fits a pattern. A function may also be named as on the generic routes, `module/path:function`.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern = pattern.replace(':', "/");
    let mut parts = pattern.split('*');
    let Some(mut rest) = path.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        // Without a star it is a beginning.
        return true;
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(time: i64, function: &str, outcome: Option<Code>) -> CallRecord {
        CallRecord {
            time: Millis(time),
            request_id: format!("r{time}").into(),
            function: function.into(),
            kind: Some(Kind::Query),
            outcome,
            elapsed: Duration::from_micros(410),
            subject: Some("ada".into()),
            deploy_key: None,
            scheduled: false,
            error: None,
            log_lines: LogLines::default(),
        }
    }

    #[test]
    fn an_entry_says_what_applies_and_nothing_else() {
        let json = serde_json::to_string(&entry(7, "a/b", None)).unwrap();
        assert_eq!(
            json,
            r#"{"time":7,"requestId":"r7","function":"a/b","kind":"query","outcome":"OK","durationMs":0.41,"subject":"ada"}"#
        );
    }

    #[test]
    fn a_pattern_without_a_star_is_a_beginning_and_a_star_stands_for_anything() {
        for (pattern, path, fits) in [
            ("users", "users/queries/getCurrentUser", true),
            ("users/queries:get", "users/queries/getCurrentUser", true),
            ("queries", "users/queries/getCurrentUser", false),
            ("*", "users/queries/getCurrentUser", true),
            ("*/getCurrentUser", "users/queries/getCurrentUser", true),
            ("*/getCurrent", "users/queries/getCurrentUser", false),
            ("users/*/get*User", "users/queries/getCurrentUser", true),
            ("users/*x*", "users/queries/getCurrentUser", false),
            ("a*ab", "aab", true),
            ("ab*b", "ab", false),
            ("", "anything", true),
        ] {
            assert_eq!(matches(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn the_last_calls_of_all_threads_are_there_in_order() {
        let (recent, clock) = (RecentCalls::default(), parking_lot::Mutex::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..300 {
                        // What is later is entered later.
                        let mut clock = clock.lock();
                        recent.enter(entry(*clock, "a/b", None));
                        *clock += 1;
                    }
                });
            }
        });
        let times: Vec<i64> = recent.recent(&Filter::default(), 1_000).iter().map(|entry| entry.time.0).collect();
        assert_eq!(times, (1_200 - 256..1_200).collect::<Vec<_>>());
        assert_eq!(recent.recent(&Filter::default(), 3).len(), 3);
        let one = Filter { request_id: Some("r1100".to_owned()), ..Filter::default() };
        assert_eq!(recent.recent(&one, 10)[0].time, Millis(1_100));
    }

    #[test]
    fn memory_is_bounded_by_bytes_too() {
        let recent = RecentCalls::default();
        for at in 0..200 {
            let log_lines = LogLines::of(vec!["x".repeat(100_000)]);
            recent.enter(CallRecord { log_lines, ..entry(at, "a/b", None) });
        }
        let kept = recent.recent(&Filter::default(), 1_000);
        let bytes: usize = kept.iter().map(|entry| entry.log_lines.bytes()).sum();
        assert!(bytes <= SHARD_BYTES_MAX && kept.len() > 10, "{} entries of {bytes} bytes", kept.len());
        assert_eq!(kept.last().unwrap().time, Millis(199));
    }

    #[tokio::test]
    async fn who_follows_gets_what_he_asked_for_and_who_is_slow_is_told_what_he_lost() {
        let recent = RecentCalls::default();
        recent.enter(entry(0, "a/b", None));
        let errors = Filter { outcome: Some("error".parse().unwrap()), ..Filter::default() };
        let mut errors = recent.follow(errors).unwrap();
        let mut slow = recent.follow(Filter::default()).unwrap();
        recent.enter(entry(1, "a/b", None));
        recent.enter(entry(2, "a/b", Some(Code::Forbidden)));
        recent.mention(|| entry(3, "nothing", Some(Code::RouteNotFound)));
        for expected in [2, 3] {
            let Some(Followed::Ended(entry)) = errors.next().await else { panic!("an entry") };
            assert_eq!(entry.time, Millis(expected));
        }
        (4..1_000).for_each(|at| recent.enter(entry(at, "a/b", None)));
        let Some(Followed::Lost(lost)) = slow.next().await else { panic!("told of the loss") };
        assert_eq!(lost, 999 - 512);
        let Some(Followed::Ended(entry)) = slow.next().await else { panic!("an entry") };
        assert_eq!(entry.time, Millis(488));
        drop((errors, slow));
        assert!(!recent.is_followed());
        assert!(recent.recent(&Filter::default(), 1_000).iter().all(|entry| &*entry.function == "a/b"));
    }

    #[test]
    fn no_more_follow_than_may() {
        let recent = RecentCalls::default();
        let followers: Vec<_> = (0..FOLLOWERS_MAX).map(|_| recent.follow(Filter::default()).unwrap()).collect();
        let refused = recent.follow(Filter::default()).err().unwrap();
        assert_eq!(refused.code(), Code::Overloaded);
        drop(followers);
        assert!(recent.follow(Filter::default()).is_ok());
    }

    #[test]
    fn an_outcome_is_a_code_in_any_case() {
        assert_eq!("forbidden".parse(), Ok(Wanted::Code(Code::Forbidden)));
        assert_eq!("ok".parse(), Ok(Wanted::Ok));
        let refused = "nothing".parse::<Wanted>().unwrap_err();
        assert!(refused.contains("such as FORBIDDEN"), "{refused}");
    }
}
