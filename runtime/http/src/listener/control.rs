//! The control socket: a file in the data folder by which its owner reaches the running server.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// The control socket's name within the data folder.
pub const CONTROL: &str = "control.sock";

/// A socket file for its owner alone; it goes when this does.
pub(crate) struct Control {
    path: PathBuf,
    listener: UnixListener,
}

impl Control {
    /// Listens at `path`, in place of a socket that a killed server left there. Where the system has none to give (the
    /// path is too long, the file system knows no sockets) the log says so, and the server goes without.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        match Self::listen(path) {
            Ok(control) => Some(control),
            Err(error) => {
                tracing::warn!(
                    "no control socket at {}: {error}; commands on this machine reach this server by --url and a deploy \
                     key only (a data folder with a shorter path helps if the path is too long)",
                    path.display()
                );
                None
            }
        }
    }

    fn listen(path: &Path) -> io::Result<Self> {
        // Only a socket is removed: the process that opens this has the data folder's lock, so nobody listens there.
        if std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket()) {
            std::fs::remove_file(path)?;
        }
        let listener = UnixListener::bind(path)?;
        let control = Self { path: path.to_owned(), listener };
        std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(control)
    }

    pub(crate) async fn accept(&self) -> io::Result<UnixStream> {
        Ok(self.listener.accept().await?.0)
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // Gone already is as good.
        let _ = std::fs::remove_file(&self.path);
    }
}
