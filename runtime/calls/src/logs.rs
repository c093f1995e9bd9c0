//! The log lines of functions: captured for the caller, and passed on to the operator.
//!
//! `tracing` events of crates with registered functions become the call's log lines, in order, within limits. The
//! capture is a dispatcher of the runtime, entered around each call (and at every poll of an action). So neither the
//! subscriber of an embedding program nor its level decides which lines a caller sees. Each event is also passed, under
//! the request id, to the operator's subscriber, which is the one that the program installed.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::{Interest, Subscriber};
use tracing::{Dispatch, Event, Level, Metadata, dispatcher};

use crate::function::Submitted;
use crate::trace::Span;
use convoke_core::limits::Limits;

/// The lines of one call, limited in number and size. Clones share them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogLines {
    /// None while there is no line: most calls log nothing.
    lines: Option<Arc<Vec<String>>>,
    bytes: usize,
    left_out: usize,
}

impl LogLines {
    fn push(&mut self, line: String, lines_max: usize) {
        let lines = self.lines.get_or_insert_default();
        if lines.len() < lines_max {
            self.bytes += line.len();
            Arc::make_mut(lines).push(line);
        } else {
            self.left_out += 1;
        }
    }

    #[cfg(test)]
    pub(crate) fn of(lines: Vec<String>) -> Self {
        let mut all = Self::default();
        lines.into_iter().for_each(|line| all.push(line, usize::MAX));
        all
    }

    /// Returns the lines for the client. If lines were omitted, the last line says how many.
    pub fn into_lines(mut self) -> Vec<String> {
        let last = self.last();
        let mut lines = self.lines.take().map(Arc::unwrap_or_clone).unwrap_or_default();
        lines.extend(last);
        lines
    }

    /// Returns the lines without the one about omitted lines.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.lines.iter().flat_map(|lines| lines.iter().map(String::as_str))
    }

    /// Returns true if there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_none()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps the lines within the first `bytes_max` bytes. A single longer line is truncated.
    pub(crate) fn keep(&mut self, bytes_max: usize) {
        if self.bytes <= bytes_max {
            return;
        }
        let all = std::mem::take(self);
        let mut kept = Self { left_out: all.left_out, ..Self::default() };
        for line in all.lines.iter().flat_map(|lines| lines.iter()) {
            if kept.bytes + line.len() <= bytes_max {
                kept.push(line.clone(), usize::MAX);
            } else if kept.is_empty() {
                kept.push(line[..line.floor_char_boundary(bytes_max)].to_owned(), usize::MAX);
            } else {
                kept.left_out += 1;
            }
        }
        *self = kept;
    }

    fn last(&self) -> Option<String> {
        (self.left_out > 0).then(|| format!("[WARN] {} more log lines were omitted", self.left_out))
    }
}

impl Serialize for LogLines {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let last = self.last();
        let lines = self.lines.iter().flat_map(|lines| lines.iter());
        serializer.collect_seq(lines.chain(last.as_ref()))
    }
}

impl<'de> Deserialize<'de> for LogLines {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut all = Self::default();
        Vec::<String>::deserialize(deserializer)?.into_iter().for_each(|line| all.push(line, usize::MAX));
        Ok(all)
    }
}

/// The destination of a call's events. Clones share the lines.
#[derive(Clone)]
pub struct Capture(Arc<Sink>);

struct Sink {
    lines: Mutex<LogLines>,
    /// Lines that were not passed to the operator yet: the subscriber that collects them must not call another one.
    pending: Mutex<Pending>,
    lines_max: usize,
    line_bytes_max: usize,
    request_id: Arc<str>,
    path: Arc<str>,
    /// The dispatcher that was installed when the call began.
    operator: Dispatch,
    /// The span of the call, whose ids the operator's lines have.
    span: Span,
}

/// Lines for the operator. The caller's limit applies each time that they are passed on.
#[derive(Default)]
struct Pending {
    lines: Vec<(Level, String)>,
    left_out: usize,
}

impl Pending {
    fn push(&mut self, level: Level, line: &str, lines_max: usize) {
        if self.lines.len() < lines_max {
            self.lines.push((level, line.to_owned()));
        } else {
            self.left_out += 1;
        }
    }
}

thread_local! {
    static CURRENT: RefCell<Option<Capture>> = const { RefCell::new(None) };
}

