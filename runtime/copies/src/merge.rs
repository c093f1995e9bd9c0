//! Merges the files of consecutive commits into one.

use std::fs::File;
use std::io::{self, BufReader, Write};

use crate::ltx::{Decoder, Encoder, Header};

/// A file during the merge, with its next page.
struct Source {
    decoder: Decoder<BufReader<File>>,
    page: Option<u32>,
    content: Vec<u8>,
}

impl Source {
    fn advance(&mut self) -> io::Result<()> {
        self.page = self.decoder.next(&mut self.content)?;
        Ok(())
    }
}

/// Writes a file with the newest content of each page. The files come in the order of their commits.
///
/// # Errors
/// Errors of the files; [`io::ErrorKind::InvalidData`].
pub(crate) fn merge(files: Vec<File>, to: impl Write) -> io::Result<Header> {
    let mut sources = Vec::with_capacity(files.len());
    for file in files {
        let decoder = Decoder::begin(BufReader::new(file))?;
        let content = vec![0; decoder.header().page_bytes as usize];
        let mut source = Source { decoder, page: None, content };
        source.advance()?;
        sources.push(source);
    }
    let (Some(first), Some(last)) = (sources.first(), sources.last()) else {
        return Err(io::Error::other("no files to merge"));
    };
    let header = Header { first: first.decoder.header().first, ..last.decoder.header() };
    let mut encoder = Encoder::begin(to, header)?;
    while let Some(page) = sources.iter().filter_map(|source| source.page).min() {
        if let Some(newest) = sources.iter().rfind(|source| source.page == Some(page)) {
            encoder.page(page, &newest.content)?;
        }
        for source in sources.iter_mut().filter(|source| source.page == Some(page)) {
            source.advance()?;
        }
    }
    encoder.finish()?;
    Ok(header)
}
