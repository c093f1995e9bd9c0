//! Adding to a transcript, and its statistics.

use std::collections::HashMap;

use convoke::prelude::*;
use convoke::{Context, args, mutation, query, value};
use schema::{ChunkText, ClientToken, Confidence, Details, IdempotencyKey, LanguageTag, List, Meeting, User, UserRef};

use super::transcript::{self, Speech, Stored, Transcript};
use crate::access::{self, Membership};
use crate::audit;
use crate::events::{self, Event};
use crate::meetings::{participants, state};

/// Arguments of [`ingest_transcript_chunk`].
///
/// ```json
/// {"meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt", "text": "Good morning.", "confidence": 0.98, "startTime": 1767225600000,
///  "endTime": 1767225602000, "language": "en", "chunkId": "chunk-1"}
/// ```
#[args]
pub struct IngestTranscriptChunk {
    pub meeting_id: Id<Meeting>,
    pub text: ChunkText,
    /// Confidence of the speech recognition.
    pub confidence: Confidence,
    /// Start of the speech.
    pub start_time: Millis,
    /// End of the speech; later than its start.
    pub end_time: Millis,
    /// Language of the speech. Absent: unknown; generators detect it from the whole transcript.
    #[default(LanguageTag::default())]
    pub language: LanguageTag,
    /// Speaker; the caller by default. Only a host or a deploy key may name another one.
    pub speaker_id: Option<UserRef>,
    /// True for an interim result, which is acknowledged and not stored.
    #[default(false)]
    pub is_interim: bool,
    /// Id from the client: a known id of the speaker is not stored again.
    pub chunk_id: Option<ClientToken>,
    /// A retry with the same key and arguments stores nothing and returns the first result.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// The result of [`ingest_transcript_chunk`].
///
/// ```json
/// {"success": true, "sequence": 7, "bucketMs": 1767225600000}
/// ```
#[value]
pub struct ChunkIngested {
    /// Always true; a failure is an error.
    pub success: bool,
    /// Position in the transcript; for an interim chunk, that of the last chunk.
    pub sequence: i64,
    /// Start of the five-minute bucket of the chunk.
    pub bucket_ms: Millis,
}

/// Adds a chunk to the transcript of an active meeting.
///
/// # Errors
/// - `INVALID_ARGUMENT`: it ends before it begins; a deploy key that names no speaker.
/// - `FORBIDDEN`: the caller is not in the meeting, or names another speaker without hosting it.
/// - `NOT_FOUND`: "Participant not found in meeting" for such a speaker; "Meeting not found" for a deploy key.
/// - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
/// - `FAILED_PRECONDITION`: "Meeting is not currently active", "Transcription is disabled for this meeting".
#[mutation(
    rate = "transcripts",
    form = in_order(args.start_time, args.end_time),
    rights = recorder(args.meeting_id, args.speaker_id.as_ref())
)]
pub fn ingest_transcript_chunk(
    ctx: &mut MutationCtx,
    recorder: Recorder,
    args: IngestTranscriptChunk,
) -> Result<ChunkIngested> {
    let call = args.clone();
    let chunks = [SentChunk {
        text: args.text,
        confidence: args.confidence,
        start_time: args.start_time,
        end_time: args.end_time,
        language: args.language,
        speaker_id: args.speaker_id,
        is_interim: args.is_interim,
        chunk_id: args.chunk_id,
    }];
    ctx.once(call.idempotency_key.as_ref().map(IdempotencyKey::as_str), &call, |ctx| {
        let stored = recorder.ingest(ctx, chunks)?;
        let Stored { sequence, bucket, .. } = stored[0];
        Ok(ChunkIngested { success: true, sequence, bucket_ms: bucket })
    })
}

/// Arguments of [`ingest_transcript_chunks`].
#[args]
pub struct IngestTranscriptChunks {
    pub meeting_id: Id<Meeting>,
    /// Chunks in the order of speech.
    pub chunks: List<SentChunk, 1, 100>,
    /// A retry with the same key and arguments stores nothing and returns the first result.
    pub idempotency_key: Option<IdempotencyKey>,
}

/// One of several chunks.
///
/// ```json
/// {"text": "Good morning.", "confidence": 0.98, "startTime": 1767225600000, "endTime": 1767225601500}
/// ```
#[value]
pub struct SentChunk {
    pub text: ChunkText,
    /// Confidence of the speech recognition.
    pub confidence: Confidence,
    /// Start of the speech.
    pub start_time: Millis,
    /// End of the speech; later than its start.
    pub end_time: Millis,
    /// Language of the speech. Absent: unknown; generators detect it from the whole transcript.
    #[default(LanguageTag::default())]
    pub language: LanguageTag,
    /// Speaker; the caller by default. Only a host or a deploy key may name another one.
    pub speaker_id: Option<UserRef>,
    /// True for an interim result, which is acknowledged and not stored.
    #[default(false)]
    pub is_interim: bool,
    /// Id from the client: a known id of the speaker is not stored again.
    pub chunk_id: Option<ClientToken>,
}

