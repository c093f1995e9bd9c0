//! What the supervisor of the process (systemd, `Type=notify`) is told: ready, stopping, alive.
//!
//! Without `NOTIFY_SOCKET` in the environment nobody is told, and nothing here does anything.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::task::JoinHandle;

use convoke_calls::runtime::Runtime;
use convoke_server::opening::Opening;

/// Between two looks at the store for the status line, if the supervisor keeps no watch of its own.
const STATUS: Duration = Duration::from_secs(5);

/// Between two messages while the database is opened, and the time that each of them asks for.
const OPENING: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// Tells which step of opening the database takes long, and asks for more time.
pub(super) fn opening(step: &str) {
    let more = u32::try_from(OPENING.1.as_micros()).unwrap_or(u32::MAX);
    notify(&[NotifyState::ExtendTimeoutUsec(more), NotifyState::Status(step)]);
}

/// Repeats [`opening`] until it is aborted.
pub(super) fn watch_opening(opening: Arc<Opening>) -> Option<JoinHandle<()>> {
    std::env::var_os("NOTIFY_SOCKET")?;
    Some(tokio::spawn(async move {
        loop {
            tokio::time::sleep(OPENING.0).await;
            self::opening(&opening.step());
        }
    }))
}

/// Calls are served from now on at `url`.
pub(super) fn ready(runtime: &Runtime, url: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(&status(runtime, url))]);
}

/// Open calls are let end.
pub(super) fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("letting open calls end")]);
}

/// Tells that the process lives as long as it does: the executor turns and no mutation holds up all others. A store
/// that is closed for a reason (a migration, a full disk) is alive: starting again would not open it.
pub(super) fn watch(runtime: Runtime, url: String) -> Option<JoinHandle<()>> {
    std::env::var_os("NOTIFY_SOCKET")?;
    let watchdog = sd_notify::watchdog_enabled();
    // Twice in the time after which the supervisor acts, as sd_watchdog_enabled(3) advises.
    let period = watchdog.map_or(STATUS, |limit| limit / 2);
    Some(tokio::spawn(async move {
        let mut last = status(&runtime, &url);
        loop {
            tokio::time::sleep(period).await;
            if watchdog.is_some() && runtime.store().stuck().is_none() {
                notify(&[NotifyState::Watchdog]);
            }
            let now = status(&runtime, &url);
            if now != last {
                notify(&[NotifyState::Status(&now)]);
                last = now;
            }
        }
    }))
}

fn status(runtime: &Runtime, url: &str) -> String {
    match runtime.ready() {
        Ok(()) => format!("serving on {url}"),
        // It must stay one line.
        Err(reason) => format!("not ready: {}", reason.replace('\n', " ")),
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("the supervisor cannot be told: {error}");
    }
}
