//! Why a request is refused before it reaches the handler.

use convoke_core::error::Code;

/// Why a request went no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// What the client switches on; it decides the status.
    pub(crate) code: Code,
    /// What the client reads.
    pub(crate) message: &'static str,
}

impl Rejection {
    /// Whether the connection ends with it: what the client sends next can no longer be told apart from what was
    /// refused, or is not wanted.
    pub(crate) fn closes(self) -> bool {
        matches!(
            self.code,
            Code::BadRequest | Code::HeadersTooLarge | Code::RequestTimeout | Code::PayloadTooLarge | Code::NotReady
        )
    }
}
