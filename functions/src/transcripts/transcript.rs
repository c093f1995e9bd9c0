//! The transcript of one meeting within one transaction: opened, extended, saved.
//!
//! This module assigns the sequence, which has no gap because it is the number of chunks, and updates the statistics
//! with every chunk, so that reading them costs one row.

use convoke::prelude::*;
use schema::limits::{Quotas, transcript_bucket};
use schema::{ChunkText, ClientToken, Confidence, LanguageTag, Meeting, TranscriptChunk, TranscriptStats, User};

/// A final chunk to store.
#[derive(Clone, Debug)]
pub struct Speech {
    /// Speaker.
    pub speaker: Id<User>,
    /// Text.
    pub text: ChunkText,
    /// Confidence of the speech recognition.
    pub confidence: Confidence,
    /// Start.
    pub start: Millis,
    /// End; later than the start.
    pub end: Millis,
    /// Language; unknown if the client did not name it.
    pub language: LanguageTag,
    /// Id from the client.
    pub chunk_id: Option<ClientToken>,
}

/// The position of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Position in the transcript.
    pub sequence: i64,
    /// Its bucket.
    pub bucket: Millis,
    /// True if it was stored now rather than before.
    pub is_new: bool,
}

/// The transcript of a meeting during a transaction.
pub struct Transcript {
    meeting: Id<Meeting>,
    row: Option<Doc<TranscriptStats>>,
    figures: TranscriptStats,
}

impl Transcript {
    /// Opens the transcript of `meeting`.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn open(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Self> {
        let row = figures(ctx, meeting)?;
        let figures = row.as_deref().cloned().unwrap_or_else(|| nothing(meeting));
        Ok(Self { meeting, row, figures })
    }

    /// Returns the sequence of the last chunk; 0 if there is none.
    pub fn sequence(&self) -> i64 {
        self.figures.total_chunks
    }

    /// Adds a chunk at the end; a chunk with a known id of its speaker does not change.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn add(&mut self, ctx: &mut MutationCtx, speech: Speech) -> Result<Stored> {
        if let Some(known) = self.known(ctx, &speech)? {
            return Ok(Stored { sequence: known.sequence, bucket: known.bucket_ms, is_new: false });
        }
        let bucket = transcript_bucket(speech.start);
        let in_bucket = ctx.db().query(TranscriptChunk::by_meeting_bucket).eq(self.meeting).eq(bucket).first()?;
        let words = words(speech.text.as_str());
        let languages_max = ctx.settings::<Quotas>().transcript_languages;
        self.count(&speech, words, in_bucket.is_none(), languages_max);
        let sequence = self.figures.total_chunks;
        ctx.db_mut().insert(TranscriptChunk {
            meeting_id: self.meeting,
            sequence,
            bucket_ms: bucket,
            speaker_id: speech.speaker,
            text: speech.text,
            confidence: speech.confidence,
            start_ms: speech.start,
            end_ms: speech.end,
            word_count: words,
            language: speech.language,
            chunk_id: speech.chunk_id,
        })?;
        Ok(Stored { sequence, bucket, is_new: true })
    }

    fn known(&self, ctx: &impl Read, speech: &Speech) -> Result<Option<Doc<TranscriptChunk>>> {
        let Some(chunk_id) = &speech.chunk_id else { return Ok(None) };
        let named = ctx.db().query(TranscriptChunk::by_meeting_speaker_chunk).eq(self.meeting);
        Ok(named.eq(speech.speaker).eq(chunk_id).unique()?)
    }

    fn count(&mut self, speech: &Speech, words: i64, opens_bucket: bool, languages_max: usize) {
        let figures = &mut self.figures;
        let is_first = figures.total_chunks == 0;
        figures.total_chunks += 1;
        figures.total_words += words;
        figures.confidence_sum += speech.confidence.get();
        figures.min_start_ms = if is_first { speech.start } else { figures.min_start_ms.min(speech.start) };
        figures.max_end_ms = figures.max_end_ms.max(speech.end);
        if !figures.speakers.contains(&speech.speaker) {
            figures.speakers.push(speech.speaker);
        }
        // No speaker uses so many languages: a client that makes up tags must not make every chunk write a longer row.
        let is_new = speech.language.is_known() && !figures.languages.contains(&speech.language);
        if is_new && figures.languages.len() < languages_max {
            figures.languages.push(speech.language.clone());
        }
        figures.bucket_count += i64::from(opens_bucket);
    }

    /// Saves the statistics.
    ///
    /// # Errors
    /// A failure of the store.
    pub fn save(self, ctx: &mut MutationCtx) -> Result<()> {
        let Self { row, figures, .. } = self;
        match row {
            Some(row) => ctx.db_mut().patch_doc(row, |stored| *stored = figures).map(drop)?,
            None if figures.total_chunks > 0 => ctx.db_mut().insert(figures).map(drop)?,
            None => {}
        }
        Ok(())
    }
}

/// Returns the statistics of a meeting's transcript; none before the first chunk.
///
/// # Errors
/// A failure of the store.
pub fn figures(ctx: &impl Read, meeting: Id<Meeting>) -> Result<Option<Doc<TranscriptStats>>> {
    Ok(ctx.db().query(TranscriptStats::by_meeting).eq(meeting).unique()?)
}

fn nothing(meeting: Id<Meeting>) -> TranscriptStats {
    TranscriptStats {
        meeting_id: meeting,
        total_chunks: 0,
        total_words: 0,
        confidence_sum: 0.0,
        min_start_ms: Millis(0),
        max_end_ms: Millis(0),
        speakers: Vec::new(),
        languages: Vec::new(),
        bucket_count: 0,
    }
}

/// Counts words, separated by Unicode white space.
fn words(text: &str) -> i64 {
    i64::try_from(text.split_whitespace().count()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn words_are_separated_by_white_space() {
        assert_eq!(words("well-known  facts,\tit's\u{a0}so\u{3000}here"), 5);
        assert_eq!(words("日本語"), 1);
        assert_eq!(words(" "), 0);
    }
}
