//! Reasons to reject a request before it reaches the handler.

use convoke_core::error::Code;

/// The reason for which a request was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// The error code, which determines the status.
    pub(crate) code: Code,
    /// The message for the client.
    pub(crate) message: &'static str,
}

impl Rejection {
    /// Returns true if the connection must close: the server cannot tell where the next request begins, or does not
    /// accept one.
    pub(crate) fn closes(self) -> bool {
        matches!(
            self.code,
            Code::BadRequest | Code::HeadersTooLarge | Code::RequestTimeout | Code::PayloadTooLarge | Code::NotReady
        )
    }
}
