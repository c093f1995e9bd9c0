//! An active and a planned meeting, with users in every relation to them, and one object of every kind that a call can
//! name.

use convoke::prelude::*;
use convoke::testing::{TestApp, TestCaller};
use convoke::{args, mutation, value};
use schema::{
    Fingerprint, Insight, Match, MatchFeatures, MatchOutcome, MatchStatus, Meeting, Outcome, Prompt, PromptKind, Score,
    User,
};
use serde_json::{Value, json};

use crate::support::{admin, claims, create, emails, id_of, member, system, upload, with};

/// The callers. Their relation is the same to both meetings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    /// Without credentials.
    Nobody,
    /// A user without an organization, in no meeting.
    Stranger,
    /// A present participant.
    Participant,
    /// A participant who left.
    Former,
    /// A user who was removed.
    Removed,
    /// The organizer, who is present.
    Host,
    /// An admin of the organization of host and participant, in no meeting.
    Admin,
    /// An admin of another organization.
    ForeignAdmin,
    /// A deploy key without a user.
    Key,
}

impl Who {
    /// All callers, in the order of a row's cells.
    pub(super) const ALL: [Who; 9] = [
        Who::Nobody,
        Who::Stranger,
        Who::Participant,
        Who::Former,
        Who::Removed,
        Who::Host,
        Who::Admin,
        Who::ForeignAdmin,
        Who::Key,
    ];
}

/// Objects that a call can name. Unless noted otherwise, they belong to the participant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    /// The active meeting.
    pub meeting: String,
    /// The planned meeting.
    pub planned: String,
    pub participant: String,
    pub stranger: String,
    pub host: String,
    /// The host's session for signals.
    pub host_session: String,
    pub session: String,
    /// From the host to the participant.
    pub signal: String,
    /// The operation that wrote the notes.
    pub operation: String,
    /// The client with one operation in its offline queue, `offline-1`.
    pub client: String,
    /// A subscription to the meeting's notes.
    pub subscription: String,
    pub insight: String,
    pub prompt: String,
    /// The match of participant and host.
    pub matched: String,
    /// A file of the meeting.
    pub attachment: String,
    /// An upload of the participant for the meeting.
    pub upload: String,
    /// A disabled webhook endpoint of the admin's organization.
    pub endpoint: String,
}

/// An app with all of them.
pub(super) struct Fixture {
    pub app: TestApp,
    pub ids: Ids,
}

impl Fixture {
    /// Creates a new one.
    pub(super) fn new() -> Self {
        let mut fixture = Self { app: TestApp::new(), ids: Ids::default() };
        fixture.meet();
        fixture.connect();
        fixture.write();
        fixture.put();
        fixture.attach();
        fixture.subscribe();
        fixture
    }

    /// Returns a caller.
    pub(super) fn caller(&self, who: Who) -> TestCaller<'_> {
        let app = &self.app;
        match who {
            Who::Nobody => app.nobody(),
            Who::Stranger => app.identity(claims("stranger")),
            Who::Participant => member(app, "participant", "north"),
            Who::Former => app.identity(claims("former")),
            Who::Removed => app.identity(claims("removed")),
            Who::Host => member(app, "host", "north"),
            Who::Admin => admin(app, "admin", "north"),
            Who::ForeignAdmin => admin(app, "foreign-admin", "south"),
            Who::Key => app.deploy_key(&["functions"]),
        }
    }

    /// Returns the deploy key, acting as the user with this subject.
    pub(super) fn key_as(&self, subject: &str) -> TestCaller<'_> {
        self.app.deploy_key(&["functions", "act-as"]).acting_as(subject)
    }

    fn call(&self, who: Who, path: &str, args: Value) -> Value {
        self.caller(who).call(path, args).value().clone()
    }

    fn meet(&mut self) {
        for who in Who::ALL.into_iter().filter(|who| !matches!(who, Who::Nobody | Who::Key)) {
            let id = id_of(&self.caller(who));
            match who {
                Who::Participant => self.ids.participant = id,
                Who::Stranger => self.ids.stranger = id,
                Who::Host => self.ids.host = id,
                Who::Nobody | Who::Former | Who::Removed | Who::Admin | Who::ForeignAdmin | Who::Key => {}
            }
        }
        let invited = json!({"participantEmails": emails(&["participant", "former", "removed"])});
        let later = json!({"scheduledAt": self.app.now().get() + 3_600_000});
        self.ids.meeting = create(&self.caller(Who::Host), invited.clone());
        self.ids.planned = create(&self.caller(Who::Host), with(invited, later));
        for who in [Who::Host, Who::Participant, Who::Former, Who::Removed] {
            self.call(who, "meetings/lifecycle/joinMeeting", json!({"meetingId": self.ids.meeting}));
        }
        for meeting in [&self.ids.meeting, &self.ids.planned] {
            self.call(Who::Former, "meetings/lifecycle/leaveMeeting", json!({"meetingId": meeting}));
            let removed = json!({"meetingId": meeting, "userId": "removed"});
            self.call(Who::Host, "meetings/lifecycle/removeParticipant", removed);
        }
    }

    fn connect(&mut self) {
        self.ids.session = "participant-1".to_owned();
        self.ids.host_session = "host-1".to_owned();
        let meeting = &self.ids.meeting;
        for (who, session) in [(Who::Participant, &self.ids.session), (Who::Host, &self.ids.host_session)] {
            let session = json!({"meetingId": meeting, "sessionId": session});
            self.call(who, "meetings/webrtc/signaling/createSession", session);
        }
        let signal = json!({
            "meetingId": meeting, "sessionId": self.ids.host_session, "toUserId": self.ids.participant,
            "kind": "sdp", "payload": {"type": "offer"},
        });
        self.call(Who::Host, "meetings/webrtc/signaling/sendSignal", signal);
        let signals =
            self.call(Who::Participant, "meetings/webrtc/signaling/listSignals", json!({"meetingId": meeting}));
        let signal = signals[0]["_id"].as_str().unwrap().to_owned();
        let subscription = "participant-notes".to_owned();
        let lease = json!({
            "lastValidated": self.app.now().get(), "resourceId": meeting, "resourceType": "notes",
            "subscriptionId": subscription,
        });
        self.call(Who::Participant, "realtime/subscriptions/validateSubscription", lease);
        (self.ids.signal, self.ids.subscription) = (signal, subscription);
    }

    fn write(&mut self) {
        self.ids.operation = "written".to_owned();
        self.ids.client = "participant-laptop".to_owned();
        let meeting = &self.ids.meeting;
        let edit = json!({
            "meetingId": meeting, "clientSequence": 0, "operationId": self.ids.operation,
            "operation": {"type": "insert", "position": 0, "content": "Agenda"},
        });
        self.call(Who::Participant, "notes/index/applyNoteOperation", edit);
        let queued = json!({
            "meetingId": meeting, "clientId": self.ids.client,
            "operations": [offline(&self.ids.client, "offline-1", &self.ids.participant)],
        });
        self.call(Who::Participant, "notes/offline/queueOfflineOperations", queued);
    }

    fn attach(&mut self) {
        let (participant, meeting) = (self.caller(Who::Participant), &self.ids.meeting);
        let begin = "meetings/attachments/beginUpload";
        let id = upload(&self.app, &participant, begin, json!({"meetingId": meeting}), b"Agenda");
        let args = json!({"meetingId": meeting, "upload": id, "name": "agenda.txt"});
        let added = participant.call("meetings/attachments/add", args).value().clone();
        let second = upload(&self.app, &participant, begin, json!({"meetingId": meeting}), b"Minutes");
        (self.ids.attachment, self.ids.upload) = (added.as_str().unwrap().to_owned(), second);
    }

    fn subscribe(&mut self) {
        let created =
            self.call(Who::Admin, "meetings/webhooks/createEndpoint", json!({"url": "https://hooks.example.com/"}));
        self.ids.endpoint = created["endpoint"]["id"].as_str().unwrap().to_owned();
        // A disabled endpoint receives nothing of the meetings that the tests end.
        let disabled = json!({"endpointId": self.ids.endpoint, "enabled": false});
        self.call(Who::Admin, "meetings/webhooks/updateEndpoint", disabled);
    }

    fn put(&mut self) {
        let args = json!({"meetingId": self.ids.meeting, "userId": self.ids.participant, "partnerId": self.ids.host});
        let put = system(&self.app).call("rights/fixture/putOwned", args).value().clone();
        let id = |name: &str| put[name].as_str().unwrap().to_owned();
        (self.ids.insight, self.ids.prompt, self.ids.matched) = (id("insightId"), id("promptId"), id("matchId"));
    }
}