/// The result of [`ingest_transcript_chunks`].
///
/// ```json
/// {"success": true, "sequences": [7, 8, 8]}
/// ```
#[value]
pub struct ChunksIngested {
    /// Always true; a failure is an error.
    pub success: bool,
    /// Position of each chunk in the transcript, in order; for an interim chunk, that of the chunk before it.
    pub sequences: Vec<i64>,
}

/// Adds several chunks to the transcript of an active meeting: all of them or none.
///
/// # Errors
/// - `FORBIDDEN`: the caller is not in the meeting, or names another speaker without hosting it.
/// - `NOT_FOUND`: "Participant not found in meeting" for such a speaker; "Meeting not found" for a deploy key.
/// - `INVALID_ARGUMENT`: a chunk ends before it begins; a deploy key that names no speaker. `field` names the chunk.
/// - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
/// - `FAILED_PRECONDITION`: "Meeting is not currently active", "Transcription is disabled for this meeting".
#[mutation(
    rate = "transcripts",
    form = all_in_order(&args.chunks),
    rights = batch_recorder(args.meeting_id, &args.chunks)
)]
pub fn ingest_transcript_chunks(
    ctx: &mut MutationCtx,
    recorder: Recorder,
    args: IngestTranscriptChunks,
) -> Result<ChunksIngested> {
    let call = args.clone();
    ctx.once(call.idempotency_key.as_ref().map(IdempotencyKey::as_str), &call, |ctx| {
        let stored = recorder.ingest(ctx, args.chunks)?;
        Ok(ChunksIngested { success: true, sequences: stored.iter().map(|stored| stored.sequence).collect() })
    })
}

fn path(place: usize) -> String {
    format!("chunks[{place}].")
}

fn in_order(_: &impl Context, start: Millis, end: Millis) -> Result<()> {
    require_order("", start, end)
}

fn all_in_order(_: &impl Context, chunks: &[SentChunk]) -> Result<()> {
    let mut chunks = chunks.iter().enumerate();
    chunks.try_for_each(|(place, chunk)| require_order(&path(place), chunk.start_time, chunk.end_time))
}

fn require_order(path: &str, start: Millis, end: Millis) -> Result<()> {
    if start < end {
        return Ok(());
    }
    let field = format!("{path}endTime");
    let message = format!("{field}: must be later than startTime (got {end})");
    Err(Error::invalid_argument(field, message))
}

fn recorder(ctx: &impl Read, meeting: Id<Meeting>, speaker: Option<&UserRef>) -> Result<Recorder> {
    Recorder::of(ctx, meeting, &[speaker], |_| String::new())
}

fn batch_recorder(ctx: &impl Read, meeting: Id<Meeting>, chunks: &[SentChunk]) -> Result<Recorder> {
    let speakers: Vec<Option<&UserRef>> = chunks.iter().map(|chunk| chunk.speaker_id.as_ref()).collect();
    Recorder::of(ctx, meeting, &speakers, path)
}

/// The recording caller: a participant, or a deploy key without a user.
pub enum Recorder {
    Participant(Box<Membership>),
    DeployKey(Box<Doc<Meeting>>),
}

impl Recorder {
    /// Returns the caller, who may record chunks of these speakers; each chunk is charged to the rate.
    fn of(
        ctx: &impl Read,
        meeting: Id<Meeting>,
        speakers: &[Option<&UserRef>],
        path: impl Fn(usize) -> String,
    ) -> Result<Self> {
        if access::is_bare_deploy_key(ctx) {
            if let Some(place) = speakers.iter().position(Option::is_none) {
                let field = format!("{}speakerId", path(place));
                let message = format!("Missing required argument: {field}");
                return Err(Error::invalid_argument(field, message));
            }
            let meeting = ctx.db().get(meeting)?.ok_or_else(|| Error::not_found("Meeting not found"))?;
            return Ok(Recorder::DeployKey(Box::new(meeting)));
        }
        let membership = access::batch_participant(ctx, meeting, speakers.len())?;
        let mut named = speakers.iter().copied().flatten();
        if !membership.is_host()
            && !named.try_fold(true, |own, who| Ok::<_, Error>(own && is(ctx, who, &membership.user)?))?
        {
            access::require_host(&membership)?;
        }
        Ok(Recorder::Participant(Box::new(membership)))
    }

    fn meeting(&self) -> &Doc<Meeting> {
        match self {
            Recorder::Participant(membership) => &membership.meeting,
            Recorder::DeployKey(meeting) => meeting,
        }
    }

    fn user(&self) -> Option<&Doc<User>> {
        match self {
            Recorder::Participant(membership) => Some(&membership.user),
            Recorder::DeployKey(_) => None,
        }
    }

