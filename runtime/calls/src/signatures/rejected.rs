//! The reasons why a signature is not accepted.

/// Reason why a signature is not accepted. No message says which key or which byte differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// A header field is missing.
    #[error("the header {0} is missing")]
    Missing(&'static str),
    /// A header field does not have the form of its scheme.
    #[error("the header {0} does not have the form of a signature")]
    Malformed(&'static str),
    /// The time of the signature is too far from the time of this server.
    #[error("the timestamp of the signature differs from the time of this server by more than 5 minutes")]
    Timestamp,
    /// No key makes this signature.
    #[error("the signature does not fit the body")]
    Signature,
}