impl Capture {
    /// Creates the capture of a call.
    pub(crate) fn new(limits: &Limits, request_id: Arc<str>, path: Arc<str>, span: Span) -> Self {
        // Within another capture, the current dispatcher is the runtime's, which has no operator.
        let operator =
            Self::current().map_or_else(|| dispatcher::get_default(Clone::clone), |current| current.0.operator.clone());
        Self(Arc::new(Sink {
            lines: Mutex::default(),
            pending: Mutex::default(),
            lines_max: limits.log_lines_max,
            line_bytes_max: limits.log_line_bytes_max,
            request_id,
            path,
            operator,
            span,
        }))
    }

    /// Returns a capture for the attempts of one query or mutation of this call. Its lines are separate, since a
    /// repeated attempt drops the lines of the previous one.
    pub(crate) fn of_attempts(&self, path: Arc<str>) -> Self {
        let Sink { lines_max, line_bytes_max, request_id, operator, span, .. } = &*self.0;
        Self(Arc::new(Sink {
            lines: Mutex::default(),
            pending: Mutex::default(),
            lines_max: *lines_max,
            line_bytes_max: *line_bytes_max,
            request_id: request_id.clone(),
            path,
            operator: operator.clone(),
            span: span.clone(),
        }))
    }

    /// Returns the dispatcher that was installed when the call began.
    pub(crate) fn operator(&self) -> &Dispatch {
        &self.0.operator
    }

    /// Returns the capture of the call that runs on this thread.
    pub(crate) fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Runs `work` under this capture.
    pub(crate) fn within<R>(&self, work: impl FnOnce() -> R) -> R {
        let _restore = Restore { former: CURRENT.replace(Some(self.clone())), capture: self };
        dispatcher::with_default(collector(), work)
    }

    /// Passes the new lines on to the operator, under the request id.
    fn pass_on(&self) {
        let pending = std::mem::take(&mut *self.0.pending.lock());
        if pending.lines.is_empty() {
            return;
        }
        dispatcher::with_default(&self.0.operator, || {
            let (request_id, function) = (&*self.0.request_id, &*self.0.path);
            let (trace_id, span_id) = self.0.span.ids().unzip();
            let (trace_id, span_id) = (trace_id.as_deref(), span_id.as_deref());
            for (level, line) in &pending.lines {
                let text = line.split_once("] ").map_or(line.as_str(), |(_, text)| text);
                match *level {
                    Level::ERROR => {
                        tracing::error!(target: "convoke::function", request_id, function, trace_id, span_id, "{text}");
                    }
                    Level::WARN => {
                        tracing::warn!(target: "convoke::function", request_id, function, trace_id, span_id, "{text}");
                    }
                    Level::INFO => {
                        tracing::info!(target: "convoke::function", request_id, function, trace_id, span_id, "{text}");
                    }
                    _ => {
                        tracing::debug!(target: "convoke::function", request_id, function, trace_id, span_id, "{text}")
                    }
                }
            }
            if pending.left_out > 0 {
                let left_out = pending.left_out;
                tracing::warn!(target: "convoke::function", request_id, function, "{left_out} more log lines were omitted");
            }
        });
    }

    /// Runs a future under this capture at every poll.
    pub(crate) fn around<F: Future>(&self, future: F) -> Captured<F> {
        Captured { future: Box::pin(future), capture: self.clone() }
    }

    /// Drops the lines so far, before another attempt.
    pub(crate) fn restart(&self) {
        *self.0.lines.lock() = LogLines::default();
    }

    /// Appends the lines of another capture: those of a query or mutation that an action called.
    pub(crate) fn append(&self, other: LogLines) {
        let mut lines = self.0.lines.lock();
        lines.left_out += other.left_out;
        for line in other.lines.map(Arc::unwrap_or_clone).unwrap_or_default() {
            lines.push(line, self.0.lines_max);
        }
    }

    /// Returns a copy of the lines so far.
    pub(crate) fn so_far(&self) -> LogLines {
        self.0.lines.lock().clone()
    }

    /// Removes and returns the lines so far.
    pub(crate) fn take(&self) -> LogLines {
        std::mem::take(&mut self.0.lines.lock())
    }
}

/// Restores the previous capture, even if `work` panics, and passes the lines on to the operator.
struct Restore<'a> {
    former: Option<Capture>,
    capture: &'a Capture,
}

impl Drop for Restore<'_> {
    fn drop(&mut self) {
        CURRENT.set(self.former.take());
        self.capture.pass_on();
    }
}

/// A future that is polled under a capture.
pub(crate) struct Captured<F> {
    future: Pin<Box<F>>,
    capture: Capture,
}

impl<F: Future> Future for Captured<F> {
    type Output = F::Output;
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.capture.within(|| this.future.as_mut().poll(context))
    }
}

