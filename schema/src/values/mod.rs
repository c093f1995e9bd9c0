//! Value types. Each has one rule with its message, its JSON schema and its stored form.

mod email;
mod files;
mod insights;
mod interests;
mod json;
mod list;
mod matching;
mod media;
mod meetings;
mod metadata;
mod monitoring;
mod notes;
mod numbers;
mod paging;
mod people;
mod prompts;
mod references;
mod tokens;
mod transcripts;
mod url;

pub use email::{EmailAddress, ParticipantEmail};
pub use files::FileName;
pub use insights::{ActionItemDetail, InsightLink, IsoDate, LinkSource, Recommendation, RecommendationKind};
pub use interests::{IconName, InterestCategory, InterestId, InterestKey, InterestName, InterestRef};
pub use json::Details;
pub use list::List;
pub use matching::{
    Comments, MatchConstraints, MatchFeatures, MatchStatus, OrgConstraint, Outcome, QueueStatus, WantedInterest,
    WantedRole,
};
pub use media::{ConnectionQuality, SessionState, SignalKind, SignalPayload};
pub use meetings::{
    MaxParticipants, MeetingDescription, MeetingDuration, MeetingState, MeetingTitle, MeetingType, Presence,
    PresenceChange, Role, VideoProvider,
};
pub use metadata::{Metadata, MetadataValue};
pub use monitoring::{BucketSize, FunctionName, ResourceId, ResourceType, TimeWindow};
pub use notes::{NoteEdit, NoteEditInput, OfflineStatus, OperationId, OperationType, RollbackReason};
pub use numbers::{Confidence, Natural, Rating, Score};
pub use paging::{Limit, Offset};
pub use people::{
    Age, Bio, DisplayName, Experience, Gender, Goals, LanguageName, OnboardingBio, ShortText, distinct_languages,
};
pub use prompts::{PromptFeedback, PromptKind};
pub use references::{Actor, UserRef};
pub use tokens::{ClientToken, Fingerprint, IdempotencyKey};
pub use transcripts::{ChunkText, LanguageTag};
pub use url::{HttpUrl, UrlOrEmpty};
