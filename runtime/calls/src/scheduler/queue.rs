//! The choice of the next jobs of a queue, within its limits over all nodes.
//!
//! The jobs of a queue are claimed before they run, mutations too. A claim is one transaction: it counts the running
//! jobs, takes tokens of the rate, and marks the chosen jobs. The keys of a queue, its lanes, take turns.

use std::collections::HashMap;
use std::ops::Bound;

use convoke_macros::table;

use crate::rows::job::{Job, JobKind, JobState};
use convoke_core::clock::Millis;
use convoke_core::error::Result;
use convoke_core::queues::{Queue, Queues};
use convoke_store::{Db, DbMut, Doc};

/// Maximum number of jobs of one claim.
const CLAIM_MAX: usize = 64;
/// Maximum number of lanes that one claim visits. The next claim continues behind them.
const LANES_MAX: usize = 256;

/// The state of a queue that all nodes share.
#[table(name = "_queues", prefix = "jobqueue")]
#[index(by_name(name), unique)]
pub struct QueueState {
    /// Name of the queue.
    pub name: String,
    /// Number of jobs that may start, at `at`.
    pub tokens: f64,
    /// Time of the last claim.
    pub at: Millis,
    /// Lane that had the last turn.
    pub last: Option<String>,
}

/// The jobs of a queue that may start now.
pub(crate) struct Pick {
    pub jobs: Vec<Doc<Job>>,
    /// Time of the next token, if the rate allows no job now.
    pub next_token: Option<Millis>,
    /// True if a job is due, so that a limit holds it if none may start.
    pub is_held: bool,
    /// Lane that has the last turn of this pick.
    last: Option<String>,
    state: Option<Doc<QueueState>>,
    tokens: f64,
}

/// Returns the time of the first pending job of a queue within `times`.
fn first_due(db: &Db, queue: &str, times: (Bound<Millis>, Bound<Millis>)) -> Result<Option<Millis>> {
    let mut first = None;
    for kind in [JobKind::Mutation, JobKind::Action] {
        let keys = db.query(Job::by_due).eq(queue).eq(kind).range(times).keys(1)?;
        let due = keys.first().map(|(_, (_, (_, (run_at, ()))))| *run_at);
        first = [first, due].into_iter().flatten().min();
    }
    Ok(first)
}

/// Returns the time of the first pending job of a queue.
pub(crate) fn first(db: &Db, queue: &str) -> Result<Option<Millis>> {
    first_due(db, queue, (Bound::Unbounded, Bound::Unbounded))
}

/// Returns the time of the first pending job of a queue that is not due at `now`.
pub(crate) fn next(db: &Db, queue: &str, now: Millis) -> Result<Option<Millis>> {
    first_due(db, queue, (Bound::Excluded(now), Bound::Unbounded))
}

/// Returns the jobs that may start now, at most `room`.
pub(crate) fn pick(db: &Db, queue: &Queue, now: Millis, room: usize) -> Result<Pick> {
    let state = db.query(QueueState::by_name).eq(queue.name).unique()?;
    let mut pick = Pick { jobs: Vec::new(), next_token: None, is_held: false, last: None, tokens: 0.0, state };
    if first_due(db, queue.name, (Bound::Unbounded, Bound::Included(now)))?.is_none() {
        return Ok(pick);
    }
    pick.is_held = true;
    let mut room = room.min(CLAIM_MAX);
    if let Some(rate) = queue.rate {
        pick.tokens = pick.state.as_ref().map_or(rate.burst(), |state| {
            let refilled = now.since(state.at).as_secs_f64() * rate.per_second;
            (state.tokens + refilled).min(rate.burst())
        });
        // A sum of parts of a token may be slightly less than one.
        room = room.min((pick.tokens + 1e-6) as usize);
        if room == 0 {
            pick.next_token = Some(now + rate.time_for(1.0 - pick.tokens));
            return Ok(pick);
        }
    }
    let mut running: HashMap<String, usize> = HashMap::new();
    for (_, (_, (_, (lane, _)))) in
        db.query(Job::by_lane).eq(queue.name).eq(JobState::Running).keys(queue.parallel.saturating_add(1))?
    {
        *running.entry(lane.unwrap_or_default()).or_default() += 1;
    }
    room = room.min(queue.parallel.saturating_sub(running.values().sum()));
    if room > 0 {
        pick.take_turns(db, queue, &running, now, room)?;
    }
    Ok(pick)
}