/// Returns the dispatcher of all captures. It finds the call by its thread.
fn collector() -> &'static Dispatch {
    static COLLECTOR: OnceLock<Dispatch> = OnceLock::new();
    COLLECTOR.get_or_init(|| {
        let all = inventory::iter::<Submitted>().map(|function| crate_of(function.0.module));
        // The events of the runtime belong to the operator, although it has functions of its own.
        let crates = all.filter(|name| *name != crate_of(module_path!())).collect();
        Dispatch::new(Collector { crates })
    })
}

fn crate_of(module: &'static str) -> &'static str {
    module.split("::").next().unwrap_or(module)
}

struct Collector {
    /// The crates with registered functions: only their events belong to the caller.
    crates: HashSet<&'static str>,
}

impl Collector {
    fn is_of_functions(&self, metadata: &Metadata<'_>) -> bool {
        let module = metadata.module_path().unwrap_or_else(|| metadata.target());
        *metadata.level() <= Level::DEBUG && self.crates.contains(module.split("::").next().unwrap_or(module))
    }
}

impl Subscriber for Collector {
    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // The operator's interest in an event differs between calls, so each event asks for it.
        Interest::sometimes()
    }

    fn max_level_hint(&self) -> Option<tracing::level_filters::LevelFilter> {
        Some(tracing::level_filters::LevelFilter::DEBUG)
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let operator_wants =
            || CURRENT.with_borrow(|now| now.as_ref().is_some_and(|now| now.0.operator.enabled(metadata)));
        (metadata.is_event() && self.is_of_functions(metadata)) || operator_wants()
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        CURRENT.with_borrow(|now| now.as_ref().map_or(Id::from_u64(u64::MAX), |now| now.0.operator.new_span(span)))
    }

    fn record(&self, span: &Id, values: &Record<'_>) {
        with_operator(|operator| operator.record(span, values));
    }

    fn record_follows_from(&self, span: &Id, follows: &Id) {
        with_operator(|operator| operator.record_follows_from(span, follows));
    }

    fn event(&self, event: &Event<'_>) {
        let Some(capture) = Capture::current() else { return };
        let sink = &*capture.0;
        let metadata = event.metadata();
        if self.is_of_functions(metadata) {
            let line = line(event, sink.line_bytes_max);
            sink.pending.lock().push(*metadata.level(), &line, sink.lines_max);
            sink.lines.lock().push(line, sink.lines_max);
        } else if sink.operator.enabled(metadata) {
            sink.operator.event(event);
        }
    }

    fn enter(&self, span: &Id) {
        with_operator(|operator| operator.enter(span));
    }

    fn exit(&self, span: &Id) {
        with_operator(|operator| operator.exit(span));
    }

    fn clone_span(&self, id: &Id) -> Id {
        with_operator(|operator| operator.clone_span(id))
    }

    fn try_close(&self, id: Id) -> bool {
        with_operator(|operator| operator.try_close(id.clone()))
    }
}

/// Passes a span to the log of its call. A span that outlives its call (such as that of a pooled connection) goes to
/// the program's log.
fn with_operator<R>(work: impl Fn(&Dispatch) -> R) -> R {
    match Capture::current() {
        Some(now) => work(&now.0.operator),
        None => dispatcher::get_default(|dispatch| work(dispatch)),
    }
}

/// Formats `[LEVEL] message key=value`, truncated at `bytes_max`.
fn line(event: &Event<'_>, bytes_max: usize) -> String {
    let mut line = Line { text: format!("[{}] ", event.metadata().level()), bytes_max };
    event.record(&mut line);
    let mut text = line.text;
    if text.len() > bytes_max {
        let mut end = bytes_max.saturating_sub('…'.len_utf8());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push('…');
    }
    text
}

/// A line. Text beyond `bytes_max` is not even formatted.
struct Line {
    text: String,
    bytes_max: usize,
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.text.len() > self.bytes_max {
            return Err(fmt::Error);
        }
        let left = self.bytes_max + 1 - self.text.len();
        // One byte above the limit marks a truncated line.
        self.text.push_str(&text[..text.ceil_char_boundary(left)]);
        Ok(())
    }
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // The message, if there is one, is the first field of an event.
        let _ = match field.name() {
            "message" => write!(self, "{value:?}"),
            name => write!(self, " {name}={value:?}"),
        };
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        let _ = match field.name() {
            "message" => self.write_str(value),
            name => write!(self, " {name}={value}"),
        };
    }
}
