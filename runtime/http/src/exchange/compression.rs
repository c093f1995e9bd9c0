//! The compression of complete responses by `Accept-Encoding`.
//!
//! Levels are chosen for speed: a response is compressed for one client and not cached. Streams are not compressed:
//! their events would wait in the compressor.

use std::io::{self, Write as _};

use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, VARY,
};

use super::accept_encoding::{self, Coding};
use super::reply::Reply;

/// Smallest body that is compressed: below it, the gain is less than a packet.
pub(crate) const BYTES_MIN: usize = 1_024;
/// Largest body that is compressed on the thread of the connection: less than a millisecond.
const INLINE_BYTES_MAX: usize = 32 * 1_024;
/// The codings, the fastest one first.
const OFFERED: [Coding; 3] = [Coding::Zstd, Coding::Brotli, Coding::Gzip];
const ZSTD_LEVEL: i32 = 3;
const BROTLI_QUALITY: i32 = 4;
const GZIP_LEVEL: u32 = 5;

/// Compresses the body of a reply if its type is worth it and the client accepts a coding.
pub(crate) async fn compressed(mut reply: Reply, request: &HeaderMap) -> Reply {
    if !is_candidate(&reply) {
        return reply;
    }
    vary(&mut reply);
    let Some(coding) = accept_encoding::preferred(request.get_all(ACCEPT_ENCODING), &OFFERED) else { return reply };
    // The reply keeps the bytes, and their charge, until the compressed ones replace them.
    let Some(plain) = reply.body.shared() else { return reply };
    let plain_len = plain.len();
    let packed = if plain_len <= INLINE_BYTES_MAX {
        pack(coding, &plain)
    } else {
        let packed = tokio::task::spawn_blocking(move || pack(coding, &plain)).await;
        packed.unwrap_or_else(|error| Err(io::Error::other(error)))
    };
    match packed {
        Ok(packed) if packed.len() < plain_len => {
            reply.body = Bytes::from(packed).into();
            reply.fields.push((CONTENT_ENCODING, HeaderValue::from_static(coding.as_str())));
            weaken_tag(&mut reply);
            reply
        }
        Ok(_) => reply,
        Err(error) => {
            tracing::warn!("a response is not compressed: {error}");
            reply
        }
    }
}

fn pack(coding: Coding, plain: &[u8]) -> io::Result<Vec<u8>> {
    match coding {
        Coding::Zstd => zstd::bulk::compress(plain, ZSTD_LEVEL),
        Coding::Brotli => {
            let params = brotli::enc::BrotliEncoderParams {
                quality: BROTLI_QUALITY,
                size_hint: plain.len(),
                ..brotli::enc::BrotliEncoderParams::default()
            };
            let mut packed = Vec::with_capacity(plain.len() / 4);
            brotli::BrotliCompress(&mut &*plain, &mut packed, &params)?;
            Ok(packed)
        }
        Coding::Gzip => {
            let packed = Vec::with_capacity(plain.len() / 4);
            let mut packer = flate2::write::GzEncoder::new(packed, flate2::Compression::new(GZIP_LEVEL));
            packer.write_all(plain)?;
            packer.finish()
        }
    }
}

/// Returns true if the reply has a complete, large and compressible body without a coding.
fn is_candidate(reply: &Reply) -> bool {
    // Most responses are small, so their size is checked first.
    if reply.body.is_stream() || reply.body.length().is_none_or(|bytes| bytes < BYTES_MIN as u64) {
        return false;
    }
    let field = |name: HeaderName| reply.fields.iter().find(|(own, _)| *own == name).map(|(_, value)| value);
    let content_type = field(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or(reply.content_type);
    is_compressible(content_type)
        && field(CONTENT_ENCODING).is_none()
        && field(CONTENT_RANGE).is_none()
        && !field(CACHE_CONTROL).is_some_and(|rule| contains(rule, "no-transform"))
}

fn contains(value: &HeaderValue, word: &str) -> bool {
    value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains(word))
}

/// Returns true for text, JSON, JavaScript, SVG and their like. Images, fonts and archives are compressed already.
pub fn is_compressible(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let is_text = essence.starts_with("text/") && essence != "text/event-stream";
    let others = ["application/json", "application/javascript", "application/xml", "application/wasm"];
    is_text || others.contains(&essence) || essence.ends_with("+json") || essence.ends_with("+xml")
}

/// Adds `Accept-Encoding` to the fields by which a cache selects this response.
fn vary(reply: &mut Reply) {
    const NAME: &str = "accept-encoding";
    match reply.fields.iter_mut().find(|(name, _)| *name == VARY) {
        Some((_, value)) if contains(value, NAME) || value.as_bytes() == b"*" => {}
        Some((_, value)) => {
            let joined = [value.as_bytes(), b", ", NAME.as_bytes()].concat();
            *value = HeaderValue::from_bytes(&joined).unwrap_or(HeaderValue::from_static("*"));
        }
        None => reply.fields.push((VARY, HeaderValue::from_static(NAME))),
    }
}

