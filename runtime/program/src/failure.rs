//! The failure of a command, which ends it with exit code 1.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

/// The reason of a failure: one sentence, or a few lines with advice.
pub(crate) struct Failure(pub(crate) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Failure {
    /// Returns a conversion of errors of the file system: the failure names the path and says what to do.
    pub(crate) fn at(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self(format!("{}: {error}; {}", path.display(), advice(&error)))
    }

    /// As [`Failure::at`], for a file that is read.
    pub(crate) fn reading(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self(format!("{} cannot be read: {error}; {}", path.display(), advice(&error)))
    }

    /// As [`Failure::at`], for a file that is written.
    pub(crate) fn writing(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self(format!("{} cannot be written: {error}; {}", path.display(), advice(&error)))
    }

    /// Returns a conversion of errors of the system that are about no path. `what` is the failed work, as a sentence.
    pub(crate) fn of_system(what: &str) -> impl Fn(io::Error) -> Self {
        move |error| Self(format!("{what}: {error}; check the limits of processes and open files (`ulimit -a`)"))
    }

    /// Returns the text of an error and of its sources.
    fn of(error: &(dyn Error + 'static)) -> Self {
        Self(convoke_core::error::distinct_chain(error))
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "run the command as its owner, or name another path",
        io::ErrorKind::NotFound => "check the path, or create its folder",
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "a file is where a folder is needed: name another path"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space on this disk",
        _ => "check the disk, or name another path",
    }
}

/// Converts the errors whose texts name their subject. `io::Error` names none: see [`Failure::at`].
macro_rules! complete {
    ($($error:ty),+ $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::of(&error)
            }
        })+
    };
}

complete!(
    convoke_calls::outbound::SecretError,
    convoke_calls::registry::RegistryError,
    convoke_calls::runtime::StartError,
    convoke_core::error::Error,
    convoke_http::BindError,
    convoke_http::Broken,
    convoke_server::archive::reader::ReadError,
    convoke_server::auth::ConfigError,
    convoke_server::auth::development::DevelopmentError,
    convoke_server::config::ConfigError,
    convoke_store::OfflineError,
    convoke_store::OpenError,
    convoke_store::StoreError,
    hyper::header::InvalidHeaderValue,
    reqwest::Error,
    serde_json::Error,
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_of_the_file_system_names_the_path_and_says_what_to_do() {
        let error = std::fs::create_dir("/proc/x").unwrap_err();
        let said = Failure::at(Path::new("/proc/x"))(error).to_string();
        assert!(said.starts_with("/proc/x: ") && said.ends_with("check the path, or create its folder"), "{said}");
    }
}
