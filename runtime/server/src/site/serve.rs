//! The response to a request for a file.

use std::io::{self, Read as _};
use std::ops::RangeInclusive;
use std::path::Path;

use bytes::Bytes;
use hyper::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName, HeaderValue,
    LAST_MODIFIED, LOCATION, VARY,
};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};

use super::caching;
use super::conditions::{Part, Validators};
use super::folder::{Folder, FolderError, Found, OpenFile};
use crate::page;
use convoke_core::error::{Code, Error};
use convoke_http::{Body, BodySender, Class, Coding, Ending, Gone, Incoming, Reply, is_compressible, preferred};

/// Files up to this size are read at once, so that the listener can compress them. Larger ones are streamed.
const WHOLE_BYTES_MAX: u64 = 1024 * 1024;
/// Bytes of a piece of a stream.
const PIECE_BYTES: usize = 64 * 1024;
/// The codings of files beside a file: `app.js.br`, `app.js.gz`.
const PACKED: [(Coding, &str); 2] = [(Coding::Brotli, "br"), (Coding::Gzip, "gz")];

const ACCEPT_ENCODING: &str = "accept-encoding";
const IF_MODIFIED_SINCE: &str = "if-modified-since";
const IF_NONE_MATCH: &str = "if-none-match";
const IF_RANGE: &str = "if-range";
const RANGE: &str = "range";

/// A site: the files of a folder.
#[derive(Clone, Debug)]
pub struct Site {
    folder: Folder,
    is_spa: bool,
}

/// The fields of a request that select the response.
struct Asked {
    path: String,
    codings: Vec<HeaderValue>,
    if_modified_since: Option<HeaderValue>,
    if_none_match: Option<HeaderValue>,
    if_range: Option<HeaderValue>,
    range: Option<HeaderValue>,
}

impl Site {
    /// The class of its routes.
    pub(crate) const CLASS: Class = Class {
        for_pages: false,
        fields: &[ACCEPT_ENCODING, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_RANGE, RANGE],
        ..Class::DOCUMENT
    };

    /// Opens the site in a folder. In a single-page application (`is_spa`), an unknown path without a file extension has
    /// the page of the folder.
    ///
    /// # Errors
    /// [`FolderError`].
    pub fn open(folder: &Path, is_spa: bool) -> Result<Self, FolderError> {
        Ok(Self { folder: Folder::open(folder)?, is_spa })
    }

    /// Responds to a request for a path.
    pub(crate) async fn reply<E>(&self, request: &Incoming<E>) -> Reply {
        let field = |name| request.field(name).ok().flatten().cloned();
        let asked = Asked {
            path: request.uri.path().to_owned(),
            codings: request.field_all(ACCEPT_ENCODING).cloned().collect(),
            if_modified_since: field(IF_MODIFIED_SINCE),
            if_none_match: field(IF_NONE_MATCH),
            if_range: field(IF_RANGE),
            range: field(RANGE),
        };
        let site = self.clone();
        let query = request.uri.query().map(|query| format!("?{query}")).unwrap_or_default();
        match tokio::task::spawn_blocking(move || site.prepare(&asked)).await {
            Ok(Ok(Prepared::Reply(reply))) => reply,
            Ok(Ok(Prepared::Stream(reply, file, bytes))) => streamed(reply, file, bytes),
            Ok(Ok(Prepared::Folder)) => redirect(&format!("{}/{query}", request.uri.path())),
            Ok(Ok(Prepared::Nothing)) => page::none(),
            Ok(Err(error)) => failed(request, &error),
            Err(error) => failed(request, &io::Error::other(error)),
        }
    }

    /// Finds the file and decides about the response. Blocks on the disk.
    fn prepare(&self, asked: &Asked) -> io::Result<Prepared> {
        let file = match self.folder.find(&asked.path)? {
            Found::File(file) => file,
            Found::Folder => return Ok(Prepared::Folder),
            Found::Nothing if self.is_spa && has_no_extension(&asked.path) => match self.folder.index()? {
                Found::File(file) => file,
                Found::Folder | Found::Nothing => return Ok(Prepared::Nothing),
            },
            Found::Nothing => return Ok(Prepared::Nothing),
        };
        let name = file.name.clone();
        let packed = self.packed(&name)?;
        let mut fields =
            vec![(CONTENT_TYPE, content_type(&name)), (CACHE_CONTROL, HeaderValue::from_static(caching::rule(&name)))];
        let codings: Vec<Coding> = packed.iter().map(|(coding, _)| *coding).collect();
        // A range of a packed file would be useless to a client that resumes a download.
        let coding = if asked.range.is_none() { preferred(&asked.codings, &codings) } else { None };
        if !codings.is_empty() {
            fields.push((VARY, HeaderValue::from_static(ACCEPT_ENCODING)));
        }
        let file = match packed.into_iter().find(|(own, _)| Some(*own) == coding) {
            Some((coding, packed)) => {
                fields.push((CONTENT_ENCODING, HeaderValue::from_static(coding.as_str())));
                packed
            }
            None => file,
        };
        respond(asked, file, coding, fields)
    }

    /// Returns the packed files beside a file.
    fn packed(&self, name: &str) -> io::Result<Vec<(Coding, Box<OpenFile>)>> {
        let mut packed = Vec::new();
        for (coding, extension) in PACKED {
            if let Found::File(file) = self.folder.file(&format!("{name}.{extension}"))? {
                packed.push((coding, file));
            }
        }
        Ok(packed)
    }
}