/// Makes the entity tag weak: the bytes differ between the codings (RFC 9110 §8.8.1).
fn weaken_tag(reply: &mut Reply) {
    let tag = reply.fields.iter_mut().find(|(name, value)| *name == ETAG && !value.as_bytes().starts_with(b"W/"));
    if let Some((_, value)) = tag
        && let Ok(weak) = HeaderValue::from_bytes(&[b"W/", value.as_bytes()].concat())
    {
        *value = weak;
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    fn accepting(codings: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(codings))])
    }

    fn field(reply: &Reply, name: HeaderName) -> Option<&str> {
        reply.fields.iter().find(|(own, _)| *own == name).map(|(_, value)| value.to_str().unwrap())
    }

    fn unpacked(coding: &str, bytes: &[u8]) -> Vec<u8> {
        let mut plain = Vec::new();
        match coding {
            "zstd" => plain = zstd::stream::decode_all(bytes).unwrap(),
            "br" => brotli::BrotliDecompress(&mut &*bytes, &mut plain).unwrap(),
            _ => _ = flate2::read::GzDecoder::new(bytes).read_to_end(&mut plain).unwrap(),
        }
        plain
    }

    #[tokio::test]
    async fn large_text_is_compressed_in_each_coding() {
        for bytes in [BYTES_MIN, INLINE_BYTES_MAX + 1, 1_000_000] {
            for coding in ["zstd", "br", "gzip"] {
                let text = "[1,2,3]".repeat(bytes / 7 + 1);
                let reply = compressed(Reply::json(200, text.clone()), &accepting(coding)).await;
                assert_eq!(
                    (field(&reply, CONTENT_ENCODING), field(&reply, VARY)),
                    (Some(coding), Some("accept-encoding"))
                );
                let packed = reply.body.whole().unwrap();
                assert!(packed.len() < text.len() / 4, "{coding}: {} of {}", packed.len(), text.len());
                assert_eq!(unpacked(coding, &packed), text.as_bytes());
            }
        }
    }

    #[tokio::test]
    async fn small_coded_partial_and_incompressible_bodies_stay_as_they_are() {
        let text = || "x".repeat(5_000);
        let with =
            |name, value| Reply { fields: vec![(name, HeaderValue::from_static(value))], ..Reply::json(200, text()) };
        for reply in [
            Reply::json(200, "x".repeat(BYTES_MIN - 1)),
            Reply::of(200, "image/png", text().into()),
            Reply::of(200, "text/event-stream", text().into()),
            with(CONTENT_ENCODING, "gzip"),
            with(CONTENT_RANGE, "bytes 0-4999/9999"),
            with(CACHE_CONTROL, "no-transform"),
            with(CONTENT_TYPE, "font/woff2"),
        ] {
            let before = reply.body.length();
            let reply = compressed(reply, &accepting("gzip")).await;
            assert_eq!((reply.body.length(), field(&reply, VARY)), (before, None), "{reply:?}");
        }
        let noise: Vec<u8> = (0..4_000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let reply = compressed(Reply::json(200, noise), &accepting("zstd")).await;
        assert!(reply.body.length() <= Some(4_000));
    }

    #[tokio::test]
    async fn client_without_a_coding_gets_the_plain_body_and_caches_learn_that_it_varies() {
        let reply =
            Reply { fields: vec![(VARY, HeaderValue::from_static("origin"))], ..Reply::json(200, "x".repeat(5_000)) };
        let reply = compressed(reply, &HeaderMap::new()).await;
        assert_eq!((reply.body.length(), field(&reply, VARY)), (Some(5_000), Some("origin, accept-encoding")));
        assert_eq!(field(&reply, CONTENT_ENCODING), None);
    }

    #[tokio::test]
    async fn strong_tag_becomes_weak() {
        for (tag, expected) in [("\"a\"", "W/\"a\""), ("W/\"a\"", "W/\"a\"")] {
            let reply =
                Reply { fields: vec![(ETAG, HeaderValue::from_static(tag))], ..Reply::json(200, "x".repeat(5_000)) };
            assert_eq!(field(&compressed(reply, &accepting("br")).await, ETAG), Some(expected));
        }
    }

    /// Prints the figures of `docs/how-to/compression.md`, for 500 rows with random ids and titles.
    #[test]
    #[ignore = "a measurement; it needs a release build"]
    fn cost_of_compression() {
        const WORDS: &str = "plan review budget client launch design server report team quarter hiring notes risk metric \
                             update draft vendor scope sprint owner demo support goal survey legal market pricing data \
                             mobile search backup travel";
        let words: Vec<&str> = WORDS.split(' ').collect();
        let mut seed = 7u64;
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            seed >> 33
        };
        let rows: Vec<String> = (0..500)
            .map(|row| {
                let title = [(); 6].map(|()| words[(next() % 32) as usize]).join(" ");
                let (a, b, at) = (next(), next(), 1_767_225_600_000 + row * 61_007 + next() % 50_000);
                let state = ["active", "concluded", "scheduled"][(next() % 3) as usize];
                let (organizer, participants) = (format!("{:013x}{:013x}", next() % 40, next() % 40), next() % 500);
                format!(
                    r#"{{"_id":"meeting_{a:013x}{b:013x}","_creationTime":{at},"title":"{title}","state":"{state}","organizerId":"user_{organizer}","maxParticipants":{participants}}}"#
                )
            })
            .collect();
        let plain = format!(r#"{{"status":"success","value":[{}],"logLines":[]}}"#, rows.join(","));
        eprintln!("plain: {} bytes", plain.len());
        for coding in OFFERED {
            let began = tokio::time::Instant::now();
            let packed = (0..100).map(|_| pack(coding, plain.as_bytes()).unwrap().len()).max().unwrap();
            eprintln!("{}: {packed} bytes, {:?}", coding.as_str(), began.elapsed() / 100);
        }
    }
}
