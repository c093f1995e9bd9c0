//! What was said in a meeting, and its figures.

use convoke::{Id, Millis, table};

use super::meetings::Meeting;
use super::users::User;
use crate::values::{ChunkText, ClientToken, Confidence, LanguageTag};

/// A stretch of speech, final. Sequences of a meeting begin at 1 and have no gap.
#[table(name = "transcriptChunks", prefix = "chunk")]
#[index(by_meeting_sequence(meeting_id, sequence), unique)]
#[index(by_meeting_bucket(meeting_id, bucket_ms))]
#[index(by_meeting_speaker_chunk(meeting_id, speaker_id, chunk_id), unique)]
pub struct TranscriptChunk {
    /// In which meeting.
    pub meeting_id: Id<Meeting>,
    /// Its place in the transcript.
    pub sequence: i64,
    /// The beginning of the five minutes that `startMs` lies in.
    pub bucket_ms: Millis,
    /// Who spoke.
    pub speaker_id: Id<User>,
    /// What was said.
    pub text: ChunkText,
    /// How sure the recognizer is.
    pub confidence: Confidence,
    /// When it began.
    pub start_ms: Millis,
    /// When it ended; later than it began.
    pub end_ms: Millis,
    /// Runs of characters that are not white space.
    pub word_count: i64,
    /// The language spoken; `und` where nobody named it.
    pub language: LanguageTag,
    /// The client's name of it: a known one is not stored again. Chunks without never collide.
    pub chunk_id: Option<ClientToken>,
}

/// The figures of a meeting's transcript, kept up with every chunk. A meeting without chunks has none.
#[table(name = "transcriptStats", prefix = "transcriptstats")]
#[index(by_meeting(meeting_id), unique)]
pub struct TranscriptStats {
    /// Of which meeting.
    pub meeting_id: Id<Meeting>,
    /// How many chunks there are; also the last one's sequence.
    pub total_chunks: i64,
    /// The sum of their words.
    pub total_words: i64,
    /// The sum of their confidences, of which the mean is made.
    pub confidence_sum: f64,
    /// The earliest beginning.
    pub min_start_ms: Millis,
    /// The latest end.
    pub max_end_ms: Millis,
    /// Who spoke, in order of first appearance.
    pub speakers: Vec<Id<User>>,
    /// What was spoken, where it was named, in order of first appearance, up to the quota.
    pub languages: Vec<LanguageTag>,
    /// How many five-minute buckets have a chunk.
    pub bucket_count: i64,
}
