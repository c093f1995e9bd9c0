//! `copies`: the continuous copies of a database in a folder or a bucket.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::io;
use std::ops::ControlFlow;

use clap::Subcommand;
use serde_json::json;

use super::backup::require_own;
use super::failure::Failure;
use super::local::{LocalArgs, clock, lacks_database, require_folder, tables};
use super::progress::Progress;
use super::table;
use convoke_calls::files::{FilesSettings, Folder};
use convoke_copies::contents::{self, ContentFolder};
use convoke_copies::restore::{Moment, Restored, restore};
use convoke_copies::survey::{Copied, GenerationSurvey, survey};
use convoke_copies::{CopySettings, Place, take_over};
use convoke_core::clock::Millis;
use convoke_core::counted::counted;
use convoke_server::archive::space::human;
use convoke_server::backup::contents::is_whole;
use convoke_server::backup::measure_all;
use convoke_server::config::Config;
use convoke_server::copies;
use convoke_store::file_fields::has_files;
use convoke_store::offline::everything;
use convoke_store::{ContentState, Engines, OfflineDatabase, StoredFile, Table as _, Thoroughness};

/// List and verify the continuous copies of the database
///
/// With [copy] in convoke.toml, the server copies its database each second to a folder or a bucket. These commands read
/// the copies, also on a machine without the server. `convoke restore --from URL` restores them.
///
///   convoke copies list
///   convoke copies verify --from s3://backups/convoke
///   convoke restore --from s3://backups/convoke --at 2026-03-01T12:00:00Z
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Copies {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// List the generations with their snapshots and the newest moment
    List(List),
    /// Restore the newest moment into a temporary file, and check every page and index of it
    ///
    /// Checks that each stored file is in the place and has its length. --full also reads these files.
    Verify(Verify),
    /// Let this data folder continue the copies of another server, which must be stopped
    ///
    /// It begins a new generation. The former server, if it still runs, can no longer copy, and reports it.
    TakeOver(TakeOver),
}

/// The place of copies, and its access.
#[derive(clap::Args)]
pub(super) struct PlaceArgs {
    /// Place of the copies: dir:/path or s3://bucket/prefix [default: copy.to of convoke.toml]
    #[arg(long, value_name = "URL")]
    pub(super) from: Option<String>,
    /// URL of the S3-compatible storage [default: copy.endpoint of convoke.toml, else AWS]
    #[arg(long, value_name = "URL")]
    pub(super) endpoint: Option<String>,
    /// Region of the storage [default: copy.region of convoke.toml]
    #[arg(long, value_name = "REGION")]
    pub(super) region: Option<String>,
}

/// Opens the place of copies at this URL, with the access of an installation.
///
/// # Errors
/// It cannot be opened.
pub(super) fn open_place(config: &Config, url: &str) -> Result<Place, Failure> {
    copies::open(url, &CopySettings::of(&config.sections), &config.data).map_err(Failure)
}

impl PlaceArgs {
    /// Opens the place.
    ///
    /// # Errors
    /// No place is named; it cannot be opened.
    pub(super) fn open(&self, config: &Config) -> Result<Place, Failure> {
        let mut settings = CopySettings::of(&config.sections);
        let url = self.from.clone().or_else(|| settings.to.clone()).ok_or_else(|| {
            Failure("name the place of the copies: --from dir:/path or --from s3://bucket/prefix".to_owned())
        })?;
        settings.endpoint = self.endpoint.clone().or(settings.endpoint);
        if let Some(region) = &self.region {
            settings.region.clone_from(region);
        }
        copies::open(&url, &settings, &config.data).map_err(Failure)
    }
}

#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    place: PlaceArgs,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    local: LocalArgs,
}

#[derive(clap::Args)]
struct Verify {
    #[command(flatten)]
    place: PlaceArgs,
    /// Generation to verify [default: the newest]
    #[arg(long, value_name = "N")]
    generation: Option<u32>,
    /// Read each stored file, too, and compare it with its SHA-256
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    local: LocalArgs,
}

#[derive(clap::Args)]
struct TakeOver {
    #[command(flatten)]
    place: PlaceArgs,
    #[command(flatten)]
    local: LocalArgs,
}

