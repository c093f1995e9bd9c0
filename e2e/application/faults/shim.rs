//! Faults of the disk and the clock for a process under test: a preloaded library, and its control file.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Errors of a broken device.
pub(crate) const EIO: i32 = 5;
/// Errors of a full disk.
pub(crate) const ENOSPC: i32 = 28;

/// The system calls that can fail.
#[derive(Clone, Copy)]
pub(crate) enum Calls {
    Reads = 0,
    Writes = 1,
    Syncs = 2,
}

/// The compiled library and its control file. No call fails before [`Faults::fail`].
pub(crate) struct Faults {
    folder: TempDir,
    control: File,
}

impl Faults {
    /// Compiles the library with the machine's C compiler.
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let library = folder.path().join("faults.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../e2e/application/faults/shim.c");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .arg(&library)
            .args([source, "-ldl"])
            .output()
            .unwrap();
        assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
        let mut options = OpenOptions::new();
        let control = options.read(true).write(true).create(true).truncate(false).open(folder.path().join("control"));
        let faults = Self { folder, control: control.unwrap() };
        faults.control.write_all_at(&[0; 16], 0).unwrap();
        faults
    }

    /// Preloads the library into the process of a command. It affects the files under `folder`.
    pub(crate) fn preload(&self, command: &mut Command, folder: &Path) {
        command
            .env("LD_PRELOAD", self.folder.path().join("faults.so"))
            .env("FAULTS_CONTROL", self.folder.path().join("control"))
            .env("FAULTS_UNDER", folder.canonicalize().unwrap());
    }

    /// From now on these calls fail with this error number.
    pub(crate) fn fail(&self, calls: Calls, errno: i32) {
        self.control.write_all_at(&errno.to_ne_bytes(), 4 * calls as u64).unwrap();
    }

    /// From now on the wall clock of the process is this many seconds ahead of the machine's.
    pub(crate) fn shift_clock(&self, seconds: i32) {
        self.control.write_all_at(&seconds.to_ne_bytes(), 12).unwrap();
    }

    /// From now on no call fails.
    pub(crate) fn mend(&self, calls: Calls) {
        self.fail(calls, 0);
    }
}
