//! Errors of the server and the connection, as far as they matter to a transaction.

use std::error::Error as _;

use convoke_core::error::{causes, distinct_chain};
use convoke_store::{OpenError, StoreError};
use tokio_postgres::error::{DbError, Severity, SqlState};
use tokio_rustls::rustls::{CertificateError, Error as TlsError};

/// Reason of a server in recovery.
pub(crate) const STANDBY: &str = "it is a standby";
/// Reason of a server that rejects writes.
const READ_ONLY: &str = "it is read-only: it is a standby, or default_transaction_read_only is on";
/// Reason of a server that does not confirm commits.
pub(crate) const UNCONFIRMED: &str = "it does not confirm commits: check its disk and its synchronous standbys";

/// The failure of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The transaction conflicts with concurrent ones and must run again.
    Conflict(String),
    /// A unique index rejected a row, or a statement found a row with the same keys.
    Unique,
    /// The statement exceeded its time limit and was cancelled.
    Late,
    /// The connection was cut, or the server is shutting down: uncommitted writes are rolled back.
    Cut(String),
    /// The server rejects writes, for this reason.
    NotWritable(&'static str),
    /// The server committed without the confirmation of its synchronous standby.
    Unconfirmed,
    /// The server's disk or memory is full.
    NoRoom(String),
    /// A key is too long for an index.
    TooLong(String),
    /// The statement was prepared with an older schema.
    Outdated(String),
    /// The table or column of the statement is missing, or the prepared statement is.
    Missing(String),
    /// Another error.
    Other(String),
}

impl Failure {
    /// Converts an error of tokio-postgres.
    pub(crate) fn of(error: &tokio_postgres::Error) -> Self {
        if let Some(reason) = untrusted(error) {
            return Failure::Other(reason);
        }
        if is_read_only_host(error) {
            return Failure::NotWritable(READ_ONLY);
        }
        let text = text(error);
        let Some(code) = error.code() else {
            // An error without a code comes from the connection or from the library.
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
        } else if *code == SqlState::FEATURE_NOT_SUPPORTED {
            Failure::Outdated(text)
        } else if *code == SqlState::UNDEFINED_COLUMN
            || *code == SqlState::UNDEFINED_TABLE
            || *code == SqlState::INVALID_SQL_STATEMENT_NAME
        {
            Failure::Missing(text)
        } else {
            Failure::Other(text)
        }
    }

    /// Returns the reason in plain words.
    pub(crate) fn reason(self) -> String {
        match self {
            Failure::Late => "it was not answered in time".to_owned(),
            failure => failure.into_store(0).to_string(),
        }
    }

    /// Converts it to an error of the store.
    pub(crate) fn into_store(self, limit_ms: u64) -> StoreError {
        match self {
            Failure::Conflict(reason) => StoreError::Contended(reason),
            Failure::Unique => StoreError::Engine("a unique index refused a row".to_owned()),
            Failure::Late => StoreError::Deadline { limit_ms },
            Failure::Cut(reason) => StoreError::Unreachable(reason),
            Failure::NotWritable(reason) => StoreError::NotWritable(reason),
            Failure::Unconfirmed => StoreError::Unreachable(UNCONFIRMED.to_owned()),
            Failure::NoRoom(reason) => StoreError::NoRoom(reason),
            Failure::Missing(reason) => misfit(&reason),
            Failure::TooLong(reason) | Failure::Outdated(reason) | Failure::Other(reason) => StoreError::Engine(reason),
        }
    }
}

/// Returns the error of a statement that does not fit the schema of the database, also after it was prepared again.
pub(crate) fn misfit(reason: &str) -> StoreError {
    StoreError::Engine(format!(
        "the database does not have the schema of this program: {reason}. Another program changed it: restart this one, \
         which adds what is missing, or restore a backup"
    ))
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

/// Returns true if `target_session_attrs=read-write` rejected every host of the address.
fn is_read_only_host(error: &tokio_postgres::Error) -> bool {
    let cause = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::PermissionDenied && cause.raw_os_error().is_none())
}

/// Returns true if the server warns that it stopped waiting for its synchronous standby. The text depends on the
/// server's language, so every general warning counts. It costs one more confirmation.
pub(crate) fn is_unconfirmed(notice: &DbError) -> bool {
    notice.parsed_severity() == Some(Severity::Warning)
        && (*notice.code() == SqlState::WARNING || *notice.code() == SqlState::ADMIN_SHUTDOWN)
}

/// Returns the reason why the server's certificate is rejected, if it is.
fn untrusted(error: &tokio_postgres::Error) -> Option<String> {
    let refused = causes(error).find_map(|cause| {
        let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        match cause.downcast_ref::<TlsError>().or_else(|| inner?.downcast_ref())? {
            TlsError::InvalidCertificate(refused) => Some(refused),
            _ => None,
        }
    })?;
    let advice = match refused {
        CertificateError::UnknownIssuer => {
            "it is of no authority that is trusted here; name its root by sslrootcert=FILE"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name; use a name of the certificate in the address"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has ended; renew it",
        _ => "see the server's ssl_cert_file",
    };
    Some(format!("the certificate of the database server is refused: {advice} ({refused})"))
}

/// Returns the error with its causes, in one line.
fn text(error: &tokio_postgres::Error) -> String {
    match error.as_db_error() {
        Some(said) => format!("{} ({})", said.message(), said.code().code()),
        None => distinct_chain(error),
    }
}
