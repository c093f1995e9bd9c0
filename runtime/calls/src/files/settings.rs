//! The settings of files.

use std::path::PathBuf;

convoke_core::section! {
    /// Files that clients upload and read.
    pub struct FilesSettings in "files" {
        /// Folder of the contents. The default is the folder files in the data folder. Several nodes of one database
        /// need a folder that all of them share.
        #[schemars(example = "/mnt/shared/files")]
        pub dir: Option<PathBuf> = None,
        /// Address of this server for clients, without a path. Upload addresses and links begin with it. The default is
        /// the address of the listener, which is wrong behind a proxy.
        #[schemars(example = "https://api.example.com")]
        pub public_url: Option<String> = None,
        /// Bytes of stored contents per identity; above it, an upload fails with `RATE_LIMITED`. A content counts for
        /// the identity that uploaded it first, until it is removed. 0 = off.
        pub user_bytes_max: u64 = 10 * 1024 * 1024 * 1024,
    }
}
