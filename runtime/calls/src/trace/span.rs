//! A running span.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::record::{Failure, SpanKind, SpanRecord, Value};
use super::recorder::Recorder;
use convoke_core::trace_context::TraceContext;

/// A span that runs. Clones share it. Without a trace, it is empty, and all methods do nothing.
#[derive(Clone, Default)]
pub struct Span(Option<Arc<Running>>);

struct Running {
    /// None if the trace of the client is not sampled: its context is only passed on.
    recorder: Option<Arc<Recorder>>,
    context: TraceContext,
    parent_id: Option<u64>,
    is_parent_remote: bool,
    name: Arc<str>,
    kind: SpanKind,
    link: Option<TraceContext>,
    /// Start, in monotonic time.
    began: Duration,
    /// The time of day minus the monotonic time at the start of the trace, in nanoseconds: the spans of a trace share it,
    /// so that a change of the clock does not move them apart.
    offset_ns: i128,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    attributes: Vec<(&'static str, Value)>,
    has_ended: bool,
}

impl Span {
    /// Begins the first span of this program in a trace. With the context of a client, it continues the client's trace
    /// and follows its sampling decision.
    pub fn root(
        recorder: Option<&Arc<Recorder>>,
        name: &Arc<str>,
        kind: SpanKind,
        client: Option<TraceContext>,
    ) -> Self {
        Self::root_with(recorder, kind, client, || name.clone())
    }

    /// As [`Span::root`]. The name is made only if the span is recorded.
    pub fn root_with(
        recorder: Option<&Arc<Recorder>>,
        kind: SpanKind,
        client: Option<TraceContext>,
        name: impl FnOnce() -> Arc<str>,
    ) -> Self {
        let Some(recorder) = recorder.filter(|recorder| recorder.has_spans()) else { return Self::default() };
        match client.filter(|_| recorder.continues_traces()) {
            Some(client) if !client.is_sampled() => Self::passed_on(client),
            Some(client) => Self::begin(recorder, (client.trace_id, Some(client.span_id)), name(), kind, None),
            None => match recorder.new_trace() {
                Some(trace_id) => Self::begin(recorder, (trace_id, None), name(), kind, client),
                None => Self::default(),
            },
        }
    }

    /// Begins the span of work that an earlier span has scheduled: the first span of a trace of its own, with a link. The
    /// trace is sampled if that of the earlier span is. Without an earlier span, the setting decides.
    /// The name is made only if the span is recorded.
    pub(crate) fn scheduled(
        recorder: Option<&Arc<Recorder>>,
        kind: SpanKind,
        name: impl FnOnce() -> Arc<str>,
        by: Option<&str>,
    ) -> Self {
        let Some(recorder) = recorder.filter(|recorder| recorder.has_spans()) else { return Self::default() };
        let by = by.and_then(|by| TraceContext::parse(by.as_bytes()));
        let trace_id = match by {
            Some(_) => Some(u128::from(recorder.id()) << 64 | u128::from(recorder.id())),
            None => recorder.new_trace(),
        };
        match trace_id {
            Some(trace_id) => Self::begin(recorder, (trace_id, None), name(), kind, by),
            None => Self::default(),
        }
    }

    fn passed_on(context: TraceContext) -> Self {
        Self(Some(Arc::new(Running {
            recorder: None,
            context,
            parent_id: None,
            is_parent_remote: true,
            name: "".into(),
            kind: SpanKind::Internal,
            link: None,
            began: Duration::ZERO,
            offset_ns: 0,
            state: Mutex::default(),
        })))
    }

    fn begin(
        recorder: &Arc<Recorder>,
        (trace_id, parent_id): (u128, Option<u64>),
        name: Arc<str>,
        kind: SpanKind,
        link: Option<TraceContext>,
    ) -> Self {
        let (began, offset_ns) = recorder.anchor();
        Self(Some(Arc::new(Running {
            context: TraceContext { trace_id, span_id: recorder.id(), flags: 1 },
            recorder: Some(recorder.clone()),
            parent_id,
            is_parent_remote: parent_id.is_some(),
            name,
            kind,
            link,
            began,
            offset_ns,
            state: Mutex::default(),
        })))
    }

    /// Begins a span inside of this one.
    #[must_use]
    pub fn child(&self, name: &str, kind: SpanKind) -> Self {
        self.child_with(kind, || name.into())
    }

    /// As [`Span::child`]. The name is made only if the span is recorded.
    #[must_use]
    pub(crate) fn child_with(&self, kind: SpanKind, name: impl FnOnce() -> Arc<str>) -> Self {
        let Some(parent) = &self.0 else { return Self::default() };
        let Some(recorder) = &parent.recorder else { return self.clone() };
        Self(Some(Arc::new(Running {
            context: TraceContext { span_id: recorder.id(), ..parent.context },
            recorder: Some(recorder.clone()),
            parent_id: Some(parent.context.span_id),
            is_parent_remote: false,
            name: name(),
            kind,
            link: None,
            began: recorder.monotonic(),
            offset_ns: parent.offset_ns,
            state: Mutex::default(),
        })))
    }

    /// Returns true if the span is recorded.
    pub fn is_recorded(&self) -> bool {
        self.recorded().is_some()
    }

    /// Returns the context, to be passed on to other services.
    pub fn context(&self) -> Option<TraceContext> {
        self.0.as_ref().map(|running| running.context)
    }

    /// Returns the ids of the trace and of the span in hexadecimal, if the span is recorded: for log lines.
    pub fn ids(&self) -> Option<(String, String)> {
        let context = self.recorded()?.context;
        Some((format!("{:032x}", context.trace_id), format!("{:016x}", context.span_id)))
    }

