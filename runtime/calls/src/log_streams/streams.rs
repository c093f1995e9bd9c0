//! All streams of a runtime.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::future::{BoxFuture, join_all};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::file::RotatingFile;
use super::line::Line;
use super::settings::{LogStream, LogStreams};
use super::stream::{Destination, Stream};
#[cfg(feature = "outbound")]
use super::webhook::Webhook;
use crate::batches::send_until_stopped;
use crate::observe::{CallObserver, Called, CompletedCall, Stage};
use crate::recent_calls::{CallRecord, RecordedCalls};
use crate::services::Services;
use crate::trace::LogRecord;
use convoke_store::{Disk, Floor};

/// Time within which the waiting lines are written at the end of the process.
const FLUSH: Duration = Duration::from_secs(5);

/// The streams.
pub struct Streams {
    streams: Vec<Arc<Stream>>,
    with_arguments: bool,
    has_calls: bool,
}

/// The counters of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Lines that were written.
    pub written: u64,
    /// Lines that were lost.
    pub lost: u64,
}

impl Streams {
    /// Creates the streams of the settings; `None` if there are none.
    ///
    /// # Errors
    /// A sentence about an invalid webhook or a missing secret.
    pub(crate) fn of(services: &Services, disk: &Arc<dyn Disk>) -> Result<Option<Arc<Self>>, String> {
        let settings = services.settings::<LogStreams>();
        let mut streams = Vec::new();
        for (index, stream) in settings.0.iter().enumerate() {
            let made = Self::stream(services, disk, stream);
            streams.push(Arc::new(made.map_err(|error| format!("[[log_streams]] {}: {error}", index + 1))?));
        }
        let with_arguments = services.settings::<RecordedCalls>().arguments;
        let has_calls = streams.iter().any(|stream| stream.calls);
        Ok((!streams.is_empty()).then(|| Arc::new(Self { streams, with_arguments, has_calls })))
    }

    fn stream(services: &Services, disk: &Arc<dyn Disk>, settings: &LogStream) -> Result<Stream, String> {
        let (name, destination) = match (&settings.file, &settings.webhook) {
            (Some(file), _) => {
                let path = services.data().join(file);
                let (bytes_max, files_max) = (settings.file_bytes_max, settings.files_max);
                let (disk, floor) = (disk.clone(), Floor::of(services.limits()));
                let name = path.display().to_string();
                (name, Destination::File(RotatingFile { path, bytes_max, files_max, disk, floor }))
            }
            #[cfg(feature = "outbound")]
            (None, Some(url)) => {
                let secret = services.secret(&settings.secret).map_err(|error| error.to_string())?;
                let webhook = Webhook::new(url, secret.expose(), services.clock().clone())?;
                ("the webhook of a log stream".to_owned(), Destination::Webhook(Box::new(webhook)))
            }
            _ => return Err("needs the feature `outbound` of convoke".to_owned()),
        };
        Ok(Stream::new((settings.calls, settings.events), name, destination, services.process()))
    }

    /// Adds an event of the runtime. The lines of functions and of calls are part of the calls.
    pub fn event(&self, record: &LogRecord) {
        if matches!(record.target, "convoke::function")
            || (record.target == "convoke::call" && record.message == "call")
        {
            return;
        }
        let line = Line::event(record);
        for stream in self.streams.iter().filter(|stream| stream.events) {
            stream.queue.add(line.clone());
        }
    }

    /// Returns the counters of each stream, in the order of the settings.
    pub fn counts(&self) -> Vec<Counts> {
        let of = |stream: &Arc<Stream>| Counts {
            written: stream.queue.written.load(Relaxed),
            lost: stream.queue.lost.load(Relaxed),
        };
        self.streams.iter().map(of).collect()
    }

    /// Starts the tasks that write.
    pub(crate) fn start(&self, tasks: &mut JoinSet<()>, stop: &watch::Sender<bool>) {
        for stream in &self.streams {
            tasks.spawn(send_until_stopped(stream.clone(), stop.subscribe()));
        }
    }

    /// Writes the waiting lines at the end of the process, for at most 5 s.
    pub(crate) async fn flush(&self) {
        join_all(self.streams.iter().map(|stream| stream.flush(FLUSH))).await;
    }
}

impl CallObserver for Streams {
    fn completed(&self, call: &CompletedCall<'_>) -> Option<BoxFuture<'static, ()>> {
        let is_of_listener = matches!(call.called, Called::Rejected(rejection) if rejection.stage == Stage::Listener);
        // Rejections of the listener come by the thousand; `/metrics` counts them.
        if self.has_calls && !is_of_listener {
            let record = Arc::new(CallRecord::of(call, self.with_arguments));
            for stream in self.streams.iter().filter(|stream| stream.calls) {
                stream.queue.add(Line::Call(record.clone()));
            }
        }
        None
    }
}
