//! The control socket: a file in the data folder through which its owner reaches the running server.

use std::fs::Permissions;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};

/// File name of the control socket within the data folder.
pub const CONTROL: &str = "control.sock";

/// A socket file that only its owner may use. It is removed on drop.
pub(crate) struct Control {
    path: PathBuf,
    listener: UnixListener,
}

impl Control {
    /// Listens at `path` and replaces a socket that a killed server left there. If the system cannot create one (the
    /// path is too long, the file system has no sockets), logs a warning and returns `None`.
    pub(crate) fn open(path: &Path) -> Option<Self> {
        match Self::listen(path) {
            Ok(control) => Some(control),
            Err(error) => {
                tracing::warn!(
                    "no control socket at {}: {error}; commands on this machine reach this server only with --url and a \
                     deploy key (use a data folder with a shorter path if the path is too long)",
                    path.display()
                );
                None
            }
        }
    }

    fn listen(path: &Path) -> io::Result<Self> {
        // Removes only a socket. This process has the lock of the data folder, so no other server listens there.
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
        // The file may be removed already.
        let _ = std::fs::remove_file(&self.path);
    }
}
