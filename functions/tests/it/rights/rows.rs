//! The table: what every kind of caller is answered by every function, with arguments that are right.

use serde_json::{Value, json};

use super::fixture::{Ids, Who, offline};
use crate::support::{onboarding, with};

/// What a caller is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cell {
    /// He is let in.
    Yes,
    /// `UNAUTHENTICATED`.
    Login,
    /// `FORBIDDEN`: no place in the meeting.
    NoPlace,
    /// `FORBIDDEN`: a place, and no host's.
    NoHost,
    /// `FORBIDDEN`: no rights over the person or the thing.
    NoRight,
    /// `FORBIDDEN`: a deploy key that acts as nobody.
    ActAs,
    /// `NOT_FOUND`: it can only be one's own, and it is not.
    Absent(&'static str),
}

impl Cell {
    /// Code and sentence of the refusal.
    pub(super) fn refusal(self) -> Option<(&'static str, &'static str)> {
        match self {
            Yes => None,
            Login => Some(("UNAUTHENTICATED", "Authentication required")),
            NoPlace => Some(("FORBIDDEN", "Access denied: Not a meeting participant")),
            NoHost => Some(("FORBIDDEN", "Requires host role")),
            NoRight => Some(("FORBIDDEN", "Access denied: Insufficient permissions")),
            ActAs => Some(("FORBIDDEN", "Deploy key must act as a user")),
            Absent(message) => Some(("NOT_FOUND", message)),
        }
    }
}

use Cell::{Absent, ActAs, Login, NoHost, NoPlace, NoRight, Yes};