/// Returns an operation of an offline client, with this author in its arguments.
pub(crate) fn offline(client: &str, id: &str, author: &str) -> Value {
    json!({
        "id": id, "clientId": client, "authorId": author, "attempts": 0, "position": 0, "queuedAt": 0, "sequence": 1,
        "timestamp": 0, "status": "pending", "type": "insert", "content": "Then. ",
    })
}

/// Arguments of [`put_owned`].
#[args]
pub(super) struct PutOwned {
    pub meeting_id: Id<Meeting>,
    pub user_id: Id<User>,
    pub partner_id: Id<User>,
}

/// The result of [`put_owned`].
#[value(output)]
pub(super) struct Owned {
    pub insight_id: Id<Insight>,
    pub prompt_id: Id<Prompt>,
    pub match_id: Id<Match>,
}

/// Inserts an insight and a prompt of a user, and a match with another user.
#[mutation]
pub(super) fn put_owned(ctx: &mut MutationCtx, args: PutOwned) -> Result<Owned> {
    let PutOwned { meeting_id, user_id, partner_id } = args;
    let (now, half) = (ctx.now(), Score::clamped(0.5));
    let insight = ctx.db_mut().insert(Insight {
        user_id,
        meeting_id,
        summary: "It was about the agenda.".to_owned(),
        action_items: Vec::new(),
        action_item_details: None,
        recommendations: Vec::new(),
        links: Vec::new(),
        generator: "test/1".to_owned(),
        source_hash: Fingerprint::of(&"material"),
        updated_at: now,
    })?;
    let prompt = ctx.db_mut().insert(Prompt {
        meeting_id,
        user_id,
        kind: PromptKind::InCall,
        content: "What comes next?".to_owned(),
        relevance: half,
        tags: Vec::new(),
        feedback: None,
        feedback_at: None,
    })?;
    let features = MatchFeatures {
        interest_overlap: half,
        experience_gap: half,
        industry_match: half,
        timezone_compatibility: half,
        vector_similarity: half,
        org_constraint_match: half,
        language_overlap: half,
        role_complementarity: half,
    };
    let matched = ctx.db_mut().insert(Match {
        user_a: user_id.min(partner_id),
        user_b: user_id.max(partner_id),
        score: half,
        features,
        explanation: Vec::new(),
        window_from: now,
        window_to: now + std::time::Duration::from_secs(3_600),
        status: MatchStatus::Proposed,
        meeting_id: None,
    })?;
    for user_id in [user_id, partner_id] {
        ctx.db_mut().insert(MatchOutcome {
            match_id: matched,
            user_id,
            outcome: Outcome::Accepted,
            rating: None,
            comments: None,
            declined_at: None,
            updated_at: now,
        })?;
    }
    Ok(Owned { insight_id: insight, prompt_id: prompt, match_id: matched })
}
