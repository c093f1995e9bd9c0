//! Continuous copies of the embedded database in a folder or an S3-compatible storage, their restore, and servers that
//! follow them.
//!
//! A [`Shipper`] takes the changed pages from the engine's [`convoke_store::PageFeed`] each second and stores them as
//! LTX files. [`restore`] makes a database of a snapshot and the files after it. In reading order: the file format
//! (`ltx`), the places (`place/`), the files of a place (`catalog`), the choice of files (`plan`), the restore, the
//! thread that copies (`shipper/`), the thread that follows (`follower/`).

mod catalog;
pub mod contents;
mod error;
pub mod follower;
mod ltx;
mod merge;
mod place;
mod plan;
pub mod restore;
pub mod settings;
mod shipper;
pub mod survey;
mod thread_end;

/// The facade's path, which the macro of a section of settings uses.
extern crate convoke_core as convoke;

pub use error::CopyError;
pub use follower::{Follower, FollowerOptions};
pub use place::{Access, BucketAccess, Place};
pub use settings::CopySettings;
pub use shipper::note::take_over;
pub use shipper::status::{CopyState, CopyStatus};
pub use shipper::{Shipper, ShipperOptions};