/// A response whose file is open.
enum Prepared {
    Reply(Reply),
    /// The head, and the file with the bytes to send.
    Stream(Reply, std::fs::File, RangeInclusive<u64>),
    Folder,
    Nothing,
}

fn respond(
    asked: &Asked,
    file: Box<OpenFile>,
    coding: Option<Coding>,
    mut fields: Vec<(HeaderName, HeaderValue)>,
) -> io::Result<Prepared> {
    let OpenFile { file, metadata, .. } = *file;
    let bytes = metadata.len();
    let validators = Validators::of(&metadata, coding.map(Coding::as_str));
    fields.push((ETAG, HeaderValue::try_from(&validators.tag).map_err(io::Error::other)?));
    fields.extend(validators.last_modified().map(|time| (LAST_MODIFIED, time)));
    fields.push((ACCEPT_RANGES, const { HeaderValue::from_static("bytes") }));
    let reply = |status, fields, body: Body| Reply { fields, ..Reply::of(status, CONTENT_TYPE_IN_FIELDS, body) };
    if validators.is_known(asked.if_none_match.as_ref(), asked.if_modified_since.as_ref()) {
        return Ok(Prepared::Reply(reply(304, fields, Body::default())));
    }
    let range = asked.range.as_ref().filter(|_| validators.allows_range(asked.if_range.as_ref()));
    let content_range = |text: String| HeaderValue::try_from(text).map_err(io::Error::other);
    match Part::of(range, bytes) {
        Part::Outside => {
            fields.push((CONTENT_RANGE, content_range(format!("bytes */{bytes}"))?));
            Ok(Prepared::Reply(reply(416, fields, Body::default())))
        }
        Part::Bytes(part) => {
            fields.push((CONTENT_RANGE, content_range(format!("bytes {}-{}/{bytes}", part.start(), part.end()))?));
            Ok(Prepared::Stream(reply(206, fields, Body::default()), file, part))
        }
        Part::Whole if bytes == 0 => Ok(Prepared::Reply(reply(200, fields, Body::default()))),
        Part::Whole if bytes <= WHOLE_BYTES_MAX && is_text(&fields) => {
            let mut whole = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0));
            // The file may grow while it is read.
            file.take(bytes).read_to_end(&mut whole)?;
            Ok(Prepared::Reply(reply(200, fields, Bytes::from(whole).into())))
        }
        Part::Whole => Ok(Prepared::Stream(reply(200, fields, Body::default()), file, 0..=bytes - 1)),
    }
}

/// The listener protects its own pages by a policy that forbids scripts. A page of the site has its own policy, so its
/// type is a further field.
const CONTENT_TYPE_IN_FIELDS: &str = "application/octet-stream";

fn is_text(fields: &[(HeaderName, HeaderValue)]) -> bool {
    let own = fields.iter().find(|(name, _)| *name == CONTENT_TYPE).and_then(|(_, value)| value.to_str().ok());
    own.is_some_and(is_compressible)
}

fn content_type(name: &str) -> HeaderValue {
    let guessed = mime_guess::from_path(name).first_raw().unwrap_or("application/octet-stream");
    let is_text = guessed.starts_with("text/") || guessed == "application/javascript";
    let text = if is_text { format!("{guessed}; charset=utf-8") } else { guessed.to_owned() };
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("application/octet-stream"))
}

fn has_no_extension(path: &str) -> bool {
    !path.rsplit('/').next().unwrap_or_default().contains('.')
}

/// Sends a part of a file in pieces. A file that becomes shorter breaks the response off.
fn streamed(reply: Reply, file: std::fs::File, part: RangeInclusive<u64>) -> Reply {
    let length = part.end() - part.start() + 1;
    let (sender, body) = Body::stream(Ending::Whole);
    tokio::spawn(async move {
        let file = tokio::fs::File::from_std(file);
        if let Err(error) = send(file, part, &sender).await {
            tracing::debug!(target: "convoke::site", "a file is not sent to its end: {error}");
            return;
        }
        sender.finish();
    });
    Reply { body: body.with_length(length), ..reply }
}

async fn send(mut file: tokio::fs::File, part: RangeInclusive<u64>, to: &BodySender) -> io::Result<()> {
    file.set_max_buf_size(PIECE_BYTES);
    file.seek(io::SeekFrom::Start(*part.start())).await?;
    let mut left = part.end() - part.start() + 1;
    while left > 0 {
        let mut piece = bytes::BytesMut::with_capacity(PIECE_BYTES.min(usize::try_from(left).unwrap_or(PIECE_BYTES)));
        let read = (&mut file).take(left).read_buf(&mut piece).await?;
        if read == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter"));
        }
        left -= read as u64;
        to.send(piece.freeze()).await.map_err(|Gone| io::Error::from(io::ErrorKind::BrokenPipe))?;
    }
    Ok(())
}

fn redirect(to: &str) -> Reply {
    match HeaderValue::try_from(to) {
        Ok(location) => Reply { fields: vec![(LOCATION, location)], ..Reply::json(308, Bytes::new()) },
        Err(_) => page::none(),
    }
}

fn failed<E>(request: &Incoming<E>, error: &io::Error) -> Reply {
    tracing::error!(target: "convoke::site", request_id = &*request.request_id, path = request.uri.path(), "{error}");
    page::failed(&Error::new(Code::Internal, convoke_core::error::INTERNAL_MESSAGE))
}