impl Pick {
    /// Chooses jobs: each lane has a turn after the other, from the one behind the last turn.
    fn take_turns(
        &mut self,
        db: &Db,
        queue: &Queue,
        running: &HashMap<String, usize>,
        now: Millis,
        room: usize,
    ) -> Result<()> {
        let start = self.state.as_ref().and_then(|state| state.last.clone());
        let mut lanes: Vec<(String, std::vec::IntoIter<Doc<Job>>)> = Vec::new();
        let mut found = 0;
        let mut lane = lane_behind(db, queue, start.as_deref())?;
        let mut has_wrapped = lane.is_none() || start.is_none();
        if lane.is_none() {
            lane = lane_behind(db, queue, None)?;
        }
        for _ in 0..LANES_MAX {
            let Some(current) = lane else { break };
            let free = match current.is_empty() {
                true => room,
                false => room.min(queue.per_key.saturating_sub(running.get(&current).copied().unwrap_or(0))),
            };
            let head = match free {
                0 => Vec::new(),
                _ => db.query(Job::by_lane).eq(queue.name).eq(JobState::Pending).eq(&*current).take(free)?,
            };
            let due: Vec<_> = head.into_iter().take_while(|job| job.run_at <= now).collect();
            found += due.len();
            self.last = Some(current.clone());
            lane = lane_behind(db, queue, Some(&current))?;
            lanes.push((current, due.into_iter()));
            if lane.is_none() && !has_wrapped {
                has_wrapped = true;
                lane = lane_behind(db, queue, None)?;
            }
            let is_complete = has_wrapped && start.as_ref().is_some_and(|start| lane.as_ref() > Some(start));
            // Each lane has its turn before one has a second turn.
            if is_complete || lanes.iter().filter(|(_, due)| due.len() > 0).count() >= room {
                break;
            }
        }
        while self.jobs.len() < room.min(found) {
            for (lane, due) in &mut lanes {
                if self.jobs.len() < room
                    && let Some(job) = due.next()
                {
                    self.jobs.push(job);
                    self.last = Some(lane.clone());
                }
            }
        }
        Ok(())
    }
}

/// Returns the first lane with a pending job behind `lane`.
fn lane_behind(db: &Db, queue: &Queue, lane: Option<&str>) -> Result<Option<String>> {
    let pending = db.query(Job::by_lane).eq(queue.name).eq(JobState::Pending);
    let keys = match lane {
        Some(lane) => pending.range((Bound::Excluded(lane.to_owned()), Bound::Unbounded)).keys(1)?,
        None => pending.keys(1)?,
    };
    Ok(keys.into_iter().next().map(|(_, (_, (_, (lane, _))))| lane.unwrap_or_default()))
}

/// Claims the jobs that may start now, at most `room`, for process `boot`.
pub(crate) fn claim(db: &mut DbMut, queue: &Queue, boot: u32, now: Millis, room: usize) -> Result<Vec<Doc<Job>>> {
    let pick = pick(db, queue, now, room)?;
    let tokens = pick.tokens - pick.jobs.len() as f64;
    if pick.last.is_some() {
        let state = QueueState { name: queue.name.to_owned(), tokens, at: now, last: pick.last };
        match pick.state {
            Some(found) => db.replace(found.id(), state)?,
            None => drop(db.insert(state)?),
        }
    }
    pick.jobs.into_iter().map(|job| Ok(db.patch_doc(job, |job| job.start(boot, now))?)).collect()
}

/// Maximum number of jobs of one transaction that leave a queue.
const LEAVE_MAX: usize = 100;

/// Returns the names of queues with pending jobs that the program does not declare.
pub(crate) fn undeclared(db: &Db, queues: &Queues) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let mut behind = Bound::Unbounded;
    loop {
        let keys = db.query(Job::by_due).range((behind, Bound::Unbounded)).keys(1)?;
        let Some((_, (Some(queue), _))) = keys.into_iter().next() else { return Ok(found) };
        if queues.get(&queue).is_none() {
            found.push(queue.clone());
        }
        behind = Bound::Excluded(queue);
    }
}

/// Takes some pending jobs out of their queue. Returns their number.
pub(crate) fn leave(db: &mut DbMut, queue: &str) -> Result<usize> {
    let jobs = db.query(Job::by_lane).eq(queue).eq(JobState::Pending).take(LEAVE_MAX)?;
    let left = jobs.len();
    for job in jobs {
        db.patch_doc(job, |job| (job.queue, job.lane, job.due_at) = (None, None, None))?;
    }
    Ok(left)
}
