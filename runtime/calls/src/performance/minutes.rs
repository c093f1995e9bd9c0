//! The minutes that are over but must still be found in memory: until they are written to the table, and for a while
//! after.
//!
//! A query reads a snapshot of the table and then this memory. If minutes left the memory when they are written, a
//! query could miss them or find them twice. So each batch has a number and stays for some minutes, and a query skips
//! the rows of batches that are still in memory.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::histogram::{Span, Sum};
use super::recorder::{Recorder, SECOND};

/// A minute, in ms: the length of a row with the finest spans.
pub(crate) const MINUTE: i64 = 60 * SECOND;
/// Number of batches that stay after they were written.
const BATCHES_KEPT: usize = 4;
/// Maximum number of batches that wait to be written. Older ones are dropped.
const UNWRITTEN_MAX: usize = 60;
/// The name of the row for the calls of all functions together.
pub(crate) const ALL: &str = "";

/// The batches in memory.
#[derive(Default)]
pub(crate) struct Minutes(Mutex<Batches>);

#[derive(Default)]
struct Batches {
    next: i64,
    kept: VecDeque<Arc<Batch>>,
}

/// The spans that were taken from the recorders at one time.
pub(crate) struct Batch {
    pub number: i64,
    written: AtomicBool,
    pub parts: Vec<Part>,
}

/// The seconds of one function in one minute, in order. [`ALL`] stands for all functions together.
pub(crate) struct Part {
    pub function: Arc<str>,
    pub start: i64,
    pub seconds: Vec<Span>,
}

impl Batch {
    pub(crate) fn mark_written(&self) {
        self.written.store(true, Ordering::Release);
    }

    fn is_written(&self) -> bool {
        self.written.load(Ordering::Acquire)
    }
}

/// The selection of calls for a query.
#[derive(Clone, Debug)]
pub(crate) enum Of {
    /// All functions, added up.
    Together,
    Functions(Vec<Arc<str>>),
    /// All functions, separately.
    Each,
}

impl Of {
    fn wants(&self, function: &str) -> bool {
        match self {
            Of::Together => function == ALL,
            Of::Functions(functions) => functions.iter().any(|wanted| **wanted == *function),
            Of::Each => function != ALL,
        }
    }
}

impl Minutes {
    /// Takes the seconds before `end` from the recorders, and returns all batches that must be written.
    pub(crate) fn take_before<'a>(
        &self,
        recorders: impl Iterator<Item = (&'a Arc<str>, &'a Recorder)>,
        end: i64,
    ) -> Vec<Arc<Batch>> {
        let mut batches = self.0.lock();
        let mut parts = Vec::new();
        let mut all = Vec::new();
        for (path, recorder) in recorders {
            let spans = recorder.take_before(end);
            all.extend(spans.iter().cloned());
            add_parts(path, spans, &mut parts);
        }
        if !parts.is_empty() {
            add_parts(&ALL.into(), all, &mut parts);
            let number = batches.next;
            batches.next += 1;
            batches.kept.push_back(Arc::new(Batch { number, written: AtomicBool::new(false), parts }));
        }
        while batches.kept.len() > BATCHES_KEPT && batches.kept.front().is_some_and(|batch| batch.is_written()) {
            batches.kept.pop_front();
        }
        while batches.kept.len() > UNWRITTEN_MAX {
            tracing::warn!(target: "convoke::performance", "a minute of metrics is dropped: the store rejects writes");
            batches.kept.pop_front();
        }
        batches.kept.iter().filter(|batch| !batch.is_written()).cloned().collect()
    }

    /// Returns a copy of the spans in memory up to this moment, each with its function, and the number of the oldest
    /// batch in memory. Rows of that batch and of later ones must not be counted again.
    pub(crate) fn copy<'a>(
        &self,
        recorders: impl Iterator<Item = (&'a Arc<str>, &'a Recorder)>,
        of: &Of,
        out: &mut Vec<(Arc<str>, Span)>,
    ) -> i64 {
        let batches = self.0.lock();
        for part in batches.kept.iter().flat_map(|batch| &batch.parts).filter(|part| of.wants(&part.function)) {
            out.extend(part.seconds.iter().map(|second| (part.function.clone(), second.clone())));
        }
        let mut open = Vec::new();
        let together: Arc<str> = ALL.into();
        for (path, recorder) in recorders {
            let name = match of {
                Of::Together => &together,
                Of::Functions(_) | Of::Each => path,
            };
            if of.wants(name) {
                recorder.copy(&mut open);
                out.extend(open.drain(..).map(|span| (name.clone(), span)));
            }
        }
        first_kept(&batches)
    }

    /// Returns the number of the oldest batch in memory.
    pub(crate) fn first_kept(&self) -> i64 {
        first_kept(&self.0.lock())
    }
}

fn first_kept(batches: &Batches) -> i64 {
    batches.kept.front().map_or(batches.next, |batch| batch.number)
}

fn add_parts(function: &Arc<str>, spans: Vec<Span>, parts: &mut Vec<Part>) {
    let mut minutes: BTreeMap<i64, Vec<Span>> = BTreeMap::new();
    for second in coarser(spans, SECOND) {
        minutes.entry(second.start.div_euclid(MINUTE) * MINUTE).or_default().push(second);
    }
    let part = |(start, seconds)| Part { function: function.clone(), start, seconds };
    parts.extend(minutes.into_iter().map(part));
}

/// Adds up calls into spans of `step` ms, in order, one per start time.
pub(crate) fn coarser(mut spans: Vec<Span>, step: i64) -> Vec<Span> {
    let start = |span: &Span| span.start.div_euclid(step) * step;
    spans.sort_by_key(start);
    let mut sum = Sum::default();
    let mut coarser = Vec::new();
    for same in spans.chunk_by(|a, b| start(a) == start(b)) {
        match same {
            [one] => coarser.push(Span { start: start(one), ..one.clone() }),
            many => {
                sum.clear();
                many.iter().for_each(|span| sum.add(span));
                coarser.push(sum.span(start(&many[0])));
            }
        }
    }
    coarser
}
