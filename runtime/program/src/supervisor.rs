//! Messages to the supervisor of the process (systemd, `Type=notify`): ready, stopping, alive.
//!
//! Without `NOTIFY_SOCKET` in the environment, this module does nothing.

use std::sync::Arc;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::task::JoinHandle;

use convoke_calls::runtime::Runtime;
use convoke_server::opening::Opening;

/// Interval between two status lines, if the supervisor has no watchdog.
const STATUS: Duration = Duration::from_secs(5);

/// Interval between two messages while the database is opened, and the time that each of them requests.
const OPENING: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(60));

/// Reports a long step of opening the database, and requests more time.
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

/// Reports that calls are served at `url` from now on.
pub(super) fn ready(runtime: &Runtime, url: &str) {
    notify(&[NotifyState::Ready, NotifyState::Status(&status(runtime, url))]);
}

/// Reports that open calls are ending.
pub(super) fn stopping() {
    notify(&[NotifyState::Stopping, NotifyState::Status("letting open calls end")]);
}

/// Reports that the process is alive while the executor runs and no mutation blocks all others. A store that is closed
/// for a reason (a migration, a full disk) counts as alive: a restart would not open it.
pub(super) fn watch(runtime: Runtime, url: String) -> Option<JoinHandle<()>> {
    std::env::var_os("NOTIFY_SOCKET")?;
    let watchdog = sd_notify::watchdog_enabled();
    // Twice per watchdog period, as sd_watchdog_enabled(3) advises.
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
        // The status must be one line.
        Err(reason) => format!("not ready: {}", reason.replace('\n', " ")),
    }
}

fn notify(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!("cannot notify the supervisor: {error}");
    }
}