    /// Returns the context as text, if the span is recorded: for rows of scheduled work.
    pub(crate) fn stored(&self) -> Option<String> {
        self.recorded().map(|running| running.context.to_string())
    }

    /// Sets an attribute.
    pub fn set(&self, name: &'static str, value: impl Into<Value>) {
        if let Some(running) = self.recorded() {
            running.state.lock().attributes.push((name, value.into()));
        }
    }

    /// Ends the span, with its failure if it failed. Only the first end counts.
    pub fn end(&self, failure: Option<Failure>) {
        if let Some(running) = self.recorded() {
            running.end(failure);
        }
    }

    /// Ends the span without a record: its work did not begin.
    pub(crate) fn discard(&self) {
        if let Some(running) = &self.0 {
            running.state.lock().has_ended = true;
        }
    }

    fn recorded(&self) -> Option<&Running> {
        self.0.as_deref().filter(|running| running.recorder.is_some())
    }
}

impl Running {
    fn end(&self, failure: Option<Failure>) {
        let Some(recorder) = &self.recorder else { return };
        let mut state = self.state.lock();
        if std::mem::replace(&mut state.has_ended, true) {
            return;
        }
        let attributes = std::mem::take(&mut state.attributes);
        drop(state);
        let ns = |at: Duration| u64::try_from(i128::try_from(at.as_nanos()).unwrap_or(0) + self.offset_ns).unwrap_or(0);
        recorder.add_span(SpanRecord {
            context: self.context,
            parent_id: self.parent_id,
            is_parent_remote: self.is_parent_remote,
            name: self.name.clone(),
            kind: self.kind,
            start_ns: ns(self.began),
            end_ns: ns(recorder.monotonic()),
            attributes,
            link: self.link,
            failure,
        });
    }
}

/// The work of a span that did not end was cut: a time limit is over, or its caller is gone.
impl Drop for Running {
    fn drop(&mut self) {
        if !self.state.get_mut().has_ended {
            let message = "the work was cut off".to_owned();
            self.end(Some(Failure { kind: Cow::Borrowed("CANCELLED"), message }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RecorderOptions;
    use super::*;
    use convoke_core::clock::SystemClock;

    fn recorder(sampling: f64, continues_traces: bool) -> Arc<Recorder> {
        let options = RecorderOptions { sampling, continues_traces, spans: true, logs: true, waiting_max: 100 };
        Arc::new(Recorder::new(Arc::new(SystemClock::new()), options))
    }

    const CLIENT: TraceContext = TraceContext { trace_id: 7, span_id: 9, flags: 1 };

    #[test]
    fn client_decides_about_its_trace() {
        let recorder = recorder(0.0, true);
        let span = Span::root(Some(&recorder), &"request".into(), SpanKind::Server, Some(CLIENT));
        span.child("call", SpanKind::Internal).end(None);
        span.end(None);
        let [call, request] = recorder.take_spans(9).try_into().unwrap();
        assert_eq!((request.context.trace_id, request.parent_id, request.is_parent_remote), (7, Some(9), true));
        assert_eq!((call.context.trace_id, call.parent_id), (7, Some(request.context.span_id)));
        assert!(request.start_ns <= call.start_ns && call.end_ns <= request.end_ns);

        let unsampled = TraceContext { flags: 0, ..CLIENT };
        let span = Span::root(Some(&recorder), &"request".into(), SpanKind::Server, Some(unsampled));
        let call = span.child("call", SpanKind::Internal);
        assert_eq!(call.context(), Some(unsampled), "the context is passed on");
        drop((call, span));
        assert!(recorder.take_spans(9).is_empty());
    }

    #[test]
    fn trace_of_a_client_that_is_not_trusted_becomes_a_link() {
        let recorder = recorder(1.0, false);
        Span::root(Some(&recorder), &"request".into(), SpanKind::Server, Some(CLIENT)).end(None);
        let [request] = recorder.take_spans(9).try_into().unwrap();
        assert_ne!(request.context.trace_id, 7);
        assert_eq!((request.parent_id, request.link), (None, Some(CLIENT)));
    }

    #[test]
    fn span_that_is_dropped_is_recorded_as_cut_off_and_one_that_ended_is_not_recorded_again() {
        let recorder = recorder(1.0, true);
        let span = Span::root(Some(&recorder), &"cut".into(), SpanKind::Internal, None);
        drop(span.clone());
        assert!(recorder.take_spans(9).is_empty());
        drop(span);
        let [cut] = recorder.take_spans(9).try_into().unwrap();
        assert_eq!(cut.failure.unwrap().kind, "CANCELLED");
        let span = Span::root(Some(&recorder), &"ended".into(), SpanKind::Internal, None);
        span.end(None);
        span.end(None);
        drop(span);
        assert_eq!(recorder.take_spans(9).len(), 1);
    }

    #[test]
    fn scheduled_work_is_linked_to_its_scheduler() {
        let recorder = recorder(0.0, true);
        let scheduler = Span::root(Some(&recorder), &"request".into(), SpanKind::Server, Some(CLIENT));
        Span::scheduled(Some(&recorder), SpanKind::Consumer, || "job".into(), scheduler.stored().as_deref()).end(None);
        Span::scheduled(Some(&recorder), SpanKind::Consumer, || "other".into(), None).end(None);
        let [job] = recorder.take_spans(9).try_into().unwrap();
        assert_eq!((job.link, job.parent_id), (scheduler.context(), None));
        assert_ne!(job.context.trace_id, 7);
    }
}
