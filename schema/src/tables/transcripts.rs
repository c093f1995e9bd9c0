//! Transcripts of meetings, and their statistics.

use convoke::{Id, Millis, table};

use super::meetings::Meeting;
use super::users::User;
use crate::values::{ChunkText, ClientToken, Confidence, LanguageTag};

/// A final segment of speech. The sequences of a meeting begin at 1 and have no gaps.
#[table(name = "transcriptChunks", prefix = "chunk")]
#[index(by_meeting_sequence(meeting_id, sequence), unique)]
#[index(by_meeting_bucket(meeting_id, bucket_ms))]
#[index(by_meeting_speaker_chunk(meeting_id, speaker_id, chunk_id), unique)]
pub struct TranscriptChunk {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// The sequence number in the transcript.
    pub sequence: i64,
    /// The start of the five-minute bucket that contains `startMs`.
    pub bucket_ms: Millis,
    /// The speaker.
    pub speaker_id: Id<User>,
    /// The text.
    pub text: ChunkText,
    /// The confidence of the recognizer.
    pub confidence: Confidence,
    /// Time at which the segment begins.
    pub start_ms: Millis,
    /// Time at which the segment ends; later than `startMs`.
    pub end_ms: Millis,
    /// Number of words: sequences of characters other than white space.
    pub word_count: i64,
    /// The language; `und` if the client does not send it.
    pub language: LanguageTag,
    /// The client's id of the chunk. A known id is not stored again. Chunks without an id never conflict.
    pub chunk_id: Option<ClientToken>,
}

/// The statistics of a meeting's transcript, which every chunk updates. A meeting without chunks has no row.
#[table(name = "transcriptStats", prefix = "transcriptstats")]
#[index(by_meeting(meeting_id), unique)]
pub struct TranscriptStats {
    /// The meeting.
    pub meeting_id: Id<Meeting>,
    /// Number of chunks; also the sequence of the last one.
    pub total_chunks: i64,
    /// Number of words.
    pub total_words: i64,
    /// Sum of the confidences, from which the mean is computed.
    pub confidence_sum: f64,
    /// The earliest start.
    pub min_start_ms: Millis,
    /// The latest end.
    pub max_end_ms: Millis,
    /// The speakers, in the order of their first chunk.
    pub speakers: Vec<Id<User>>,
    /// The known languages, in the order of their first chunk, up to the quota.
    pub languages: Vec<LanguageTag>,
    /// Number of five-minute buckets that have a chunk.
    pub bucket_count: i64,
}
