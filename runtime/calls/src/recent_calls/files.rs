//! Recorded calls on disk: files of JSON lines in a separate folder. The oldest files are removed as a whole.
//!
//! The files are not synchronized to the disk: a crash of the machine may lose the latest calls, a crash of the process
//! does not. A truncated line is not read.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::record::CallRecord;
use convoke_core::clock::Millis;
use convoke_store::{private_folder, remove_if_there};

/// A file is closed when it reaches this fraction of a limit, so that the removal of a file removes few calls.
const SHARE: u64 = 16;
const BEGINNING: &str = "calls-";
const END: &str = ".ndjson";

/// The limits of the recorded calls.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub calls_max: u64,
    pub bytes_max: u64,
    pub life: Duration,
}

/// One file.
#[derive(Clone, Debug)]
struct Part {
    number: u64,
    path: PathBuf,
    calls: u64,
    bytes: u64,
    /// Times at which its first and its last call ended.
    span: (Millis, Millis),
}

/// The files of one folder, oldest first.
pub(super) struct Files {
    folder: PathBuf,
    bounds: Bounds,
    parts: VecDeque<Part>,
    /// The last part, while it is open for writes.
    open: Option<File>,
}

impl Files {
    /// Opens the folder and its files. A truncated line at the end is removed.
    pub(super) fn open(folder: PathBuf, bounds: Bounds) -> io::Result<Self> {
        private_folder(&folder)?;
        let mut parts = Vec::new();
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if let Some(number) = number_of(&path) {
                parts.extend(Part::found(number, path)?);
            }
        }
        parts.sort_unstable_by_key(|part| part.number);
        Ok(Self { folder, bounds, parts: parts.into(), open: None })
    }

    /// Returns the calls and bytes on disk.
    pub(super) fn size(&self) -> (u64, u64) {
        self.parts.iter().fold((0, 0), |(calls, bytes), part| (calls + part.calls, bytes + part.bytes))
    }

    /// Returns true if the last call of the oldest file ended before this time.
    pub(super) fn has_ended_before(&self, end: Millis) -> bool {
        self.parts.front().is_some_and(|part| part.span.1 < end)
    }

    /// Appends lines of calls, in the order of their ends. It writes all lines or none.
    pub(super) fn append(&mut self, lines: &[u8], calls: u64, span: (Millis, Millis)) -> io::Result<()> {
        if self.parts.back().is_none_or(|part| part.is_full(self.bounds, span.1)) {
            self.begin(span)?;
        }
        let Some(part) = self.parts.back_mut() else { return Ok(()) };
        let file = match &mut self.open {
            Some(file) => file,
            none => none.insert(OpenOptions::new().append(true).open(&part.path)?),
        };
        if let Err(error) = file.write_all(lines) {
            // A partial line would join the next one. If the truncation also fails, readers skip the line.
            let _ = file.set_len(part.bytes);
            return Err(error);
        }
        part.bytes += lines.len() as u64;
        part.calls += calls;
        part.span.1 = span.1;
        Ok(())
    }

    fn begin(&mut self, span: (Millis, Millis)) -> io::Result<()> {
        let number = self.parts.back().map_or(1, |part| part.number + 1);
        let path = self.folder.join(format!("{BEGINNING}{number:012}{END}"));
        self.open = Some(private_file(&path)?);
        self.parts.push_back(Part { number, path, calls: 0, bytes: 0, span });
        Ok(())
    }

    /// Removes the oldest files: while the other files hold enough calls, while all files have too many bytes, and if
    /// their last call is too old.
    pub(super) fn prune(&mut self, now: Millis) -> io::Result<()> {
        let end = now - self.bounds.life;
        let (mut calls, mut bytes) = self.size();
        while let Some(first) = self.parts.front() {
            let is_surplus = calls - first.calls >= self.bounds.calls_max || bytes > self.bounds.bytes_max;
            if !is_surplus && first.span.1 >= end {
                break;
            }
            remove_if_there(&first.path)?;
            (calls, bytes) = (calls - first.calls, bytes - first.bytes);
            self.parts.pop_front();
            if self.parts.is_empty() {
                self.open = None;
            }
        }
        Ok(())
    }

    /// Returns a snapshot of the files. It can be read while calls are appended and files are removed.
    pub(super) fn snapshot(&self) -> Snapshot {
        Snapshot(self.parts.iter().cloned().collect())
    }
}

/// A snapshot of the files.
pub(super) struct Snapshot(Vec<Part>);

impl Snapshot {
    /// Visits recorded calls, newest first, until `visit` breaks or all calls that ended at `since` or later were
    /// visited.
    pub(super) fn newest_first(&self, since: Millis, mut visit: impl FnMut(CallRecord) -> ControlFlow<()>) {
        for part in self.0.iter().rev().filter(|part| part.span.1 >= since) {
            // A file that was removed in the meantime has no calls.
            let Ok(mut bytes) = fs::read(&part.path) else { continue };
            bytes.truncate(usize::try_from(part.bytes).unwrap_or(usize::MAX));
            for line in bytes.rsplit(|byte| *byte == b'\n') {
                let Ok(record) = serde_json::from_slice::<CallRecord>(line) else { continue };
                if visit(record).is_break() {
                    return;
                }
            }
        }
    }
}