impl Copies {
    pub(super) fn run(self, engines: &Engines) -> Result<(), Failure> {
        match self.what {
            What::List(list) => list.run(),
            What::Verify(verify) => verify.run(engines),
            What::TakeOver(take_over) => take_over.run(engines),
        }
    }
}

impl List {
    fn run(self) -> Result<(), Failure> {
        let config = self.local.config()?;
        require_folder(&config, self.local.data.as_deref())?;
        let place = self.place.open(&config)?;
        let generations = survey(&place).map_err(|error| Failure(error.to_string()))?;
        if self.json {
            let text = serde_json::to_string_pretty(&generations.iter().map(shown).collect::<Vec<_>>())?;
            return table::print(&text);
        }
        if generations.is_empty() {
            return table::print(&format!("{} has no copies", place.url()));
        }
        let header = ["generation", "state", "commit", "copied at", "size"];
        let rows = generations.iter().flat_map(|generation| {
            let row = |state: &str, copied: &Copied, bytes: u64| {
                [
                    generation.number.to_string(),
                    state.to_owned(),
                    copied.commit.to_string(),
                    table::time(copied.at.0),
                    human(bytes),
                ]
            };
            let mut rows: Vec<_> =
                generation.snapshots.iter().map(|snapshot| row("snapshot", snapshot, snapshot.bytes)).collect();
            rows.extend(generation.newest.iter().map(|newest| row("newest", newest, generation.bytes)));
            rows
        });
        table::print_rows(header, rows)
    }
}

fn shown(generation: &GenerationSurvey) -> serde_json::Value {
    let copied = |copied: &Copied| json!({ "commit": copied.commit, "at": copied.at, "bytes": copied.bytes });
    json!({
        "generation": generation.number,
        "follows": generation.follows,
        "begunAt": generation.begun_at,
        "snapshots": generation.snapshots.iter().map(copied).collect::<Vec<_>>(),
        "newest": generation.newest.as_ref().map(copied),
        "files": generation.files,
        "bytes": generation.bytes,
    })
}

impl Verify {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let config = self.local.config()?;
        require_folder(&config, self.local.data.as_deref())?;
        require_own(&config, engines)?;
        let place = self.place.open(&config)?;
        let folder = tempfile::tempdir().map_err(Failure::at(&std::env::temp_dir()))?;
        let file = folder.path().join("restored.db");
        let restored = fetch(&place, self.generation, Moment::Newest, &file)?;
        let installation = config.engine(engines)?.lock(folder.path(), clock())?;
        let checking = Progress::unmeasured("checking every page and index");
        let database = installation.take_in(&file, &mut |_| {})?;
        database.require_whole(Thoroughness::Full)?;
        drop(checking);
        let mut of_files = "";
        if FilesSettings::of(&config.sections).url.is_none() && require_contents(&place, &*database, self.full)? {
            of_files = match self.full {
                true => "; each stored file has its SHA-256",
                false => "; stored files have their length (--full also compares their SHA-256)",
            };
        }
        table::print(&format!("{}: verified, {}{of_files}", place.url(), described(&restored)))
    }
}

