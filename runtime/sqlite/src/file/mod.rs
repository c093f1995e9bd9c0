//! The files of a data folder: the database and its log, copies, replacements, and the disk.

pub(crate) mod backup;
mod data_dir;
mod database_builder;
mod database_file;
mod disk_watch;
mod installation;
pub(crate) mod names;
pub(crate) mod schema;
pub(crate) mod swap;
mod wal;

pub(crate) use backup::BackupJob;
pub(crate) use data_dir::DataDir;
pub(crate) use database_file::DatabaseFile;
pub(crate) use disk_watch::Watched;
pub(crate) use installation::DataDirInstallation;
pub(crate) use wal::{Bounds, Wal, count_pages};
