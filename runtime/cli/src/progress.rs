//! What a person at a terminal sees of long work. In a pipe, a file or a log there is nothing of it.

use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Between two turns of what shows that work goes on.
const TURN: Duration = Duration::from_millis(120);

/// One line on standard error that shows how far work is, and goes when the work is done.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Work that is measured in bytes: of `total`, or of nobody knows how many.
    pub(super) fn bytes(what: impl Into<Cow<'static, str>>, total: Option<u64>) -> Self {
        match total {
            Some(total) => Self::start(what, Some(total), "{msg}  {wide_bar}  {bytes}/{total_bytes}  {eta}"),
            None => Self::start(what, None, "{spinner} {msg}  {bytes}  {bytes_per_sec}"),
        }
    }

    /// Work that is measured in other things, such as rows or pages.
    pub(super) fn counted(what: impl Into<Cow<'static, str>>, of: &str) -> Self {
        Self::start(what, Some(0), &format!("{{msg}}  {{wide_bar}}  {{human_pos}}/{{human_len}} {of}  {{eta}}"))
    }

    /// Work of which nobody knows how far it is.
    pub(super) fn unmeasured(what: impl Into<Cow<'static, str>>) -> Self {
        Self::start(what, None, "{spinner} {msg}  {elapsed}")
    }

    fn start(what: impl Into<Cow<'static, str>>, total: Option<u64>, template: &str) -> Self {
        // A terminal of no abilities shows every step as a line of its own.
        let shown = std::io::stderr().is_terminal();
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(total, target);
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(what);
        if shown {
            bar.enable_steady_tick(TURN);
        }
        Self(bar)
    }

    /// So much is done.
    pub(super) fn at(&self, done: u64) {
        self.0.set_position(done);
    }

    /// So much is done, of so much.
    pub(super) fn of(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }

    /// What is being done now.
    pub(super) fn now(&self, what: impl Into<Cow<'static, str>>) {
        self.0.set_message(what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