    /// Stores the final chunks and returns their positions.
    fn ingest(&self, ctx: &mut MutationCtx, chunks: impl IntoIterator<Item = SentChunk>) -> Result<Vec<Stored>> {
        let meeting = self.meeting();
        state::require_active(meeting)?;
        if !meeting.transcription_enabled {
            return Err(Error::failed_precondition("Transcription is disabled for this meeting"));
        }
        let mut transcript = Transcript::open(ctx, meeting.id())?;
        let mut speakers = HashMap::new();
        let mut stored = Vec::new();
        for chunk in chunks {
            let speaker = self.speaker(ctx, chunk.speaker_id.as_ref(), &mut speakers)?;
            stored.push(if chunk.is_interim {
                let bucket = schema::limits::transcript_bucket(chunk.start_time);
                Stored { sequence: transcript.sequence(), bucket, is_new: false }
            } else {
                transcript.add(ctx, speech(speaker, chunk))?
            });
        }
        transcript.save(ctx)?;
        let new = stored.iter().filter(|stored| stored.is_new).count();
        if new > 0 {
            events::emit(ctx, meeting, Event::Spoken)?;
        }
        self.audit(ctx, new)?;
        Ok(stored)
    }

    fn speaker(
        &self,
        ctx: &impl Read,
        named: Option<&UserRef>,
        known: &mut HashMap<UserRef, Id<User>>,
    ) -> Result<Id<User>> {
        let caller = self.user();
        let who = match (named, caller) {
            (Some(who), Some(caller)) if is(ctx, who, caller)? => return Ok(caller.id()),
            (None, Some(caller)) => return Ok(caller.id()),
            (Some(who), _) => who,
            (None, None) => return Err(Error::internal("a deploy key without a speaker was let through")),
        };
        if let Some(id) = known.get(who) {
            return Ok(*id);
        }
        let stranger = || Error::not_found("Participant not found in meeting");
        let speaker = access::find_user(ctx, caller, who)?.ok_or_else(stranger)?.id();
        participants::find(ctx, self.meeting().id(), speaker)?.ok_or_else(stranger)?;
        known.insert(who.clone(), speaker);
        Ok(speaker)
    }

    /// Records calls of a deploy key in the audit log, whichever user it acts as.
    fn audit(&self, ctx: &mut MutationCtx, chunks: usize) -> Result<()> {
        if ctx.caller().deploy_key().is_none() {
            return Ok(());
        }
        let actor = access::actor(ctx, self.user());
        let action = ctx.root_path().to_owned();
        audit::meeting(ctx, &actor, &action, self.meeting(), Details::new().with("chunks", chunks))
    }
}

/// Returns true if a reference names this user: by id, or by subject, unless the subject is the id of another user.
fn is(ctx: &impl Read, who: &UserRef, user: &Doc<User>) -> Result<bool> {
    match who.id() {
        Some(id) if id == user.id() => Ok(true),
        _ if who.subject() != user.subject => Ok(false),
        Some(id) => Ok(ctx.db().get(id)?.is_none()),
        None => Ok(true),
    }
}

fn speech(speaker: Id<User>, chunk: SentChunk) -> Speech {
    Speech {
        speaker,
        text: chunk.text,
        confidence: chunk.confidence,
        start: chunk.start_time,
        end: chunk.end_time,
        language: chunk.language,
        chunk_id: chunk.chunk_id,
    }
}

/// Arguments of [`get_transcript_stats`].
#[args]
pub struct GetTranscriptStats {
    pub meeting_id: Id<Meeting>,
}

/// Statistics of a transcript.
///
/// ```json
/// {"totalChunks": 2, "totalWords": 9, "averageConfidence": 0.95, "duration": 4000,
///  "speakers": ["user_01jgfjs5r2a4n8w7k0q3d6m9vt"],
///  "languages": ["en"], "bucketCount": 1}
/// ```
#[value]
#[derive(Default)]
pub struct TranscriptFigures {
    /// Number of final chunks.
    pub total_chunks: i64,
    /// Number of words, separated by white space.
    pub total_words: i64,
    /// Mean over the chunks.
    pub average_confidence: f64,
    /// Time from the first start to the last end, in milliseconds.
    pub duration: i64,
    /// Speakers, in order of first appearance.
    pub speakers: Vec<Id<User>>,
    /// Named languages in order of first appearance: the first 50, unless set otherwise.
    pub languages: Vec<LanguageTag>,
    /// Number of five-minute buckets with speech.
    pub bucket_count: i64,
}

/// Returns the statistics of a meeting's transcript; zero and empty before the first chunk.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[query(rights = access::participant(args.meeting_id))]
pub fn get_transcript_stats(
    ctx: &QueryCtx,
    membership: Membership,
    _: GetTranscriptStats,
) -> Result<TranscriptFigures> {
    let Some(row) = transcript::figures(ctx, membership.meeting.id())? else { return Ok(TranscriptFigures::default()) };
    let row = row.into_inner();
    Ok(TranscriptFigures {
        average_confidence: (row.confidence_sum / row.total_chunks as f64 * 1e6).round() / 1e6,
        duration: row.max_end_ms.get() - row.min_start_ms.get(),
        total_chunks: row.total_chunks,
        total_words: row.total_words,
        speakers: row.speakers,
        languages: row.languages,
        bucket_count: row.bucket_count,
    })
}
