//! Queries of a transcript.

use convoke::prelude::*;
use convoke::{args, query, value};
use schema::{ChunkText, ClientToken, Confidence, LanguageTag, Limit, Meeting, Natural, TranscriptChunk, User};

use super::transcript;
use crate::access::{self, Membership};

/// Arguments of [`list_transcript_chunks`].
#[args]
pub struct ListTranscriptChunks {
    pub meeting_id: Id<Meeting>,
    /// First chunk to list; 1 by default.
    pub from_sequence: Option<Natural>,
    #[default(Limit::default())]
    pub limit: Limit<200, 500>,
}

/// The result of [`list_transcript_chunks`].
#[value(output)]
pub struct TranscriptChunks {
    /// Chunks by sequence.
    pub chunks: Vec<ShownChunk>,
    /// Sequence of the chunk after these, which may not exist yet.
    pub next_sequence: i64,
}

/// A chunk of speech.
///
/// ```json
/// {"_id": "chunk_01jgfjs5r2a4n8w7k0q3d6m9vt", "sequence": 1, "speakerId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "text": "Good morning.", "confidence": 0.98,
///  "startTime": 1767225600000, "endTime": 1767225601500, "bucketMs": 1767225600000, "wordCount": 2, "language": "en",
///  "createdAt": 1767225602000}
/// ```
#[value(output)]
pub struct ShownChunk {
    #[value(rename = "_id")]
    pub id: Id<TranscriptChunk>,
    /// Position in the transcript.
    pub sequence: i64,
    pub speaker_id: Id<User>,
    pub text: ChunkText,
    pub confidence: Confidence,
    pub start_time: Millis,
    pub end_time: Millis,
    pub bucket_ms: Millis,
    /// Number of words, separated by white space.
    pub word_count: i64,
    pub language: LanguageTag,
    pub chunk_id: Option<ClientToken>,
    pub created_at: Millis,
}

/// Returns the transcript of a meeting from a position on.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[query(tool, rights = access::participant(args.meeting_id))]
pub fn list_transcript_chunks(
    ctx: &QueryCtx,
    membership: Membership,
    args: ListTranscriptChunks,
) -> Result<TranscriptChunks> {
    let from = args.from_sequence.map_or(1, Natural::get).max(1);
    let rows = ctx.db().query(TranscriptChunk::by_meeting_sequence).eq(membership.meeting.id()).range(from..);
    let chunks: Vec<ShownChunk> = rows.page(None, args.limit.get())?.items.into_iter().map(shown).collect();
    let next_sequence = match chunks.last() {
        Some(last) => last.sequence + 1,
        // A client that requests chunks in the future continues with the next one, so that it misses none.
        None => from.min(transcript::figures(ctx, membership.meeting.id())?.map_or(0, |row| row.total_chunks) + 1),
    };
    Ok(TranscriptChunks { chunks, next_sequence })
}

fn shown(row: Doc<TranscriptChunk>) -> ShownChunk {
    let (id, created_at) = (row.id(), row.creation_time());
    let row = row.into_inner();
    ShownChunk {
        id,
        sequence: row.sequence,
        speaker_id: row.speaker_id,
        text: row.text,
        confidence: row.confidence,
        start_time: row.start_ms,
        end_time: row.end_ms,
        bucket_ms: row.bucket_ms,
        word_count: row.word_count,
        language: row.language,
        chunk_id: row.chunk_id,
        created_at,
    }
}
