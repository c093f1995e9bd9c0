//! Entry points for the fuzz targets in `fuzz/`, which only `cargo fuzz` builds.

use std::ops::Range;
use std::sync::Arc;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite};

use crate::wire::activity::Activity;
use crate::wire::chunked::Chunked;
use crate::wire::guarded_io::{GuardedIo, Protocol};
use crate::wire::head::{Framing, Head, HeadLimits};
use convoke_core::limits::Limits;

/// The position of a request in the bytes of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Framed {
    /// The head, with its blank line.
    pub head: Range<usize>,
    /// The body as sent, with the framing of its chunks.
    pub body: Range<usize>,
    /// True if the body is in chunks.
    pub is_chunked: bool,
}

/// Returns the complete requests that the reader accepts at the beginning of `bytes`.
pub fn framed(bytes: &[u8]) -> Vec<Framed> {
    let limits = Limits::default();
    let limits = HeadLimits { bytes_max: limits.header_bytes_max, fields_max: limits.header_fields_max };
    let (mut found, mut at) = (Vec::new(), 0);
    while let Ok(Some((length, framing))) = Head::default().advance(&bytes[at..], limits) {
        let start = at + length;
        let end = match framing {
            Framing::Length(length) => usize::try_from(length).ok().and_then(|length| start.checked_add(length)),
            Framing::Chunked => {
                let mut chunks = Chunked::new(limits.bytes_max);
                let length = chunks.advance(&bytes[start..]).ok().filter(|_| chunks.is_done());
                length.map(|length| start + length)
            }
        };
        let Some(end) = end.filter(|end| *end <= bytes.len()) else { break };
        found.push(Framed { head: at..start, body: start..end, is_chunked: framing == Framing::Chunked });
        at = end;
    }
    found
}

/// Wraps `stream`, of which `first` was read already, in the stream that hyper reads.
pub fn guarded<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    first: &[u8],
) -> impl AsyncRead + AsyncWrite + Unpin + use<S> {
    let limits = Limits::default();
    let activity = Arc::new(Activity::new(&limits));
    GuardedIo::new(stream, Protocol::Http1, BytesMut::from(first), activity, &limits)
}
