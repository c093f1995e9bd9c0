//! The body of a request that the handler reads in pieces, while the client sends it.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Body as _;
use tokio::time::Instant;

use convoke_core::error::{Code, Error};
use convoke_core::limits::Limits;

/// The body of a request, in the order of its pieces. The client waits while the handler does not read.
#[derive(Debug)]
pub struct BodyStream {
    body: hyper::body::Incoming,
    window: Duration,
    window_bytes_min: u64,
    until: Instant,
    received: u64,
}

/// The reason why a body does not arrive completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cut {
    /// The client sends less than the smallest rate.
    #[error("The request's body does not arrive fast enough.")]
    TooSlow,
    /// The body ended early or is malformed.
    #[error("The request's body ended early or is malformed.")]
    Broken,
}

impl From<Cut> for Error {
    fn from(cut: Cut) -> Self {
        let code = match cut {
            Cut::TooSlow => Code::RequestTimeout,
            Cut::Broken => Code::BadRequest,
        };
        Error::new(code, cut.to_string())
    }
}

impl BodyStream {
    pub(crate) fn new(body: hyper::body::Incoming, limits: &Limits) -> Self {
        let window = limits.body_timeout;
        let window_bytes_min = limits.upload_bytes_per_second_min.saturating_mul(window.as_secs());
        Self { body, window, window_bytes_min, until: Instant::now() + window, received: 0 }
    }

    /// Returns the number of bytes of the whole body, if the client declares it.
    pub fn declared(&self) -> Option<u64> {
        self.body.size_hint().exact()
    }

    /// Returns the next piece, which is not empty; none at the end. The client must send a smallest number of bytes in
    /// each window of `body_timeout`.
    ///
    /// # Errors
    /// [`Cut`].
    pub async fn next(&mut self) -> Result<Option<Bytes>, Cut> {
        loop {
            let now = Instant::now();
            if self.received >= self.window_bytes_min.max(1) && now + self.window / 2 >= self.until {
                // The client was fast enough, and the next window begins.
                (self.until, self.received) = (now + self.window, 0);
            }
            let frame =
                tokio::time::timeout_at(self.until, self.body.frame()).await.map_err(|_elapsed| Cut::TooSlow)?;
            let Some(frame) = frame else { return Ok(None) };
            let Ok(data) = frame.map_err(|_| Cut::Broken)?.into_data() else { continue };
            if !data.is_empty() {
                self.received = self.received.saturating_add(data.len() as u64);
                return Ok(Some(data));
            }
        }
    }
}
