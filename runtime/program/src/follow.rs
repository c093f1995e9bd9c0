//! The data folder of a server that follows copies, before the server starts.

use super::backup::require_own;
use super::copies::open_place;
use super::failure::Failure;
use super::local::clock;
use convoke_copies::follower::fetch;
use convoke_copies::follower::note::FollowNote;
use convoke_server::archive::space;
use convoke_server::config::Config;
use convoke_store::{Engines, Installation, Thoroughness};

/// Prepares the data folder of a server. With `follow`, it restores the newest state of these copies at the first start.
/// Returns the position in the copies; `None`: the server does not follow copies, or was promoted. `step` receives each
/// long step.
///
/// # Errors
/// A folder with another database, or of a follower; missing or damaged copies.
pub(super) fn prepare(
    config: &Config,
    engines: &Engines,
    follow: Option<&str>,
    step: &dyn Fn(&str),
) -> Result<Option<FollowNote>, Failure> {
    let data = config.data.display();
    match (FollowNote::read(&config.data).map_err(Failure::at(&config.data))?, follow) {
        (None, None) => Ok(None),
        (Some(note), _) if note.promoted.is_some() => {
            if follow.is_some() {
                tracing::warn!("{data} was promoted and no longer follows {}: start it without --follow", note.url);
            }
            complete_promotion(config, engines, note)?;
            Ok(None)
        }
        (Some(note), None) => Err(Failure(format!(
            "{data} follows the copies in {url}: start it with `convoke serve --follow {url}`; `convoke promote` then makes \
             it independent",
            url = note.url
        ))),
        (Some(note), Some(url)) if note.url != url => {
            Err(Failure(format!("{data} follows the copies in {}, not in {url}; use an empty data folder", note.url)))
        }
        (note, Some(url)) => {
            require_own(config, engines)?;
            let installation = config.engine(engines)?.lock(&config.data, clock())?;
            match (note, installation.database()?.is_some()) {
                (Some(note), true) => Ok(Some(note)),
                (None, true) => {
                    Err(Failure(format!("{data} has a database of its own, which is kept; use an empty data folder")))
                }
                (_, false) => fetch_all(config, &*installation, url, step).map(Some),
            }
        }
    }
}

fn fetch_all(
    config: &Config,
    installation: &dyn Installation,
    url: &str,
    step: &dyn Fn(&str),
) -> Result<FollowNote, Failure> {
    let place = open_place(config, url)?;
    let folder =
        tempfile::Builder::new().prefix("follow-").tempdir_in(&config.data).map_err(Failure::at(&config.data))?;
    let file = folder.path().join("fetched.db");
    step(&format!("fetching the copies in {url}"));
    let mut percent = 0;
    let fetched = fetch(&place, &file, &mut |done, total| {
        let now = done * 100 / total.max(1);
        if now > percent {
            percent = now;
            step(&format!("fetching the copies in {url}, {percent} %"));
        }
    });
    let (note, restored) = fetched.map_err(|error| Failure(error.to_string()))?;
    space::require(&config.data, restored.bytes).map_err(Failure)?;
    step("checking every page");
    installation.take_in(&file, &mut |_| {})?.require_whole(Thoroughness::Quick)?;
    // First: without the note, the database would not be known as that of another server.
    note.write(&config.data).map_err(Failure::at(&config.data))?;
    installation.replace()?;
    Ok(note)
}

/// Lets the promoted data folder continue the copies.
fn complete_promotion(config: &Config, engines: &Engines, mut note: FollowNote) -> Result<(), Failure> {
    if let Some(promotion) = &mut note.promoted
        && !promotion.is_set
    {
        config.engine(engines)?.lock(&config.data, clock())?.set_feed_note(&promotion.feed_note)?;
        promotion.is_set = true;
        note.write(&config.data).map_err(Failure::at(&config.data))?;
    }
    Ok(())
}
