//! A server that follows the copies of another one: it answers queries until it is promoted.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use crate::copies::{FollowedFiles, access};
use convoke_calls::runtime::Runtime;
use convoke_copies::follower::note::FollowNote;
use convoke_copies::follower::status::FollowerStatus;
use convoke_copies::follower::{Follower, FollowerOptions, Promoted};
use convoke_copies::{CopyError, CopySettings};

/// The follower of a running server.
#[derive(Default)]
pub struct Following {
    follower: OnceLock<Follower>,
    is_promoted: watch::Sender<bool>,
}

impl Following {
    /// Starts to follow copies with the database of a runtime, which was restored from them.
    ///
    /// # Errors
    /// Settings that cannot work, for the operator.
    pub fn start(runtime: &Runtime, note: FollowNote) -> Result<(), String> {
        let sink = runtime.store().page_sink().ok_or("only the embedded database can follow copies")?;
        let settings = runtime.settings::<CopySettings>();
        let data = runtime.store().folder().to_owned();
        let files = runtime.files().storage().local().cloned();
        let options = FollowerOptions {
            sink,
            files: files.map(|folder| Box::new(FollowedFiles(folder)) as _),
            every: settings.every.duration(),
            clock: runtime.clock().clone(),
            access: {
                let (settings, data) = (settings.clone(), data.clone());
                Box::new(move |url| access(&settings, url, &data))
            },
            data,
        };
        let _ = runtime.memory::<Self>().follower.set(Follower::start(options, note)?);
        Ok(())
    }

    /// Returns the state of the follower, if the server is one.
    pub fn status(runtime: &Runtime) -> Option<Arc<FollowerStatus>> {
        runtime.memory::<Self>().follower.get().map(|follower| follower.status().clone())
    }

    /// Returns the problem that the operator must solve.
    pub fn problem(runtime: &Runtime) -> Option<String> {
        Self::status(runtime)?.problem(runtime.clock().monotonic())
    }

    /// Returns the reason why the server should not get requests yet.
    pub(crate) fn not_ready(runtime: &Runtime) -> Option<String> {
        let state = Self::status(runtime)?.state();
        state.caught_up_at.is_none().then(|| match state.error {
            Some(error) => format!("it has not caught up with the copies yet: {error}"),
            None => "it has not caught up with the copies yet".to_owned(),
        })
    }

    /// Promotes the server: see [`Follower::promote`]. It then has to start again. Blocks. `None`: it follows no copies.
    pub(crate) fn promote(runtime: &Runtime) -> Option<Result<Promoted, CopyError>> {
        let following = runtime.memory::<Self>();
        Some(following.follower.get()?.promote().inspect(|_| {
            following.is_promoted.send_replace(true);
        }))
    }

    /// Waits until the server is promoted.
    pub async fn promoted(runtime: &Runtime) {
        let mut is_promoted = runtime.memory::<Self>().is_promoted.subscribe();
        // The sender lives as long as the runtime.
        let _ = is_promoted.wait_for(|is_promoted| *is_promoted).await;
    }

    /// Ends the follower of a closed database.
    pub fn finish(runtime: &Runtime) {
        if let Some(follower) = runtime.memory::<Self>().follower.get() {
            follower.finish();
        }
    }
}

/// Returns true if a data folder follows copies, and its promotion is not complete.
pub(crate) fn follows(data: &Path) -> bool {
    // A note that cannot be read may be that of a follower.
    FollowNote::read(data).map_or(true, |note| note.is_some_and(|note| note.promoted.is_none()))
}
