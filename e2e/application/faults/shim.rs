//! Faults of the disk and the clock for a process under test: a library that is preloaded into it, and the file that tells it what fails.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// The device is broken.
pub(crate) const EIO: i32 = 5;
/// The disk is full.
pub(crate) const ENOSPC: i32 = 28;

/// What can fail.
#[derive(Clone, Copy)]
pub(crate) enum Calls {
    Reads = 0,
    Writes = 1,
    Syncs = 2,
}

/// The library, compiled, and its control file. Nothing fails until [`Faults::fail`].
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

    /// Has the process that this command starts meet the faults in the files under `folder`.
    pub(crate) fn preload(&self, command: &mut Command, folder: &Path) {
        command
            .env("LD_PRELOAD", self.folder.path().join("faults.so"))
            .env("FAULTS_CONTROL", self.folder.path().join("control"))
            .env("FAULTS_UNDER", folder.canonicalize().unwrap());
    }

    /// From now on such calls fail with this error of the system.
    pub(crate) fn fail(&self, calls: Calls, errno: i32) {
        self.control.write_all_at(&errno.to_ne_bytes(), 4 * calls as u64).unwrap();
    }

    /// From now on the process sees a wall clock that is so many seconds ahead of the machine's.
    pub(crate) fn shift_clock(&self, seconds: i32) {
        self.control.write_all_at(&seconds.to_ne_bytes(), 12).unwrap();
    }

    /// From now on they work again.
    pub(crate) fn mend(&self, calls: Calls) {
        self.fail(calls, 0);
    }
}