/// Checks that the place has the content of each stored file. With `is_full`, it compares their SHA-256. Returns false if
/// the program stores no files.
fn require_contents(place: &Place, database: &dyn OfflineDatabase, is_full: bool) -> Result<bool, Failure> {
    let copied: HashMap<String, u64> =
        contents::list(place).map_err(|error| Failure(error.to_string()))?.into_iter().collect();
    if !tables()?.into_iter().any(has_files) {
        return Ok(false);
    }
    let (mut missing, mut there) = (Vec::new(), Vec::new());
    database.reader().select(&everything(StoredFile::DEF), &mut |row| {
        let file = StoredFile::decode(row)?;
        let bytes = u64::try_from(file.bytes).unwrap_or(0);
        if file.state == ContentState::Stored {
            if copied.get(&file.hash) == Some(&bytes) { there.push(file.hash) } else { missing.push(file.hash) }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let mut damaged = Vec::new();
    if is_full {
        let progress = Progress::counted("reading files", "files");
        for (done, hash) in (1..).zip(&there) {
            let mut content = contents::open(place, hash).map_err(|error| Failure(error.to_string()))?;
            let (found, _) = measure_all(&mut content, &mut |_| {})
                .map_err(|error| Failure(format!("{}: {hash}: {error}", place.url())))?;
            if found != *hash {
                damaged.push(hash.clone());
            }
            progress.of(done, there.len() as u64);
        }
    }
    let Some(first) = missing.first().or(damaged.first()) else { return Ok(true) };
    Err(Failure(format!(
        "{}: {} missing or incomplete, and {} with another SHA-256; the first is {first}. The rest can be \
         restored: `convoke restore --from {} --without-files`",
        place.url(),
        counted(missing.len(), "stored file"),
        damaged.len(),
        place.url()
    )))
}

impl TakeOver {
    fn run(self, engines: &Engines) -> Result<(), Failure> {
        let config = self.local.config()?;
        require_folder(&config, self.local.data.as_deref())?;
        require_own(&config, engines)?;
        let place = self.place.open(&config)?;
        // It ends the copies of the other server.
        if lacks_database(&config, Some(&config.data), engines)? {
            return Err(Failure(format!(
                "there is no database in {}, and nothing was taken over: name the data folder with --data, or restore the \
                 copies with `convoke restore --from {} --take-over`",
                config.data.display(),
                place.url()
            )));
        }
        let (config, installation) = self.local.lock(engines)?;
        let (note, generation) = take_over(&place, clock().now()).map_err(|error| Failure(error.to_string()))?;
        installation.set_feed_note(&note)?;
        table::print(&format!(
            "{}: its server continues the copies of {} as generation {generation}",
            config.data.display(),
            place.url()
        ))
    }
}

/// Restores a moment into a file.
///
/// # Errors
/// Missing or damaged copies; the file cannot be written.
pub(super) fn fetch(
    place: &Place,
    generation: Option<u32>,
    moment: Moment,
    to: &std::path::Path,
) -> Result<Restored, Failure> {
    let progress = Progress::bytes("fetching", None);
    let fetched = restore(place, generation, moment, to, &mut |done, total| progress.of(done, total));
    fetched.map_err(|error| Failure(error.to_string()))
}

/// A folder of files that replaces damaged contents, and records the whole ones.
struct RestoredFiles(Folder, RefCell<HashSet<String>>);

impl ContentFolder for RestoredFiles {
    fn has(&self, hash: &str) -> bool {
        let is_whole = is_whole(&self.0, hash);
        if is_whole {
            self.1.borrow_mut().insert(hash.to_owned());
        }
        is_whole
    }

    fn take_in(&self, hash: &str, from: &mut dyn io::Read) -> io::Result<()> {
        self.0.take_in(hash, from)?;
        self.1.borrow_mut().insert(hash.to_owned());
        Ok(())
    }
}

/// Adds the whole copied contents that the folder of files lacks, and replaces damaged ones. Returns the hashes of the
/// copied contents that are whole in the folder.
pub(super) fn fetch_contents(place: &Place, files: Folder) -> Result<HashSet<String>, Failure> {
    let progress = Progress::bytes("fetching files", None);
    let files = RestoredFiles(files, RefCell::default());
    contents::fetch(place, &files, &mut |done, total| progress.of(done, total))
        .map_err(|error| Failure(format!("the stored files cannot be restored: {error}")))?;
    Ok(files.1.into_inner())
}

/// Describes a restored moment.
pub(super) fn described(restored: &Restored) -> String {
    let Restored { generation, commit, at, files, bytes } = restored;
    format!(
        "generation {generation}, commit {commit}, copied at {}; {}, {}",
        table::time(at.0),
        counted(*files, "file"),
        human(*bytes)
    )
}

/// Parses a time such as `2026-03-01T12:00:00Z`.
///
/// # Errors
/// Another format.
pub(super) fn parse_time(text: &str) -> Result<Millis, String> {
    let time = humantime::parse_rfc3339_weak(text).map_err(|error| format!("{error}; write 2026-03-01T12:00:00Z"))?;
    let since = time.duration_since(std::time::UNIX_EPOCH).map_err(|error| error.to_string())?;
    i64::try_from(since.as_millis()).map(Millis).map_err(|error| error.to_string())
}
