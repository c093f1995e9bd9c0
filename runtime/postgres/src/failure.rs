//! What the server or the way to it did, as far as it matters to a transaction.

use std::error::Error as _;

use convoke_store::{OpenError, StoreError};
use tokio_postgres::error::{DbError, Severity, SqlState};
use tokio_rustls::rustls::{CertificateError, Error as TlsError};

/// The reason of a server in recovery.
pub(crate) const STANDBY: &str = "it is a standby";
/// The reason of a server that refused a write.
const READ_ONLY: &str = "it is read-only: it is a standby, or default_transaction_read_only is on";
/// The reason of a server that does not answer commits.
pub(crate) const UNCONFIRMED: &str = "it does not confirm commits: check its disk and its synchronous standbys";

/// A failure of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The transaction could not be put in one order with others beside it: it is to be run again.
    Conflict(String),
    /// A unique index refused a row, or a statement that looks for one in the way found it.
    Unique,
    /// The statement ran out of time and was stopped.
    Late,
    /// The way to the server is cut, or the server is going: what was not committed is rolled back.
    Cut(String),
    /// The server accepts no writes, for this reason.
    NotWritable(&'static str),
    /// The server committed without the confirmation of its synchronous standby.
    Unconfirmed,
    /// The server has no room.
    NoRoom(String),
    /// A key is too long for an index.
    TooLong(String),
    /// The statement rests on a schema that has changed since it was prepared.
    Outdated(String),
    /// Anything else.
    Other(String),
}

impl Failure {
    /// What tokio-postgres says.
    pub(crate) fn of(error: &tokio_postgres::Error) -> Self {
        if let Some(reason) = untrusted(error) {
            return Failure::Other(reason);
        }
        if is_read_only_host(error) {
            return Failure::NotWritable(READ_ONLY);
        }
        let text = text(error);
        let Some(code) = error.code() else {
            // What the server has not said is said by the way to it, or by the library about what was asked.
            return if is_cut(error) { Failure::Cut(text) } else { Failure::Other(text) };
        };
        if *code == SqlState::T_R_SERIALIZATION_FAILURE
            || *code == SqlState::T_R_DEADLOCK_DETECTED
            || *code == SqlState::LOCK_NOT_AVAILABLE
        {
            Failure::Conflict(text)
        } else if *code == SqlState::UNIQUE_VIOLATION || *code == SqlState::DIVISION_BY_ZERO {
            Failure::Unique
        } else if *code == SqlState::READ_ONLY_SQL_TRANSACTION {
            Failure::NotWritable(READ_ONLY)
        } else if *code == SqlState::QUERY_CANCELED {
            Failure::Late
        } else if *code == SqlState::DISK_FULL || *code == SqlState::OUT_OF_MEMORY {
            Failure::NoRoom(text)
        } else if *code == SqlState::PROGRAM_LIMIT_EXCEEDED {
            Failure::TooLong(text)
        } else if code.code().starts_with("57P")
            || code.code().starts_with("08")
            || code.code().starts_with("53")
            || code.code().starts_with("25P03")
        {
            Failure::Cut(text)
        } else if *code == SqlState::FEATURE_NOT_SUPPORTED
            || *code == SqlState::UNDEFINED_COLUMN
            || *code == SqlState::UNDEFINED_TABLE
            || *code == SqlState::INVALID_SQL_STATEMENT_NAME
        {
            Failure::Outdated(text)
        } else {
            Failure::Other(text)
        }
    }

    /// In plain words.
    pub(crate) fn reason(self) -> String {
        match self {
            Failure::Late => "it was not answered in time".to_owned(),
            failure => failure.into_store(0).to_string(),
        }
    }

    /// As a failure of the store.
    pub(crate) fn into_store(self, limit_ms: u64) -> StoreError {
        match self {
            Failure::Conflict(reason) => StoreError::Contended(reason),
            Failure::Unique => StoreError::Engine("a unique index refused a row".to_owned()),
            Failure::Late => StoreError::Deadline { limit_ms },
            Failure::Cut(reason) => StoreError::Unreachable(reason),
            Failure::NotWritable(reason) => StoreError::NotWritable(reason),
            Failure::Unconfirmed => StoreError::Unreachable(UNCONFIRMED.to_owned()),
            Failure::NoRoom(reason) => StoreError::NoRoom(reason),
            Failure::TooLong(reason) | Failure::Outdated(reason) | Failure::Other(reason) => StoreError::Engine(reason),
        }
    }
}

impl From<Failure> for OpenError {
    fn from(failure: Failure) -> Self {
        match failure.into_store(0) {
            StoreError::NoRoom(reason) => OpenError::NoRoom(reason),
            error => OpenError::Engine(error.to_string()),
        }
    }
}

fn is_cut(error: &tokio_postgres::Error) -> bool {
    error.is_closed() || error.source().is_some_and(|source| source.is::<std::io::Error>())
}

/// Returns true if every host of the address was refused by `target_session_attrs=read-write`.
fn is_read_only_host(error: &tokio_postgres::Error) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::PermissionDenied && cause.raw_os_error().is_none())
}

/// Returns true if the server warns that it stopped waiting for its synchronous standby. The text depends on the server's
/// language. So every general warning counts: it costs one confirmation more.
pub(crate) fn is_unconfirmed(notice: &DbError) -> bool {
    notice.parsed_severity() == Some(Severity::Warning)
        && (*notice.code() == SqlState::WARNING || *notice.code() == SqlState::ADMIN_SHUTDOWN)
}

/// Why the server's certificate is refused, if that is what is wrong.
fn untrusted(error: &tokio_postgres::Error) -> Option<String> {
    let mut cause = error.source();
    let refused = loop {
        let one = cause?;
        let inner = one.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        let tls = one.downcast_ref::<TlsError>().or_else(|| inner?.downcast_ref());
        match tls {
            Some(TlsError::InvalidCertificate(refused)) => break refused,
            Some(_) | None => cause = one.source(),
        }
    };
    let advice = match refused {
        CertificateError::UnknownIssuer => {
            "it is of no authority that is trusted here; name its root by sslrootcert=FILE"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name; write the address with a name that stands in it"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has ended; renew it",
        _ => "see the server's ssl_cert_file",
    };
    Some(format!("the certificate of the database server is refused: {advice} ({refused})"))
}

/// The error with what it was caused by, in one line.
fn text(error: &tokio_postgres::Error) -> String {
    let mut text = match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => error.to_string(),
    };
    if error.as_db_error().is_none() {
        let mut cause = error.source();
        while let Some(one) = cause {
            let said = one.to_string();
            if !text.contains(&said) {
                text = format!("{text}: {said}");
            }
            cause = one.source();
        }
    }
    text
}
