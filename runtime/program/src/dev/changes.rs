//! Changes of the sources.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeSet, HashMap};
use std::hash::{Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::ModifyKind;
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::sources::Sources;

/// Time without a change after which a build starts. Editors save a file in several steps.
const QUIET: Duration = Duration::from_millis(60);

/// A change of the sources.
pub(super) struct Change {
    /// The first file that changed.
    pub(super) file: PathBuf,
    /// True if the settings changed: a restart is needed even if the program stays the same.
    pub(super) has_settings: bool,
}

/// The changes of the sources of a program.
pub(super) struct Changes {
    /// The watched sources.
    pub(super) sources: Arc<Sources>,
    received: UnboundedReceiver<PathBuf>,
    watcher: RecommendedWatcher,
    /// The watched folders without the folders in them.
    folders: BTreeSet<PathBuf>,
    /// The files of the last build.
    inputs: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// The content of each changed file as a hash; `None` if there is no file. A build that writes a source with the
    /// same content must not start the next build.
    seen: HashMap<PathBuf, Option<u64>>,
    /// The files that changed since the last build began.
    pending: Vec<PathBuf>,
}

impl Changes {
    /// Watches the sources.
    ///
    /// # Errors
    /// The system cannot watch them, for example because too many files are watched.
    pub(super) fn watch(sources: Sources) -> notify::Result<Self> {
        let sources = Arc::new(sources);
        let (send, received) = unbounded_channel();
        let inputs = Arc::new(Mutex::new(sources.inputs()));
        let (own, known, trees) = (Arc::clone(&sources), Arc::clone(&inputs), sources.trees());
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
            let Ok(event) = event else { return };
            let inputs = known.lock();
            for path in event.paths {
                let is_module = path.is_dir() && trees.iter().any(|tree| path.starts_with(tree));
                if is_change(event.kind, &path) && (is_module || own.is_source(&path, &inputs)) {
                    let _ = send.send(path);
                }
            }
        })?;
        for tree in sources.trees() {
            watcher.watch(&tree, RecursiveMode::Recursive)?;
        }
        let mut changes = Self {
            sources,
            received,
            watcher,
            folders: BTreeSet::new(),
            inputs,
            seen: HashMap::new(),
            pending: Vec::new(),
        };
        changes.follow_inputs()?;
        Ok(changes)
    }

    /// Watches the files that the last build read.
    pub(super) fn follow_inputs(&mut self) -> notify::Result<()> {
        *self.inputs.lock() = self.sources.inputs();
        for folder in self.sources.folders() {
            if self.folders.insert(folder.clone()) {
                self.watcher.watch(&folder, RecursiveMode::NonRecursive)?;
            }
        }
        Ok(())
    }

    /// Waits for a change, and then until no file changes. A drop of this future loses no change.
    pub(super) async fn next(&mut self) -> Change {
        loop {
            let path = match self.pending.is_empty() {
                true => self.received.recv().await,
                false => match tokio::time::timeout(QUIET, self.received.recv()).await {
                    Ok(path) => path,
                    Err(_) => match self.take() {
                        Some(change) => return change,
                        None => continue,
                    },
                },
            };
            match path {
                Some(path) if self.pending.contains(&path) => {}
                Some(path) => self.pending.push(path),
                // The watcher lives as long as this value, and so does its sender.
                None => std::future::pending().await,
            }
        }
    }

    /// Returns the pending change, if any content differs. A file is compared after it was written: some programs empty
    /// it first.
    fn take(&mut self) -> Option<Change> {
        let mut changed = std::mem::take(&mut self.pending);
        changed.retain(|path| {
            let content = content(path);
            self.seen.insert(path.clone(), content) != Some(content) || path.is_dir()
        });
        let has_settings = changed.contains(&self.sources.settings);
        Some(Change { file: changed.into_iter().next()?, has_settings })
    }
}

/// Returns true for a change of content or of a name. A folder changes only by its name: its files have events of their
/// own.
fn is_change(kind: EventKind, path: &Path) -> bool {
    match kind {
        EventKind::Create(_) | EventKind::Remove(_) | EventKind::Modify(ModifyKind::Name(_)) => true,
        EventKind::Modify(_) => !path.is_dir(),
        EventKind::Any | EventKind::Access(_) | EventKind::Other => false,
    }
}

fn content(path: &Path) -> Option<u64> {
    let bytes = std::fs::read(path).ok()?;
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    Some(hasher.finish())
}
