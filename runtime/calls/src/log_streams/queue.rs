//! The bounded queue of a stream.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::line::Line;

/// Maximum lines that wait.
pub(super) const LINES_MAX: usize = 8_192;
/// Maximum bytes of waiting lines.
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// Lines that are written immediately.
const EAGER: usize = 512;

/// Lines that wait to be written.
#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    pub(super) wake: Notify,
    /// Lines that were lost.
    pub(super) lost: AtomicU64,
    /// Lines that were written.
    pub(super) written: AtomicU64,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<Line>,
    bytes: usize,
}

impl Queue {
    /// Adds a line, or counts it as lost.
    pub(super) fn add(&self, line: Line) {
        let bytes = line.bytes();
        let mut waiting = self.waiting.lock();
        if waiting.lines.len() >= LINES_MAX || waiting.bytes + bytes > BYTES_MAX {
            drop(waiting);
            self.lost.fetch_add(1, Relaxed);
            return;
        }
        waiting.bytes += bytes;
        waiting.lines.push_back(line);
        let count = waiting.lines.len();
        drop(waiting);
        if count == EAGER {
            self.wake.notify_one();
        }
    }

    /// Removes and returns the oldest lines.
    pub(super) fn take(&self, count: usize) -> Vec<Line> {
        let mut waiting = self.waiting.lock();
        let count = count.min(waiting.lines.len());
        let lines: Vec<Line> = waiting.lines.drain(..count).collect();
        waiting.bytes -= lines.iter().map(Line::bytes).sum::<usize>();
        lines
    }
}