impl Part {
    fn found(number: u64, path: PathBuf) -> io::Result<Option<Self>> {
        let bytes = fs::read(&path)?;
        let Some(end) = memchr::memrchr(b'\n', &bytes) else {
            fs::remove_file(&path)?;
            return Ok(None);
        };
        if end + 1 < bytes.len() {
            OpenOptions::new().write(true).open(&path)?.set_len(end as u64 + 1)?;
        }
        let lines = &bytes[..end];
        let time = |line: &[u8]| serde_json::from_slice::<CallRecord>(line).ok().map(|record| record.time);
        let first = lines.split(|byte| *byte == b'\n').find_map(time).unwrap_or(Millis(0));
        let last = lines.rsplit(|byte| *byte == b'\n').find_map(time).unwrap_or(first);
        let calls = memchr::memchr_iter(b'\n', &bytes).count() as u64;
        Ok(Some(Self { number, path, calls, bytes: end as u64 + 1, span: (first, last) }))
    }

    fn is_full(&self, bounds: Bounds, now: Millis) -> bool {
        self.calls >= (bounds.calls_max / SHARE).max(1)
            || self.bytes >= (bounds.bytes_max / SHARE).max(1)
            || now.since(self.span.0) >= bounds.life / u32::try_from(SHARE).unwrap_or(u32::MAX)
    }
}

fn number_of(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_prefix(BEGINNING)?.strip_suffix(END)?.parse().ok()
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { calls_max: 100, bytes_max: 1024 * 1024, life: Duration::from_secs(1_600) };

    fn line(time: i64) -> Vec<u8> {
        format!(
            "{{\"time\":{time},\"requestId\":\"r{time}\",\"function\":\"a/b\",\"outcome\":\"OK\",\"durationMs\":1}}\n"
        )
        .into_bytes()
    }

    fn add(files: &mut Files, times: impl IntoIterator<Item = i64>) {
        for time in times {
            files.append(&line(time), 1, (Millis(time), Millis(time))).unwrap();
            files.prune(Millis(time)).unwrap();
        }
    }

    fn times(files: &Files, since: i64) -> Vec<i64> {
        let mut found = Vec::new();
        files.snapshot().newest_first(Millis(since), |record| {
            found.push(record.time.0);
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn latest_calls_stay_and_older_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::open(folder.path().join("calls"), BOUNDS).unwrap();
        add(&mut files, 0..1_000);
        let found = times(&files, 0);
        assert_eq!((found[0], found.len()), (999, usize::try_from(files.size().0).unwrap()));
        assert!((100..=106).contains(&found.len()), "{}", found.len());
        assert!(found.is_sorted_by(|one, other| one > other));
        assert!(times(&files, 990).len() < 20, "files that ended before are not read");
        let last = files.parts.back().unwrap().path.clone();
        drop(files);

        let mut end = OpenOptions::new().append(true).open(&last).unwrap();
        end.write_all(b"{\"time\":1000,\"requ").unwrap();
        let mut files = Files::open(folder.path().join("calls"), BOUNDS).unwrap();
        assert_eq!(times(&files, 0), found, "a truncated line is not read");
        add(&mut files, [2_000]);
        assert_eq!(times(&files, 0)[..2], [2_000, 999]);
    }

    #[test]
    fn bytes_and_age_are_limited_too() {
        let folder = tempfile::tempdir().unwrap();
        let bounds = Bounds { calls_max: 1_000_000, bytes_max: 10_000, life: Duration::from_secs(100) };
        let mut files = Files::open(folder.path().to_owned(), bounds).unwrap();
        add(&mut files, 0..5_000);
        assert!(files.size().1 <= 10_000, "{:?}", files.size());
        files.prune(Millis(200_000)).unwrap();
        assert_eq!((files.size(), fs::read_dir(folder.path()).unwrap().count()), ((0, 0), 0));
        add(&mut files, [200_001]);
        assert_eq!(times(&files, 0), [200_001]);
    }

    #[test]
    fn only_the_owner_can_read_the_files_and_a_partial_write_is_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let mut files = Files::open(folder.path().join("calls"), BOUNDS).unwrap();
        add(&mut files, [1]);
        let path = files.parts[0].path.clone();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(folder.path().join("calls")).unwrap().permissions().mode() & 0o777, 0o700);
        files.open = Some(File::open(&path).unwrap());
        files.append(&line(2), 1, (Millis(2), Millis(2))).unwrap_err();
        files.open = None;
        add(&mut files, [3]);
        assert_eq!(times(&files, 0), [3, 1]);
    }
}
