//! Writes the log in blocks, on a separate thread.
//!
//! A library that passes each line to its thread wakes it for each line. At ten thousand calls per second that costs
//! more than the calls. Here lines are collected in one buffer, and the thread writes the lines of some milliseconds
//! together.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing_subscriber::fmt::MakeWriter;

/// Maximum bytes that wait for the reader of standard error. Further lines are dropped.
const WAITING_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Number of bytes that are written without waiting for more.
const BLOCK_BYTES: usize = 64 * 1024;
/// Time for which a line waits for others.
const PAUSE: Duration = Duration::from_millis(5);
/// Maximum wait of the process's end for the reader of standard error.
const FAREWELL: Duration = Duration::from_secs(1);

/// A writer of whole lines. Clones write to the same log.
#[derive(Clone)]
pub(super) struct Writer(Arc<Shared>);

struct Shared {
    lines: Mutex<Lines>,
    wake: Condvar,
    left_out: Arc<AtomicU64>,
}

#[derive(Default)]
struct Lines {
    waiting: Vec<u8>,
    is_over: bool,
}

/// Writes the remaining lines when it is dropped.
pub(super) struct Written {
    shared: Arc<Shared>,
    /// The lock lets threads share the owner of the log.
    ended: Mutex<mpsc::Receiver<()>>,
}

impl Writer {
    /// Starts the thread that writes to `out`.
    ///
    /// # Errors
    /// The system has no thread.
    pub(super) fn start(out: impl Write + Send + 'static) -> io::Result<(Self, Written)> {
        let shared = Arc::new(Shared { lines: Mutex::default(), wake: Condvar::new(), left_out: Arc::default() });
        let (end, ended) = mpsc::channel();
        let its = shared.clone();
        thread::Builder::new().name("convoke-log".to_owned()).spawn(move || {
            its.write_to(out);
            drop(end);
        })?;
        Ok((Self(shared.clone()), Written { shared, ended: Mutex::new(ended) }))
    }

    /// Adds lines, each with its line break. Never waits for the reader.
    pub(super) fn add(&self, lines: &[u8]) {
        let mut held = self.0.lines.lock();
        let before = held.waiting.len();
        if before + lines.len() > WAITING_BYTES_MAX {
            self.0.left_out.fetch_add(1, Relaxed);
            return;
        }
        held.waiting.extend_from_slice(lines);
        let after = held.waiting.len();
        drop(held);
        // The thread sleeps while the buffer is empty, and is woken again only for a full block.
        if before == 0 || (before < BLOCK_BYTES && after >= BLOCK_BYTES) {
            self.0.wake.notify_one();
        }
    }

    /// Returns the counter of dropped lines.
    pub(super) fn left_out(&self) -> Arc<AtomicU64> {
        self.0.left_out.clone()
    }
}

impl Shared {
    fn write_to(&self, mut out: impl Write) {
        let mut block = Vec::new();
        loop {
            let mut lines = self.lines.lock();
            while lines.waiting.is_empty() {
                if lines.is_over {
                    return;
                }
                self.wake.wait(&mut lines);
            }
            if !lines.is_over && lines.waiting.len() < BLOCK_BYTES {
                self.wake.wait_for(&mut lines, PAUSE);
            }
            std::mem::swap(&mut lines.waiting, &mut block);
            drop(lines);
            // There is no place to report that the log cannot be written.
            let _ = out.write_all(&block).and_then(|()| out.flush());
            block.clear();
            block.shrink_to(2 * BLOCK_BYTES);
        }
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        self.shared.lines.lock().is_over = true;
        self.shared.wake.notify_one();
        // Nothing is ever sent: this waits for the thread's end, with a timeout.
        let _ = self.ended.get_mut().recv_timeout(FAREWELL);
    }
}

impl Write for Writer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Writer {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The output of a test, and a gate that blocks it.
    #[derive(Clone, Default)]
    struct Out {
        bytes: Arc<Mutex<Vec<u8>>>,
        gate: Arc<Mutex<()>>,
    }

    impl Write for Out {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _open = self.gate.lock();
            self.bytes.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn last_lines_are_written_at_the_end() {
        let out = Out::default();
        let (writer, written) = Writer::start(out.clone()).unwrap();
        let expected: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
        for line in expected.split_inclusive('\n') {
            writer.add(line.as_bytes());
        }
        drop(written);
        assert_eq!(String::from_utf8(out.bytes.lock().clone()).unwrap(), expected);
        assert_eq!(writer.left_out().load(Relaxed), 0);
    }

    #[test]
    fn unread_lines_are_dropped_and_counted() {
        let out = Out::default();
        let held_up = out.gate.lock();
        let (writer, written) = Writer::start(out.clone()).unwrap();
        let line = [b'x'; 1023].iter().chain(b"\n").copied().collect::<Vec<u8>>();
        let sent = 3 * WAITING_BYTES_MAX / line.len();
        (0..sent).for_each(|_| writer.add(&line));
        let left_out = usize::try_from(writer.left_out().load(Relaxed)).unwrap();
        drop(held_up);
        drop(written);
        let bytes = out.bytes.lock().len();
        assert_eq!(bytes % line.len(), 0, "lines are whole");
        assert_eq!(bytes / line.len() + left_out, sent);
        assert!(left_out >= sent / 3, "{left_out} of {sent}");
    }
}
