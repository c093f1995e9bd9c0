//! The display of long work on a terminal. A pipe, a file or a log shows nothing of it.

use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Interval between two steps of the spinner.
const TURN: Duration = Duration::from_millis(120);

/// One line on standard error with the progress of work. It disappears when the work is done.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Shows work that is measured in bytes: of `total`, if it is known.
    pub(super) fn bytes(what: impl Into<Cow<'static, str>>, total: Option<u64>) -> Self {
        match total {
            Some(total) => Self::start(what, Some(total), "{msg}  {wide_bar}  {bytes}/{total_bytes}  {eta}"),
            None => Self::start(what, None, "{spinner} {msg}  {bytes}  {bytes_per_sec}"),
        }
    }

    /// Shows work that is measured in other units, such as rows or pages.
    pub(super) fn counted(what: impl Into<Cow<'static, str>>, of: &str) -> Self {
        Self::start(what, Some(0), &format!("{{msg}}  {{wide_bar}}  {{human_pos}}/{{human_len}} {of}  {{eta}}"))
    }

    /// Shows work without a known size.
    pub(super) fn unmeasured(what: impl Into<Cow<'static, str>>) -> Self {
        Self::start(what, None, "{spinner} {msg}  {elapsed}")
    }

    fn start(what: impl Into<Cow<'static, str>>, total: Option<u64>, template: &str) -> Self {
        // A terminal without control sequences would show every step as a separate line.
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

    /// Sets the progress.
    pub(super) fn at(&self, done: u64) {
        self.0.set_position(done);
    }

    /// Sets the progress and the total.
    pub(super) fn of(&self, done: u64, total: u64) {
        self.0.set_length(total);
        self.0.set_position(done);
    }

    /// Sets the description of the present step.
    pub(super) fn now(&self, what: impl Into<Cow<'static, str>>) {
        self.0.set_message(what);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