/// A function, a call of it, and what each of [`Who::ALL`] is answered.
pub(super) struct Row {
    pub path: &'static str,
    pub args: Value,
    cells: Cells,
    /// What the same caller calls first, so that there is something of his own.
    pub before: Option<(&'static str, Value)>,
}

impl Row {
    /// What this caller is answered.
    pub(super) fn cell(&self, who: Who) -> Cell {
        let place = Who::ALL.iter().position(|one| *one == who).expect("all are listed");
        self.cells[place]
    }
}

type Cells = [Cell; Who::ALL.len()];

// The cells stand in this order:
//                      nobody stranger  participant former  removed  host  admin    of another org  deploy key
const USERS: Cells = [Login, Yes, Yes, Yes, Yes, Yes, Yes, Yes, ActAs];
const USERS_AND_KEYS: Cells = [Login, Yes, Yes, Yes, Yes, Yes, Yes, Yes, Yes];
const PLACED: Cells = [Login, NoPlace, Yes, Yes, NoPlace, Yes, NoPlace, NoPlace, ActAs];
const HOSTS: Cells = [Login, NoPlace, NoHost, NoHost, NoPlace, Yes, NoPlace, NoPlace, ActAs];
const ADMINS: Cells = [Login, NoRight, NoRight, NoRight, NoRight, NoRight, Yes, NoRight, Yes];
const KEYS: Cells = [Login, NoRight, NoRight, NoRight, NoRight, NoRight, NoRight, NoRight, Yes];
/// For what an admin may ask about his own organization, whichever that is.
const ALL_ADMINS: Cells = [Login, NoRight, NoRight, NoRight, NoRight, NoRight, Yes, Yes, Yes];
/// For a profile of the participant's.
const OWNER_AND_ADMINS: Cells = [Login, NoRight, Yes, NoRight, NoRight, NoRight, Yes, NoRight, Yes];
/// For the public profile of the participant: who is in his organization, or was in the meeting with him.
const ACQUAINTED: Cells = [Login, NoRight, Yes, Yes, NoRight, Yes, Yes, NoRight, ActAs];
/// For a transcript chunk of the participant's.
const SPEAKER: Cells = [Login, NoPlace, Yes, NoHost, NoPlace, Yes, NoPlace, NoPlace, Yes];
/// For closing a session of the participant's.
const SESSION_OR_HOST: Cells = [Login, NoPlace, Yes, NoHost, NoPlace, Yes, NoPlace, NoPlace, ActAs];
const SESSION: Cells = own_in_meeting(Absent("Media session not found"));
const INSIGHT: Cells = own(Absent("Insight not found"));
const PROMPT: Cells = own(Absent("Prompt not found"));
const MATCH: Cells = {
    let mut cells = own(Absent("Match not found"));
    cells[5] = Yes;
    cells
};

/// For a thing of the participant's, wherever it is.
const fn own(absent: Cell) -> Cells {
    [Login, absent, Yes, absent, absent, absent, absent, absent, ActAs]
}

/// For a thing of the participant's in the meeting.
const fn own_in_meeting(absent: Cell) -> Cells {
    [Login, NoPlace, Yes, absent, NoPlace, absent, NoPlace, NoPlace, ActAs]
}

fn row(path: &'static str, cells: Cells, args: Value) -> Row {
    Row { path, args, cells, before: None }
}

/// All rows, for the things of one fixture.
pub(super) fn rows(ids: &Ids) -> Vec<Row> {
    let mut rows = people(ids);
    rows.extend(meetings(ids));
    rows.extend(media(ids));
    rows.extend(notes(ids));
    rows.extend(texts(ids));
    rows.extend(matching(ids));
    rows.extend(figures(ids));
    rows
}

fn people(ids: &Ids) -> Vec<Row> {
    let user = json!({"userId": ids.participant});
    let entry = json!({"key": "bee-keeping", "label": "Bee keeping", "category": "personal"});
    vec![
        row("users/mutations/saveOnboarding", USERS, onboarding()),
        row("users/mutations/updateLastSeen", USERS, json!({})),
        row("users/mutations/updateUserProfile", OWNER_AND_ADMINS, with(user.clone(), json!({"bio": "x"}))),
        row(
            "users/mutations/updateUserInterests",
            OWNER_AND_ADMINS,
            with(user.clone(), json!({"interests": ["chess"]})),
        ),
        row("users/mutations/deactivateUser", ADMINS, user.clone()),
        row("users/mutations/reactivateUser", ADMINS, user.clone()),
        row("users/queries/getCurrentUser", USERS, json!({})),
        row("users/queries/getOnboardingState", USERS, json!({})),
        row("profiles/queries/getCurrentUserProfile", USERS, json!({})),
        row("profiles/queries/getPublicProfile", ACQUAINTED, user),
        row("interests/queries/listCatalog", USERS, json!({})),
        row("interests/queries/getUserInterests", USERS, json!({})),
        row("interests/mutations/upsertCatalogEntry", KEYS, entry),
        row("interests/mutations/removeCatalogEntry", KEYS, json!({"key": "chess"})),
        row("interests/migrations/labelInterests", KEYS, json!({})),
        row("interests/migrations/rekeyInterests", KEYS, json!({})),
        row("users/migrations/normalizeEmails", KEYS, json!({})),
        row("meetings/migrations/normalizeInvitations", KEYS, json!({})),
    ]
}

fn meetings(ids: &Ids) -> Vec<Row> {
    let (meeting, planned) = (json!({"meetingId": ids.meeting}), json!({"meetingId": ids.planned}));
    let user = with(meeting.clone(), json!({"userId": ids.participant}));
    let stranger = with(meeting.clone(), json!({"userId": ids.stranger}));
    let address = with(meeting.clone(), json!({"email": "somebody@example.com"}));
    let joined = with(meeting.clone(), json!({"presence": "joined"}));
    vec![
        row("meetings/lifecycle/createMeeting", USERS, json!({"title": "Planning"})),
        row("meetings/lifecycle/startMeeting", HOSTS, planned.clone()),
        row("meetings/lifecycle/endMeeting", HOSTS, meeting.clone()),
        row("meetings/lifecycle/cancelMeeting", HOSTS, planned.clone()),
        row("meetings/lifecycle/joinMeeting", PLACED, meeting.clone()),
        row("meetings/lifecycle/leaveMeeting", PLACED, meeting.clone()),
        row("meetings/lifecycle/leaveMeeting", PLACED, planned.clone()),
        row("meetings/lifecycle/updateMeeting", HOSTS, with(meeting.clone(), json!({"title": "Another"}))),
        row("meetings/lifecycle/updateMeeting", HOSTS, with(planned.clone(), json!({"title": "Another"}))),
        row("meetings/lifecycle/addParticipant", HOSTS, stranger),
        row("meetings/lifecycle/addParticipant", HOSTS, address),
        row("meetings/lifecycle/removeParticipant", HOSTS, user.clone()),
        row("meetings/lifecycle/updateParticipantRole", HOSTS, with(user.clone(), json!({"newRole": "host"}))),
        row("meetings/lifecycle/getMeetingConnectionInfo", PLACED, meeting.clone()),
        row("meetings/admin/assignHost", ADMINS, user),
        row("meetings/queries/listMeetingParticipants", PLACED, meeting.clone()),
        row("meetings/queries/listPresence", PLACED, meeting.clone()),
        row("meetings/queries/getMeeting", PLACED, meeting.clone()),
        row("meetings/queries/getMeeting", PLACED, planned),
        row("meetings/queries/listUserMeetings", USERS, json!({})),
        row("realtime/batchedOperations/batchUpdatePresence", PLACED, joined),
    ]
}

fn media(ids: &Ids) -> Vec<Row> {
    let meeting = json!({"meetingId": ids.meeting});
    let own = with(meeting.clone(), json!({"sessionId": ids.session}));
    let fresh = with(meeting.clone(), json!({"sessionId": "fresh"}));
    let signal = with(own.clone(), json!({"kind": "ice", "payload": {"candidate": ""}}));
    vec![
        row("meetings/webrtc/rooms/generateParticipantAccessToken", PLACED, meeting.clone()),
        row("meetings/webrtc/index/updateSessionState", PLACED, with(fresh.clone(), json!({"state": "connected"}))),
        row("meetings/webrtc/index/updateSessionState", SESSION_OR_HOST, with(own.clone(), json!({"state": "closed"}))),
        row("meetings/webrtc/signaling/getActiveSessions", PLACED, meeting.clone()),
        row("meetings/webrtc/signaling/createSession", PLACED, fresh),
        row("meetings/webrtc/signaling/closeSession", SESSION, own),
        row("meetings/webrtc/signaling/sendSignal", SESSION, signal),
        row("meetings/webrtc/signaling/listSignals", PLACED, meeting),
        row("meetings/webrtc/signaling/acknowledgeSignals", USERS, json!({"signalIds": [ids.signal]})),
    ]
}

fn notes(ids: &Ids) -> Vec<Row> {
    let meeting = json!({"meetingId": ids.meeting});
    let client = with(meeting.clone(), json!({"clientId": ids.client}));
    let edit = json!({"type": "insert", "position": 0, "content": "x"});
    let queued = json!({"operations": [offline(&ids.client, "offline-2", &ids.participant)]});
    vec![
        row(
            "notes/index/applyNoteOperation",
            PLACED,
            with(meeting.clone(), json!({"clientSequence": 1, "operation": edit})),
        ),
        row(
            "notes/index/batchApplyNoteOperations",
            PLACED,
            with(meeting.clone(), json!({"operations": [{"operation": edit}]})),
        ),
        row("notes/index/rollbackToSequence", HOSTS, with(meeting.clone(), json!({"targetSequence": 0}))),
        row("notes/queries/getMeetingNotes", PLACED, meeting.clone()),
        row("notes/queries/listNoteOperations", PLACED, meeting),
        row("notes/offline/queueOfflineOperations", PLACED, with(client.clone(), queued)),
        row("notes/offline/syncOfflineOperations", PLACED, client.clone()),
        row("notes/offline/clearSyncedOperations", PLACED, client.clone()),
        row("notes/offline/getOfflineQueueStatus", PLACED, client.clone()),
        row("notes/offline/retryFailedOperations", PLACED, client),
    ]
}

fn texts(ids: &Ids) -> Vec<Row> {
    let meeting = json!({"meetingId": ids.meeting});
    let said = json!({"text": "Good morning.", "confidence": 1, "startTime": 1, "endTime": 2});
    let named = with(said.clone(), json!({"speakerId": ids.participant}));
    let chunks = |chunk: &Value| with(meeting.clone(), json!({"chunks": [chunk]}));
    let mut rows = vec![
        row("transcripts/ingestion/ingestTranscriptChunk", SPEAKER, with(meeting.clone(), named.clone())),
        row("transcripts/ingestion/ingestTranscriptChunks", SPEAKER, chunks(&named)),
        row("transcripts/ingestion/getTranscriptStats", PLACED, meeting.clone()),
        row("transcripts/queries/listTranscriptChunks", PLACED, meeting.clone()),
        row("insights/index/generateInsights", PLACED, meeting.clone()),
        row("insights/queries/getMeetingInsights", PLACED, meeting.clone()),
        row("insights/queries/listUserInsights", USERS, json!({})),
        row("insights/mutations/deleteInsight", INSIGHT, json!({"insightId": ids.insight})),
        row("prompts/queries/getPreCallPrompts", PLACED, meeting.clone()),
        row("prompts/queries/getInCallPrompts", PLACED, meeting.clone()),
        row("prompts/mutations/recordPromptFeedback", PROMPT, json!({"promptId": ids.prompt, "feedback": "used"})),
    ];
    for kind in ["pre-call", "in-call"] {
        rows.push(row("prompts/generation/generatePrompts", PLACED, with(meeting.clone(), json!({"kind": kind}))));
    }
    rows
}

fn matching(ids: &Ids) -> Vec<Row> {
    let matched = json!({"matchId": ids.matched});
    let pair = json!({"user1Id": ids.participant, "user2Id": ids.host});
    let enter = json!({
        "availableFrom": START_MS, "availableTo": START_MS + 3_600_000, "constraints": {"interests": [], "roles": []},
    });
    let queue = "matching/index/enterMatchingQueue";
    vec![
        row(queue, USERS, enter.clone()),
        Row { before: Some((queue, enter)), ..row("matching/queue/cancelQueueEntry", USERS, json!({})) },
        row("matching/queue/getQueueStatus", USERS, json!({})),
        row("matching/queries/getMatch", MATCH, matched.clone()),
        row("matching/analytics/getMatchHistory", USERS, json!({})),
        row("matching/analytics/getMatchingStats", USERS, json!({})),
        row("matching/analytics/submitMatchFeedback", MATCH, with(matched.clone(), json!({"outcome": "completed"}))),
        row("matching/lifecycle/createMatchMeeting", MATCH, matched),
        row("matching/engine/runMatchingCycle", KEYS, json!({})),
        row("matching/scoring/calculateCompatibilityScore", ADMINS, pair),
    ]
}

/// When a test begins, ms.
const START_MS: i64 = convoke::testing::START.get();

fn figures(ids: &Ids) -> Vec<Row> {
    let subscription = json!({"subscriptionId": ids.subscription});
    let lease = json!({"lastValidated": START_MS, "resourceId": ids.meeting, "resourceType": "notes"});
    vec![
        // Who has no place is told so in the result.
        row("realtime/subscriptions/validateSubscription", USERS, with(lease, subscription.clone())),
        row("realtime/subscriptions/terminateSubscription", USERS, subscription.clone()),
        row("monitoring/performanceQueries/getPerformanceTrends", USERS_AND_KEYS, json!({})),
        row("monitoring/performanceQueries/getFunctionBreakdown", USERS_AND_KEYS, json!({})),
        row("monitoring/performanceQueries/getSubscriptionMetrics", USERS_AND_KEYS, subscription),
        row("system/audit/listAuditEntries", ALL_ADMINS, json!({})),
    ]
}
