//! Commands that remove what they have begun when they are interrupted.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::Failure;

/// Exit code of a process that a second Ctrl-C ends.
const INTERRUPTED: i32 = 130;

/// Runs `work` until it ends or the process receives SIGINT, SIGTERM or SIGHUP: it then fails, so that the command can
/// remove incomplete files. Another signal ends the process immediately.
///
/// # Errors
/// Those of `work`; the interruption.
pub(crate) async fn interruptible<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let mut signals = caught().map_err(Failure::of_system("signals cannot be caught"))?;
    tokio::select! {
        done = work => done,
        () = next(&mut signals) => {
            tokio::spawn(async move {
                next(&mut signals).await;
                std::process::exit(INTERRUPTED);
            });
            Err(Failure("interrupted; incomplete files were removed".to_owned()))
        }
    }
}

fn caught() -> io::Result<[Signal; 3]> {
    Ok([signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?, signal(SignalKind::hangup())?])
}

/// Waits for one of the signals.
async fn next(signals: &mut [Signal; 3]) {
    poll_fn(|context| {
        let is_any_ready = signals.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
        if is_any_ready { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
