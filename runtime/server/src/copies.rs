//! Continuous copies of the embedded database, and access to their place.

use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use convoke_calls::files::Folder;
use convoke_calls::outbound::secret;
use convoke_calls::runtime::Runtime;
use convoke_copies::contents::ContentFolder;
use convoke_copies::{BucketAccess, CopySettings, CopyStatus, Place, Shipper, ShipperOptions};

/// Id and key for the access to a bucket; the same secrets as for [stored files](convoke_calls::files).
const BUCKET_SECRETS: [&str; 2] = ["S3_ACCESS_KEY_ID", "S3_SECRET_ACCESS_KEY"];

/// The copies of a running server.
#[derive(Default)]
pub struct Copies {
    shipper: OnceLock<Shipper>,
}

impl Copies {
    /// Starts to copy the database of a runtime, if the settings name a place.
    ///
    /// # Errors
    /// Settings that cannot work, for the operator.
    pub fn start(runtime: &Runtime) -> Result<(), String> {
        let settings = runtime.settings::<CopySettings>();
        if settings.to.is_none() {
            return Ok(());
        }
        let Some(feed) = runtime.store().page_feed() else {
            return Err(
                "copy.to copies the embedded database only; remove the section [copy], and copy this database \
                        with the tools of its server"
                    .to_owned(),
            );
        };
        let data = runtime.store().folder().to_owned();
        let options = ShipperOptions {
            feed,
            files: runtime.files().storage().local().map(|folder| folder.path().to_owned()),
            scratch: data.join("copies.partial"),
            settings: (*settings).clone(),
            access: Box::new(move |url| access(&settings, url, &data)),
            clock: runtime.clock().clone(),
        };
        let _ = runtime.memory::<Self>().shipper.set(Shipper::start(options)?);
        Ok(())
    }

    /// Returns the state of the copies, if the database is copied.
    pub fn status(runtime: &Runtime) -> Option<Arc<CopyStatus>> {
        runtime.memory::<Self>().shipper.get().map(|shipper| shipper.status().clone())
    }

    /// Returns the problem of the copies that the operator must solve.
    pub fn problem(runtime: &Runtime) -> Option<String> {
        Self::status(runtime)?.problem(runtime.clock().monotonic(), runtime.clock().now())
    }

    /// Copies the last changes of a closed database.
    pub fn finish(runtime: &Runtime) {
        if let Some(shipper) = runtime.memory::<Self>().shipper.get() {
            shipper.finish();
        }
    }
}

/// Opens the place of copies with the access of an installation.
///
/// # Errors
/// A message for the operator.
pub fn open(url: &str, settings: &CopySettings, data: &Path) -> Result<Place, String> {
    Place::open(url, &access(settings, url, data)?)
}

/// Returns the access to a place.
///
/// # Errors
/// A missing secret, for the operator.
pub(crate) fn access(settings: &CopySettings, url: &str, data: &Path) -> Result<BucketAccess, String> {
    if !Place::is_bucket(url) {
        return Ok(BucketAccess::default());
    }
    let read = |name: &str| secret::read(data, name).map_err(|error| format!("{url}: {error}"));
    let [key_id, key] = BUCKET_SECRETS;
    Ok(BucketAccess {
        endpoint: settings.endpoint.clone(),
        region: settings.region.clone(),
        key_id: read(key_id)?.expose().to_owned(),
        key: read(key)?.expose().to_owned(),
    })
}

/// The folder of stored files of a data folder, as the receiver of copied ones.
pub(crate) struct FollowedFiles(pub(crate) Folder);

impl ContentFolder for FollowedFiles {
    fn has(&self, hash: &str) -> bool {
        self.0.path_of(hash).exists()
    }

    fn take_in(&self, hash: &str, from: &mut dyn Read) -> io::Result<()> {
        self.0.take_in(hash, from).map(drop)
    }
}
