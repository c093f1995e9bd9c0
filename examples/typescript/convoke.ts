// The typed client of a server's functions, made by `convoke codegen typescript`. Do not edit it: make it again.
//
//   import { createClient, isConvokeError } from "./convoke";
//
//   const client = createClient({ url: "https://api.example.com", token: () => session.token });
//   const user = await client.users.queries.getCurrentUser();          // rejects with a ConvokeError
//   const looked = await client.users.queries.getCurrentUser.safe();   // { ok: true, value } or { ok: false, error }
//
// It needs `fetch` (Node.js 18, or any browser) and nothing else; in tsconfig.json, `lib` with "ES2022" and "DOM".
// What is safe to repeat is repeated when it may pass: queries, calls with an `idempotencyKey`, and whatever certainly
// did not run. Nothing else is ever sent twice.

// ---- The functions, by their path ----------------------------------------------------------------------------------

/** Every function of the server that can be called from outside. */
export interface Client {
  readonly insights: {
    readonly index: {
      /**
       * Makes the insights of everybody in a meeting from its transcript and notes. Those that were made from the same stay
       * as they are. Without a word said or written, and before the meeting begins, nothing is made.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting.
       * - `FAILED_PRECONDITION`: the meeting was cancelled.
       * - `UNAVAILABLE`: another call has been at it for 25 s.
       * - `PROVIDER_ERROR`, `TIMEOUT`: a provider is configured without fallback, and failed.
       */
      readonly generateInsights: ServerFunction<"action", GenerateInsights, InsightsGenerated>;
    };
    readonly mutations: {
      /**
       * Deletes the caller's insights of a meeting. Whoever has the meeting's insights made again gets him new ones.
       *
       * **Errors**
       * `NOT_FOUND`: the caller has no such insights.
       */
      readonly deleteInsight: ServerFunction<"mutation", DeleteInsight, null>;
    };
    readonly queries: {
      /**
       * The caller's insights of a meeting; null before there are any.
       *
       * **Errors**
       * `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly getMeetingInsights: ServerFunction<"query", OfMeeting, OwnInsight | null>;
      /**
       * The caller's insights of all meetings, oldest first.
       *
       * Also of meetings that he was removed from since, whose insights stay his.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly listUserInsights: EasyServerFunction<"query", ListUserInsights, PageOfOwnInsight>;
    };
  };
  readonly interests: {
    readonly mutations: {
      /**
       * Removes an interest that no user has.
       *
       * **Errors**
       * `FORBIDDEN`: not called with a deploy key. `NOT_FOUND`: there is none. `FAILED_PRECONDITION`: users have it;
       * `usageCount` says how many.
       *
       * For a deploy key or an identity with the role `admin`.
       */
      readonly removeCatalogEntry: ServerFunction<"mutation", RemoveCatalogEntry, null>;
      /**
       * Adds an interest to the catalog, or changes how one is shown. One that a user made becomes everybody's.
       *
       * **Errors**
       * `FORBIDDEN`: not called with a deploy key.
       *
       * For a deploy key or an identity with the role `admin`.
       */
      readonly upsertCatalogEntry: ServerFunction<"mutation", UpsertCatalogEntry, null>;
    };
    readonly queries: {
      /**
       * The caller's interests, in the order he got them.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly getUserInterests: EasyServerFunction<"query", NoArgs, OwnInterest[]>;
      /**
       * The catalog by key: the built-in interests, one's own, and those of other users that five users have.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly listCatalog: EasyServerFunction<"query", ListCatalog, PageOfCatalogItem>;
    };
  };
  readonly matching: {
    readonly analytics: {
      /**
       * The caller's matches, newest first.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly getMatchHistory: EasyServerFunction<"query", GetMatchHistory, HistoryEntry[]>;
      /**
       * How the caller's matches went.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly getMatchingStats: EasyServerFunction<"query", NoArgs, MatchingStats>;
      /**
       * Says whether the caller will be there, will not, or was; and how it was.
       *
       * **Errors**
       * - `NOT_FOUND`: the caller has no such match.
       * - `FAILED_PRECONDITION`: a completed outcome is final; a declined one cannot be completed; outcomes change only
       *   until the match's time has passed; a match cannot be taken up again while one of the two has another open one.
       */
      readonly submitMatchFeedback: ServerFunction<"mutation", SubmitMatchFeedback, null>;
    };
    readonly engine: {
      /**
       * Runs the matcher now.
       *
       * **Errors**
       * `FORBIDDEN`: anybody but a deploy key calls.
       *
       * For a deploy key or an identity with the role `admin`.
       */
      readonly runMatchingCycle: EasyServerFunction<"action", RunMatchingCycle, MatchingCycle>;
    };
    readonly index: {
      /**
       * Lets the caller wait for somebody who fits, and wakes the matcher. Returns the id of his entry in the queue.
       *
       * **Errors**
       * - `INVALID_ARGUMENT`: "Availability end time must be after start time", "Availability window cannot start in the
       *   past", "Availability window cannot exceed 30 days"; one that starts more than 30 days ahead.
       * - `CONFLICT`: "User is already in the matching queue", with `queueId`.
       * - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
       *
       * With an `idempotencyKey` it is repeated when its answer is lost; without one it is sent once.
       */
      readonly enterMatchingQueue: ServerFunction<"mutation", EnterMatchingQueue, QueueId>;
    };
    readonly lifecycle: {
      /**
       * Makes the meeting of an open match: one-on-one, when both are free, both hosts. Once: a repetition, by either,
       * returns the same.
       *
       * **Errors**
       * - `NOT_FOUND`: the caller has no such match.
       * - `FAILED_PRECONDITION`: "Match is not open".
       */
      readonly createMatchMeeting: ServerFunction<"mutation", OneMatch, MeetingCreated>;
    };
    readonly queries: {
      /**
       * One of the caller's matches, with who the other is.
       *
       * **Errors**
       * `NOT_FOUND`: the caller has no such match.
       */
      readonly getMatch: ServerFunction<"query", OneMatch, ShownMatch>;
    };
    readonly queue: {
      /**
       * Takes the caller out of the matching queue; when that was done already, nothing happens.
       *
       * **Errors**
       * - `NOT_FOUND`: he never was in it.
       * - `FAILED_PRECONDITION`: his newest entry was matched or has expired.
       */
      readonly cancelQueueEntry: EasyServerFunction<"mutation", NoArgs, null>;
      /**
       * The caller's newest entry in the matching queue, or null if he never was in it.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly getQueueStatus: EasyServerFunction<"query", NoArgs, QueuePlace | null>;
    };
    readonly scoring: {
      /**
       * How well two users would fit. Without windows of time, what depends on them counts as unknown.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller is neither a deploy key nor an admin of the organization of both.
       * - `NOT_FOUND`: one of them does not exist.
       *
       * For a deploy key or an identity with the role `admin`.
       */
      readonly calculateCompatibilityScore: ServerFunction<"query", CalculateCompatibilityScore, Compatibility>;
    };
  };
  readonly meetings: {
    readonly admin: {
      /**
       * Makes a participant a host: for a meeting whose only host is gone.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller is no admin of the organization of the meeting's organizer and of the user.
       * - `NOT_FOUND`: "User not found", "Participant not found in meeting"; for a deploy key also "Meeting not found".
       *
       * For a deploy key or an identity with the role `admin`.
       */
      readonly assignHost: ServerFunction<"mutation", AssignHost, null>;
    };
    readonly lifecycle: {
      /**
       * Adds a user to a meeting, or invites an address.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller does not host it.
       * - `INVALID_ARGUMENT`: neither or both of `userId` and `email`; an invitation as host.
       * - `NOT_FOUND`: "User not found".
       * - `CONFLICT`: "User is already a participant in this meeting".
       * - `FAILED_PRECONDITION`: "Meeting is already concluded or cancelled"; the meeting has as many people as it may.
       */
      readonly addParticipant: ServerFunction<"mutation", AddParticipant, ParticipantAdded>;
      /**
       * Calls a scheduled meeting off.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller does not host it.
       * - `FAILED_PRECONDITION`: "Cannot cancel active meeting - end it instead", "Meeting is already concluded or
       *   cancelled".
       */
      readonly cancelMeeting: ServerFunction<"mutation", OneMeeting, Done>;
      /**
       * Creates a meeting that the caller hosts, and invites people to it.
       *
       * **Errors**
       * - `INVALID_ARGUMENT`: "Meeting title cannot be empty", "Maximum participants must be at least 1", "Invalid
       *   participant email: x" (`field` is `participantEmails[i]`).
       * - `FAILED_PRECONDITION`: more invitations than one user may send a day, or one address may have.
       * - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
       *
       * With an `idempotencyKey` it is repeated when its answer is lost; without one it is sent once.
       */
      readonly createMeeting: ServerFunction<"mutation", CreateMeeting, MeetingCreated>;
      /**
       * Ends an active meeting: everybody leaves, sessions close, open invitations go.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller does not host it.
       * - `FAILED_PRECONDITION`: "Can only end active meetings".
       */
      readonly endMeeting: ServerFunction<"mutation", OneMeeting, MeetingEnded>;
      /**
       * How the caller connects to a meeting.
       *
       * The media server's address, if the meeting has one, and servers that help clients find each other, with credentials
       * that last an hour.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in it.
       * - `PROVIDER_ERROR`: its media server is not configured any more.
       */
      readonly getMeetingConnectionInfo: ServerFunction<"action", OneMeeting, ConnectionInfo>;
      /**
       * Comes to an active meeting; a host who comes to a scheduled one starts it.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in it.
       * - `FAILED_PRECONDITION`: "Meeting is not currently active", "Meeting is full".
       */
      readonly joinMeeting: ServerFunction<"mutation", OneMeeting, MeetingJoined>;
      /**
       * Leaves a meeting: notes when, and closes the caller's sessions. He stays listed, and can come back while the meeting
       * is active.
       *
       * **Errors**
       * `FORBIDDEN`: the caller has no place in it.
       */
      readonly leaveMeeting: ServerFunction<"mutation", OneMeeting, Done>;
      /**
       * Removes a user from a meeting, who is a stranger to it at once, or takes an invitation back.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller does not host it.
       * - `INVALID_ARGUMENT`: neither or both of `userId` and `email`.
       * - `NOT_FOUND`: "Participant not found in meeting".
       * - `FAILED_PRECONDITION`: "Cannot remove the only host".
       */
      readonly removeParticipant: ServerFunction<"mutation", RemoveParticipant, null>;
      /**
       * Begins a scheduled meeting.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller does not host it.
       * - `FAILED_PRECONDITION`: "Meeting is already active", "Cannot start a concluded or cancelled meeting".
       */
      readonly startMeeting: ServerFunction<"mutation", OneMeeting, Done>;
      /**
       * Changes what a meeting is called, when it is planned and what is allowed in it.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller does not host it.
       * - `FAILED_PRECONDITION`: "Meeting is already concluded or cancelled"; fewer places than people who are in it; a time
       *   for a meeting that has begun.
       */
      readonly updateMeeting: ServerFunction<"mutation", UpdateMeeting, null>;
      /**
       * Makes a participant a host, or a host a participant.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller does not host the meeting.
       * - `NOT_FOUND`: "Participant not found in meeting".
       * - `FAILED_PRECONDITION`: "Cannot demote the only host".
       */
      readonly updateParticipantRole: ServerFunction<"mutation", UpdateParticipantRole, null>;
    };
    readonly queries: {
      /**
       * A meeting, with what the caller is in it and how many sessions are open.
       *
       * **Errors**
       * `FORBIDDEN`: the caller has no place in it.
       */
      readonly getMeeting: ServerFunction<"query", OneMeeting, OwnMeeting>;
      /**
       * Everybody who has a place in a meeting, in the order in which they were added.
       *
       * **Errors**
       * `FORBIDDEN`: the caller has no place in it.
       */
      readonly listMeetingParticipants: ServerFunction<"query", OneMeeting, ListedParticipant[]>;
      /**
       * The meetings that the caller has a place in, newest first. With `state`, a page can have fewer items than asked for
       * and still a cursor: the rows it passed over count as well.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly listUserMeetings: EasyServerFunction<"query", ListUserMeetings, PageOfOwnMeeting>;
    };
    readonly webrtc: {
      readonly index: {
        /**
         * Notes where a connection is and how good. One that is connected means that its owner has joined. Returns the
         * record's id. A host may close anybody's.
         *
         * **Errors**
         * - `FORBIDDEN`: the caller has no place in the meeting; "Requires host role" to close somebody else's session.
         * - `NOT_FOUND`: "Media session not found", where it is to end before it began.
         * - `CONFLICT`: "Session ID is already in use" by somebody else.
         * - `FAILED_PRECONDITION`: "Session is closed", "Meeting is not currently active", "Meeting is full", "Too many open
         *   sessions".
         */
        readonly updateSessionState: ServerFunction<"mutation", UpdateSessionState, SessionId>;
      };
      readonly rooms: {
        /**
         * Lets the caller into the meeting's room.
         *
         * Makes or renews his session and mints a token for it, another one each time. A host's first request starts a
         * scheduled meeting.
         *
         * **Errors**
         * - `FORBIDDEN`: the caller has no place in the meeting.
         * - `FAILED_PRECONDITION`: "Cannot generate token for inactive meeting", "Meeting is full", "Too many open sessions".
         * - `CONFLICT`: "Session ID is already in use" by somebody else.
         * - `PROVIDER_ERROR`: the media server of the meeting is not configured any more.
         */
        readonly generateParticipantAccessToken: ServerFunction<"action", GenerateParticipantAccessToken, AccessGrant>;
      };
      readonly signaling: {
        /**
         * Removes signals for the caller that have arrived. Ids of others, and of signals that are gone, are passed over.
         *
         * **Errors**
         * `UNAUTHENTICATED`: nobody calls.
         */
        readonly acknowledgeSignals: ServerFunction<"mutation", AcknowledgeSignals, SignalsAcknowledged>;
        /**
         * Ends a session of the caller's, in any state of the meeting.
         *
         * **Errors**
         * - `FORBIDDEN`: the caller has no place in the meeting.
         * - `NOT_FOUND`: "Media session not found", also for somebody else's.
         */
        readonly closeSession: ServerFunction<"mutation", OneSession, null>;
        /**
         * Starts a session, or a new attempt under the id of one that was closed or has failed. One that is open stays open.
         *
         * **Errors**
         * - `FORBIDDEN`: the caller has no place in the meeting.
         * - `CONFLICT`: "Session ID is already in use" by somebody else.
         * - `FAILED_PRECONDITION`: "Meeting is not currently active", "Meeting is full", "Too many open sessions".
         */
        readonly createSession: ServerFunction<"mutation", OneSession, SessionCreated>;
        /**
         * The open sessions of a meeting: connecting, connected or disconnected, oldest first.
         *
         * **Errors**
         * `FORBIDDEN`: the caller has no place in it.
         */
        readonly getActiveSessions: ServerFunction<"query", OneMeeting, ListedSession[]>;
        /**
         * The signals for the caller that he has not acknowledged, in the order in which they were sent. Fewer than asked for
         * where they would not fit one answer.
         *
         * **Errors**
         * `FORBIDDEN`: the caller has no place in the meeting.
         */
        readonly listSignals: ServerFunction<"query", ListSignals, ListedSignal[]>;
        /**
         * Sends a session description or candidate to another participant, or to all who have joined. It lies ready until it
         * is acknowledged, a day at most.
         *
         * Somebody who takes no signals is left out of those for all, so that one dead client does not silence a meeting.
         *
         * **Errors**
         * - `FORBIDDEN`: the caller has no place in the meeting.
         * - `NOT_FOUND`: "Media session not found"; "Participant not found in meeting".
         * - `FAILED_PRECONDITION`: "Session is closed"; too many recipients; too many signals that the recipient has not
         *   acknowledged.
         */
        readonly sendSignal: ServerFunction<"mutation", SendSignal, SignalSent>;
      };
    };
  };
  readonly monitoring: {
    readonly performanceQueries: {
      /**
       * How often each function was called, how long it took and how often it failed.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly getFunctionBreakdown: EasyServerFunction<"query", GetFunctionBreakdown, FunctionBreakdown>;
      /**
       * How often a function was called, how long it took and how often it failed, over time.
       *
       * **Errors**
       * - `INVALID_ARGUMENT`: "Too many buckets (max 2000)".
       * - `UNAUTHENTICATED`: nobody calls.
       */
      readonly getPerformanceTrends: EasyServerFunction<"query", GetPerformanceTrends, PerformanceTrends>;
      /**
       * How the caller's subscriptions are doing: an admin sees those of his organization, a deploy key all.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly getSubscriptionMetrics: EasyServerFunction<"query", GetSubscriptionMetrics, SubscriptionMetrics>;
    };
  };
  readonly notes: {
    readonly index: {
      /**
       * Applies one edit to a meeting's notes, moved past everything that was committed since the text it was made on.
       *
       * Positions and lengths count UTF-16 code units. Costs the same in a long document with a long log as in a new one:
       * read are the entries since the base, written are one or two pieces of the text.
       *
       * **Errors**
       * - `FAILED_PRECONDITION`: the meeting is cancelled; "Document too large".
       * - `CONFLICT`: the version is ahead, or behind and `strict`; the base lies too far behind; the id came with other
       *   content before.
       * - `INVALID_ARGUMENT`: the edit does not fit the text it was made on.
       */
      readonly applyNoteOperation: ServerFunction<"mutation", ApplyNoteOperation, NoteOperationApplied>;
      /**
       * Applies edits that were made one after the other: all of them, as one version, or none.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting.
       * - `INVALID_ARGUMENT`: an edit does not fit the text it was made on; `field` begins with `operations[i]`.
       * - `CONFLICT`: the version is ahead; the base lies too far behind for so many operations; an id is known from
       *   elsewhere than the same batch.
       * - `FAILED_PRECONDITION`: "Meeting is cancelled"; "Document too large".
       */
      readonly batchApplyNoteOperations: ServerFunction<"mutation", BatchApplyNoteOperations, NoteOperationsApplied>;
      /**
       * Makes the text what it was after an earlier entry of the log. The log only grows: what differs is deleted and
       * inserted anew, as one version; nothing is appended if the texts are equal. Hosts only, and audited.
       *
       * **Errors**
       * - `FAILED_PRECONDITION`: the meeting is cancelled.
       * - `INVALID_ARGUMENT`: there is no such entry.
       * - `CONFLICT`: the entry lies too far behind.
       */
      readonly rollbackToSequence: ServerFunction<"mutation", RollbackToSequence, NotesRolledBack>;
    };
    readonly offline: {
      /**
       * Lets the content of synced operations go, 10,000 at most in one call. Their ids stay known for some time, so that a
       * late repetition is not applied again.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly clearSyncedOperations: ServerFunction<"mutation", ClearSyncedOperations, SyncedOperationsCleared>;
      /**
       * How the offline queue of one of the caller's clients is.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly getOfflineQueueStatus: ServerFunction<"query", GetOfflineQueueStatus, OfflineQueueStatus>;
      /**
       * Takes what a client did to notes while it was offline; a second later it is applied in the background.
       *
       * Operations that were queued before are passed over, so that a call may be repeated. All are checked before any is
       * stored.
       *
       * **Errors**
       * - `INVALID_ARGUMENT`: "Too many operations (max 500)", "Invalid operation: …" (its id).
       * - `CONFLICT`: an id came with other content before; the base is ahead of the notes, or too far behind.
       * - `FORBIDDEN`: the caller has no place in the meeting.
       * - `FAILED_PRECONDITION`: "Meeting is cancelled".
       * - `RATE_LIMITED`: too many calls by this caller, or too many of this client's operations are pending.
       */
      readonly queueOfflineOperations: ServerFunction<"mutation", QueueOfflineOperations, OfflineOperationsQueued>;
      /**
       * Makes the failed operations of one of the caller's clients pending again.
       *
       * They become a chain of its own on the notes as they are now; as many as the limit of pending operations leaves room
       * for.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly retryFailedOperations: ServerFunction<"mutation", RetryFailedOperations, FailedOperationsRetried>;
      /**
       * Drains the queue of one of the caller's clients now, instead of in the background.
       *
       * Each 50 operations are one version of the notes; operations far behind the notes are fewer a call. Call it again
       * while `remainingInQueue` is not 0.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly syncOfflineOperations: ServerFunction<"mutation", SyncOfflineOperations, OfflineOperationsSynced>;
    };
    readonly queries: {
      /**
       * The notes of a meeting as they are now: the text, and where its log ends.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly getMeetingNotes: ServerFunction<"query", GetMeetingNotes, MeetingNotes>;
      /**
       * The log of a meeting's notes from one entry on.
       *
       * `limit` entries, or as many as fit a page.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly listNoteOperations: ServerFunction<"query", ListNoteOperations, NoteOperations>;
    };
  };
  readonly profiles: {
    readonly queries: {
      /**
       * The caller's own profile with all its fields, or null before there is one.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly getCurrentUserProfile: EasyServerFunction<"query", NoArgs, ProfileRow | null>;
      /**
       * What others see of a user.
       *
       * For himself, people of his organization, of a meeting that both have joined, or of a match that neither declined.
       *
       * **Errors**
       * `FORBIDDEN`: the caller has nothing to do with him, or there is no such user.
       */
      readonly getPublicProfile: ServerFunction<"query", GetPublicProfile, PublicProfile>;
    };
  };
  readonly prompts: {
    readonly generation: {
      /**
       * Makes prompts for the caller. `generated` counts the new ones; `promptIds` are all that he has now, best first,
       * without those that he dismissed.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting.
       * - `FAILED_PRECONDITION`: "Meeting is not currently active" (it is over or called off; or in-call prompts are wanted
       *   and it has not begun).
       */
      readonly generatePrompts: ServerFunction<"action", GeneratePrompts, Kept>;
    };
    readonly mutations: {
      /**
       * Says what the caller did with a prompt; the last word counts.
       *
       * **Errors**
       * `NOT_FOUND`: the caller has no such prompt.
       */
      readonly recordPromptFeedback: ServerFunction<"mutation", RecordPromptFeedback, null>;
    };
    readonly queries: {
      /**
       * The caller's prompts during a call, best first; dismissed ones are left out.
       *
       * **Errors**
       * `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly getInCallPrompts: ServerFunction<"query", GetPrompts, ShownPrompt[]>;
      /**
       * The caller's prompts before a call, best first; dismissed ones are left out.
       *
       * **Errors**
       * `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly getPreCallPrompts: ServerFunction<"query", GetPrompts, ShownPrompt[]>;
    };
  };
  readonly realtime: {
    readonly batchedOperations: {
      /**
       * The caller is there, or is gone. The latest state wins, however many are sent. A host who is there starts a
       * scheduled meeting; anybody else waits in it.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting.
       * - `FAILED_PRECONDITION`: "Meeting is not currently active" (joining one that is over or called off), "Meeting is
       *   full".
       */
      readonly batchUpdatePresence: ServerFunction<"mutation", BatchUpdatePresence, PresenceQueued>;
    };
    readonly subscriptions: {
      /**
       * Ends a subscription of the caller's. Any other id, also somebody else's, is passed over.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly terminateSubscription: ServerFunction<"mutation", TerminateSubscription, null>;
      /**
       * Confirms that the caller may go on following something. That he may not is an answer, not an error. Opens or renews
       * his lease of the subscription, which ends ten minutes after the last confirmation.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly validateSubscription: ServerFunction<"query", ValidateSubscription, SubscriptionValidity>;
    };
  };
  readonly system: {
    readonly audit: {
      /**
       * The audit, oldest first: all of it for a deploy key, that of his own organization for an admin. A page can have
       * fewer items than asked for and still a cursor: the entries it passed over count as well.
       *
       * **Errors**
       * `FORBIDDEN`: the caller is no admin.
       *
       * For a deploy key or an identity with the role `admin`.
       */
      readonly listAuditEntries: EasyServerFunction<"query", ListAuditEntries, PageOfListedEntry>;
    };
  };
  readonly transcripts: {
    readonly ingestion: {
      /**
       * The figures of a meeting's transcript; zero and empty before anything was said.
       *
       * **Errors**
       * `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly getTranscriptStats: ServerFunction<"query", GetTranscriptStats, TranscriptFigures>;
      /**
       * Adds a stretch of speech to the transcript of an active meeting.
       *
       * **Errors**
       * - `INVALID_ARGUMENT`: it ends before it begins; a deploy key that names no speaker.
       * - `FORBIDDEN`: the caller has no place in the meeting, or names another speaker without hosting it.
       * - `NOT_FOUND`: "Participant not found in meeting" for such a speaker; "Meeting not found" for a deploy key.
       * - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
       * - `FAILED_PRECONDITION`: "Meeting is not currently active", "Transcription is disabled for this meeting".
       *
       * With an `idempotencyKey` it is repeated when its answer is lost; without one it is sent once.
       */
      readonly ingestTranscriptChunk: ServerFunction<"mutation", IngestTranscriptChunk, ChunkIngested>;
      /**
       * Adds several stretches of speech to the transcript of an active meeting: all of them, or none.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller has no place in the meeting, or names another speaker without hosting it.
       * - `NOT_FOUND`: "Participant not found in meeting" for such a speaker; "Meeting not found" for a deploy key.
       * - `INVALID_ARGUMENT`: a chunk ends before it begins; a deploy key that names no speaker. `field` names the chunk.
       * - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
       * - `FAILED_PRECONDITION`: "Meeting is not currently active", "Transcription is disabled for this meeting".
       *
       * With an `idempotencyKey` it is repeated when its answer is lost; without one it is sent once.
       */
      readonly ingestTranscriptChunks: ServerFunction<"mutation", IngestTranscriptChunks, ChunksIngested>;
    };
    readonly queries: {
      /**
       * The transcript of a meeting from a place on.
       *
       * **Errors**
       * `FORBIDDEN`: the caller has no place in the meeting.
       */
      readonly listTranscriptChunks: ServerFunction<"query", ListTranscriptChunks, TranscriptChunks>;
    };
  };
  readonly users: {
    readonly mutations: {
      /**
       * Closes an account: every further call of its user is refused, what he has open ends, what he made stays.
       *
       * **Errors**
       * `FORBIDDEN`: the caller is no admin of the user's organization. `NOT_FOUND`: there is no such user.
       *
       * For a deploy key or an identity with the role `admin`.
       */
      readonly deactivateUser: ServerFunction<"mutation", NamedUser, null>;
      /**
       * Opens a closed account again.
       *
       * **Errors**
       * `FORBIDDEN`: the caller is no admin of the user's organization. `NOT_FOUND`: there is no such user.
       *
       * For a deploy key or an identity with the role `admin`.
       */
      readonly reactivateUser: ServerFunction<"mutation", NamedUser, null>;
      /**
       * Stores the caller's profile, interests and the flag that he is through, all at once.
       *
       * Creates or updates his profile with these fields, makes his interests exactly those sent (unknown ones join the
       * catalog), and marks the onboarding complete.
       *
       * **Errors**
       * - `FAILED_PRECONDITION`: the caller would have made more than 100 interests of his own.
       * - `IDEMPOTENCY_KEY_REUSED`: the key came before with other arguments.
       *
       * With an `idempotencyKey` it is repeated when its answer is lost; without one it is sent once.
       */
      readonly saveOnboarding: ServerFunction<"mutation", SaveOnboarding, OnboardingSaved>;
      /**
       * Notes that the caller is here: sets his `lastSeenAt` to now. Clients call it every minute or so.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly updateLastSeen: EasyServerFunction<"mutation", NoArgs, null>;
      /**
       * Replaces all interests of a user.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller is neither the user nor an admin of his organization.
       * - `INVALID_ARGUMENT`: "Invalid interests: x, y", and `invalid` lists those that the catalog does not have.
       */
      readonly updateUserInterests: ServerFunction<"mutation", UpdateUserInterests, null>;
      /**
       * Changes the given fields of a profile; creates the profile if there is none. Returns the profile's id.
       *
       * **Errors**
       * - `FORBIDDEN`: the caller neither owns the profile nor is an admin of its owner's organization.
       * - `INVALID_ARGUMENT`: "Display name cannot be empty", "Bio cannot exceed 1000 characters"; "Display name is required
       *   for new profiles" if neither the arguments nor the claims have one.
       */
      readonly updateUserProfile: ServerFunction<"mutation", UpdateUserProfile, ProfileId>;
    };
    readonly queries: {
      /**
       * The caller's own account, as his claims and his profile make it.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly getCurrentUser: EasyServerFunction<"query", NoArgs, OwnAccount>;
      /**
       * How far the caller's onboarding is: what a client asks before it shows its first screen.
       *
       * **Errors**
       * `UNAUTHENTICATED`: nobody calls.
       */
      readonly getOnboardingState: EasyServerFunction<"query", NoArgs, OnboardingState>;
    };
  };
}

/** A client of the server at `options.url`. It holds no connection and needs no end. */
export function createClient(options: ClientOptions): Client {
  return built(options, FUNCTIONS, "") as Client;
}

const FUNCTIONS: Tree = {
  insights: {
    index: {
      generateInsights: "action",
    },
    mutations: {
      deleteInsight: "mutation",
    },
    queries: {
      getMeetingInsights: "query",
      listUserInsights: "query",
    },
  },
  interests: {
    mutations: {
      removeCatalogEntry: "mutation",
      upsertCatalogEntry: "mutation",
    },
    queries: {
      getUserInterests: "query",
      listCatalog: "query",
    },
  },
  matching: {
    analytics: {
      getMatchHistory: "query",
      getMatchingStats: "query",
      submitMatchFeedback: "mutation",
    },
    engine: {
      runMatchingCycle: "action",
    },
    index: {
      enterMatchingQueue: "mutation",
    },
    lifecycle: {
      createMatchMeeting: "mutation",
    },
    queries: {
      getMatch: "query",
    },
    queue: {
      cancelQueueEntry: "mutation",
      getQueueStatus: "query",
    },
    scoring: {
      calculateCompatibilityScore: "query",
    },
  },
  meetings: {
    admin: {
      assignHost: "mutation",
    },
    lifecycle: {
      addParticipant: "mutation",
      cancelMeeting: "mutation",
      createMeeting: "mutation",
      endMeeting: "mutation",
      getMeetingConnectionInfo: "action",
      joinMeeting: "mutation",
      leaveMeeting: "mutation",
      removeParticipant: "mutation",
      startMeeting: "mutation",
      updateMeeting: "mutation",
      updateParticipantRole: "mutation",
    },
    queries: {
      getMeeting: "query",
      listMeetingParticipants: "query",
      listUserMeetings: "query",
    },
    webrtc: {
      index: {
        updateSessionState: "mutation",
      },
      rooms: {
        generateParticipantAccessToken: "action",
      },
      signaling: {
        acknowledgeSignals: "mutation",
        closeSession: "mutation",
        createSession: "mutation",
        getActiveSessions: "query",
        listSignals: "query",
        sendSignal: "mutation",
      },
    },
  },
  monitoring: {
    performanceQueries: {
      getFunctionBreakdown: "query",
      getPerformanceTrends: "query",
      getSubscriptionMetrics: "query",
    },
  },
  notes: {
    index: {
      applyNoteOperation: "mutation",
      batchApplyNoteOperations: "mutation",
      rollbackToSequence: "mutation",
    },
    offline: {
      clearSyncedOperations: "mutation",
      getOfflineQueueStatus: "query",
      queueOfflineOperations: "mutation",
      retryFailedOperations: "mutation",
      syncOfflineOperations: "mutation",
    },
    queries: {
      getMeetingNotes: "query",
      listNoteOperations: "query",
    },
  },
  profiles: {
    queries: {
      getCurrentUserProfile: "query",
      getPublicProfile: "query",
    },
  },
  prompts: {
    generation: {
      generatePrompts: "action",
    },
    mutations: {
      recordPromptFeedback: "mutation",
    },
    queries: {
      getInCallPrompts: "query",
      getPreCallPrompts: "query",
    },
  },
  realtime: {
    batchedOperations: {
      batchUpdatePresence: "mutation",
    },
    subscriptions: {
      terminateSubscription: "mutation",
      validateSubscription: "query",
    },
  },
  system: {
    audit: {
      listAuditEntries: "query",
    },
  },
  transcripts: {
    ingestion: {
      getTranscriptStats: "query",
      ingestTranscriptChunk: "mutation",
      ingestTranscriptChunks: "mutation",
    },
    queries: {
      listTranscriptChunks: "query",
    },
  },
  users: {
    mutations: {
      deactivateUser: "mutation",
      reactivateUser: "mutation",
      saveOnboarding: "mutation",
      updateLastSeen: "mutation",
      updateUserInterests: "mutation",
      updateUserProfile: "mutation",
    },
    queries: {
      getCurrentUser: "query",
      getOnboardingState: "query",
    },
  },
};

// ---- What they take and return -------------------------------------------------------------------------------------

/** Such as `audit_01h455vb4pex5vsknk084sn02q`. */
export type AuditId = Id<"audit">;

/** Such as `chunk_01h455vb4pex5vsknk084sn02q`. */
export type ChunkId = Id<"chunk">;

/** Such as `insight_01h455vb4pex5vsknk084sn02q`. */
export type InsightId = Id<"insight">;

/** Such as `match_01h455vb4pex5vsknk084sn02q`. */
export type MatchId = Id<"match">;

/** Such as `meeting_01h455vb4pex5vsknk084sn02q`. */
export type MeetingId = Id<"meeting">;

/** Such as `noteop_01h455vb4pex5vsknk084sn02q`. */
export type NoteopId = Id<"noteop">;

/** Such as `outcome_01h455vb4pex5vsknk084sn02q`. */
export type OutcomeId = Id<"outcome">;

/** Such as `participant_01h455vb4pex5vsknk084sn02q`. */
export type ParticipantId = Id<"participant">;

/** Such as `profile_01h455vb4pex5vsknk084sn02q`. */
export type ProfileId = Id<"profile">;

/** Such as `prompt_01h455vb4pex5vsknk084sn02q`. */
export type PromptId = Id<"prompt">;

/** Such as `queue_01h455vb4pex5vsknk084sn02q`. */
export type QueueId = Id<"queue">;

/** Such as `session_01h455vb4pex5vsknk084sn02q`. */
export type SessionId = Id<"session">;

/** Such as `signal_01h455vb4pex5vsknk084sn02q`. */
export type SignalId = Id<"signal">;

/** Such as `user_01h455vb4pex5vsknk084sn02q`. */
export type UserId = Id<"user">;

/** A way into a room. */
export interface AccessGrant {
  /**
   * The caller's identity in the room, and the id of his session.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  participantId: string;
  /** What the caller may do in the room. */
  permissions: Permissions;
  /** What carries sound and picture. */
  provider: VideoProvider;
  /** The room at the provider. */
  roomId: string;
  /** Always true: what cannot be done is an error. */
  success: boolean;
  /** For the room, in LiveKit's format. */
  token: string;
}

/** What `acknowledgeSignals` takes. */
export interface AcknowledgeSignals {
  /** Those that have arrived, by the `_id` of each. At most 1000 items. */
  signalIds: readonly SignalId[];
}

/** What `addParticipant` takes: either a user or an address. */
export interface AddParticipant {
  /** An e-mail address, trimmed and in lower case. At most 254 characters. */
  email?: string | null | undefined;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /**
   * What he is to be; an invited address can only become a participant.
   *
   * @defaultValue `"participant"`
   */
  role?: Role | null | undefined;
  /**
   * An id, or the `sub` of a token of the caller's issuer.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  userId?: string | null | undefined;
}

/** What `applyNoteOperation` takes. */
export interface ApplyNoteOperation {
  /**
   * The last sequence of the log that the client has seen: the base of the operation, unless `expectedVersion`
   * names it. One ahead of the log means the log's end.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  clientSequence: number;
  /**
   * The version of the text on which the operation was made.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  expectedVersion?: number | null | undefined;
  /**
   * The meeting whose notes change.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
  /** What is to be done. */
  operation: NoteEditInput;
  /**
   * By what a repetition of the call is known.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  operationId?: string | null | undefined;
  /**
   * Whether to refuse an operation made on an earlier version instead of transforming it.
   *
   * @defaultValue `false`
   */
  strict?: boolean | null | undefined;
}

/** What `assignHost` takes. */
export interface AssignHost {
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /**
   * A participant: an id, or the `sub` of a token of the caller's issuer.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  userId: string;
}

/** A feature and its mean. */
export interface AverageFeature {
  /** 0 … 1, over the caller's matches. */
  average: number;
  /** Its name as in a match's features. */
  feature: string;
}

/** What passed through the process. */
export interface BandwidthStats {
  /** Subscriptions that were validated. At least 0. */
  activeSubscriptions: number;
  /** How often. At least 0. */
  totalUpdates: number;
}

/** What `batchApplyNoteOperations` takes. */
export interface BatchApplyNoteOperations {
  /**
   * The version of the text on which the first operation was made; the newest if absent.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  expectedVersion?: number | null | undefined;
  /**
   * The meeting whose notes change.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
  /** The operations, each made after the one before it. 1 … 100 items. */
  operations: readonly BatchedOperation[];
}

/** What `batchUpdatePresence` takes. */
export interface BatchUpdatePresence {
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /** Replaces what was sent before; absent, that stays. */
  metadata?: Metadata | null | undefined;
  presence: PresenceChange;
}

/** One operation of a batch. */
export interface BatchedOperation {
  /** What is to be done. */
  operation: NoteEditInput;
  /**
   * By what a repetition of the batch is known.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  operationId?: string | null | undefined;
}

/** What `calculateCompatibilityScore` takes. */
export interface CalculateCompatibilityScore {
  /** What the first looks for; nothing unless told. */
  user1Constraints?: MatchConstraintsInput | null | undefined;
  /**
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * Whether it names anybody is for a function to find out: the id of a row first, else the subject of a user of the
   * caller's own issuer (a provider's subjects may themselves look like ids).
   *
   * 1 … 255 characters.
   */
  user1Id: string;
  /** What the second looks for; nothing unless told. */
  user2Constraints?: MatchConstraintsInput | null | undefined;
  /**
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * Whether it names anybody is for a function to find out: the id of a row first, else the subject of a user of the
   * caller's own issuer (a provider's subjects may themselves look like ids).
   *
   * 1 … 255 characters.
   */
  user2Id: string;
}

/** An interest of the catalog. */
export interface CatalogItem {
  category: InterestCategory;
  /** The name of a picture that stands for an interest, at most 64 characters. At most 64 characters. */
  iconName?: string;
  /** The key of a row of the catalog: 1 … 64 characters, words of `[a-z0-9]` joined by `-`, or `custom:` and such words. */
  key: string;
  /** The name of an interest as people read it: trimmed, 1 … 64 characters. */
  label: string;
  /** Users who have it now. */
  usageCount: number;
}

/** What `ingestTranscriptChunk` returns. */
export interface ChunkIngested {
  /**
   * The beginning of the five minutes it lies in.
   *
   * Milliseconds since the epoch.
   */
  bucketMs: number;
  /** Its place in the transcript; of an interim chunk the last one's. */
  sequence: number;
  /** Always true: what cannot be done is an error. */
  success: boolean;
}

/** What `ingestTranscriptChunks` returns. */
export interface ChunksIngested {
  /** The place of each in the transcript, in the order of the chunks; of an interim chunk the last one's before it. */
  sequences: number[];
  /** Always true: what cannot be done is an error. */
  success: boolean;
}

/** What `clearSyncedOperations` takes. */
export interface ClearSyncedOperations {
  /**
   * Which of the caller's clients.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  clientId: string;
  /**
   * The meeting whose notes it edited.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
  /**
   * Those are cleared that were queued at least so long ago; an hour if absent.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  olderThanMs?: number | null | undefined;
}

/** How well two users fit. */
export interface Compatibility {
  /** Why, in sentences. */
  explanation: string[];
  features: MatchFeatures;
  /** How well something fits: 0 … 1. */
  score: number;
}

/** What `getMeetingConnectionInfo` returns. */
export interface ConnectionInfo {
  /**
   * Until when the credentials are good.
   *
   * Milliseconds since the epoch.
   */
  expiresAt: number;
  /** What the meeting can do. */
  features: Features;
  /** Servers that help clients find each other, as `RTCPeerConnection` takes them. */
  iceServers: IceServer[];
  /** The room at the provider. */
  roomId: string;
  /** Where the media server is, if the meeting has one. */
  serverUrl?: string;
  /** What carries sound and picture. */
  videoProvider: VideoProvider;
}

/**
 * How good a connection is, best first.
 * - `excellent`: Nothing to wish for.
 * - `good`: Small losses that nobody notices.
 * - `fair`: Losses that one notices.
 * - `poor`: Hardly usable.
 */
export type ConnectionQuality = "excellent" | "good" | "fair" | "poor";

/** What `createMeeting` takes. */
export interface CreateMeeting {
  /** What a meeting is about, at most 5000 characters. At most 5000 characters. */
  description?: string | null | undefined;
  /**
   * For display; nothing ends a meeting by it.
   *
   * How long a meeting is planned, in milliseconds: 1 … 86,400,000 (a day). For display; nothing ends a meeting by it.
   *
   * 1 … 86400000.
   *
   * @defaultValue `1800000`
   */
  duration?: number | null | undefined;
  /**
   * A retry with the same key and the same arguments makes no second meeting and returns the first.
   *
   * Names one attempt: the same key and the same arguments give the stored result, with nothing done again.
   *
   * 1 … 255 characters.
   */
  idempotencyKey?: string | null | undefined;
  /**
   * How many can be in it at once. Absent: by `meetingType`.
   *
   * How many people a meeting has room for: 1 … 1000.
   */
  maxParticipants?: number | null | undefined;
  /** Absent: by `maxParticipants`. */
  meetingType?: MeetingType | null | undefined;
  /**
   * Whom to invite. Users with that verified address take part at once, others when they first log in with it. At most 500 items.
   *
   * @defaultValue `[]`
   */
  participantEmails?: readonly string[] | null | undefined;
  /**
   * Whether it may be recorded.
   *
   * @defaultValue `false`
   */
  recordingEnabled?: boolean | null | undefined;
  /**
   * Absent, past, or at most five minutes ahead: the meeting begins at once.
   *
   * Milliseconds since the epoch.
   */
  scheduledAt?: number | null | undefined;
  /** The title of a meeting, trimmed, 1 … 200 characters. */
  title: string;
  /**
   * Whether what is said is taken into a transcript.
   *
   * @defaultValue `true`
   */
  transcriptionEnabled?: boolean | null | undefined;
}

/** Where a page ended: opaque to clients, bound to its query. */
export type Cursor = string;

/** What `deleteInsight` takes. */
export interface DeleteInsight {
  /**
   * One of the caller's own.
   *
   * Id of a row of `insights`.
   */
  insightId: InsightId;
}

/**
 * What an audit entry tells beside who, what and whom: made by the server, never by a client.
 *
 * ```json
 * {"from": "participant", "to": "host"}
 * ```
 */
export type Details = JsonObject;

/** Says that it is done. */
export interface Done {
  /** Always true: what cannot be done is an error. */
  success: boolean;
}

/** What `enterMatchingQueue` takes. */
export interface EnterMatchingQueue {
  /**
   * Free from; up to five minutes ago counts as now.
   *
   * Milliseconds since the epoch.
   */
  availableFrom: number;
  /**
   * Free until.
   *
   * Milliseconds since the epoch.
   */
  availableTo: number;
  constraints: MatchConstraintsInput;
  /**
   * A retry with the same key and the same arguments makes no second entry and returns the first.
   *
   * Names one attempt: the same key and the same arguments give the stored result, with nothing done again.
   *
   * 1 … 255 characters.
   */
  idempotencyKey?: string | null | undefined;
}

/** What is tried again. */
export interface FailedOperationsRetried {
  /** Operations that are pending again. */
  retried: number;
}

/** What a meeting can do. */
export interface Features {
  /** How many people a meeting has room for: 1 … 1000. */
  maxParticipants: number;
  /** Whether it may be recorded. */
  recording: boolean;
  /** Whether what is said is taken into a transcript. */
  transcription: boolean;
}

/** All functions side by side. */
export interface FunctionBreakdown {
  /** Those that were called, by path. */
  functions: FunctionPerformance[];
  summary: PerformanceSummary;
}

/** The calls of one function. Latencies are in milliseconds. */
export interface FunctionPerformance {
  /** The mean over all calls. */
  avgLatency: number;
  /** How often it was called. At least 0. */
  callCount: number;
  /** How many of the calls ended with an error. At least 0. */
  errorCount: number;
  /** Its path. */
  functionName: string;
  /** Half of the calls took at most so long. */
  p50: number;
  /** 95 % of the calls took at most so long. */
  p95: number;
  /** 99 % of the calls took at most so long. */
  p99: number;
  /** Of a query: whether 95 % took at most 120 ms and 99 % at most 250 ms. Nothing is promised of the others. */
  sloCompliant: boolean;
  /** 0 … 1. */
  successRate: number;
}

/**
 * Gender, as far as somebody wants to tell.
 * - `male`: A man.
 * - `female`: A woman.
 * - `non-binary`: Neither, or both.
 * - `prefer-not-to-say`: No answer.
 */
export type Gender = "male" | "female" | "non-binary" | "prefer-not-to-say";

/** What `generateInsights` takes. */
export interface GenerateInsights {
  /**
   * Makes those anew that are up to date. Within a minute of the last time it changes nothing.
   *
   * @defaultValue `false`
   */
  forceRegenerate?: boolean | null | undefined;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
}

/** What `generateParticipantAccessToken` takes. */
export interface GenerateParticipantAccessToken {
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /**
   * The client's own name of its session, one a tab or device. Absent: a new one.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  sessionId?: string | null | undefined;
}

/** What `generatePrompts` takes. */
export interface GeneratePrompts {
  /**
   * Makes those anew that the caller said nothing about; else they stay, and only what is new is added.
   *
   * @defaultValue `false`
   */
  forceRegenerate?: boolean | null | undefined;
  kind: PromptKind;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
}

/** What `getFunctionBreakdown` takes. */
export interface GetFunctionBreakdown {
  /**
   * How far back, in milliseconds.
   *
   * How far a series goes back, in milliseconds: a second to a week.
   *
   * 1000 … 604800000.
   *
   * @defaultValue `3600000`
   */
  timeWindowMs?: number | null | undefined;
}

/** What `getMatchHistory` takes. */
export interface GetMatchHistory {
  /**
   * At most so many rows. 1 … 1000.
   *
   * @defaultValue `20`
   */
  limit?: number | null | undefined;
  /**
   * How many of the newest are passed over.
   *
   * How many rows of a list are passed over.
   *
   * 0 … 100000.
   *
   * @defaultValue `0`
   */
  offset?: number | null | undefined;
}

/** What `getMeetingNotes` takes. */
export interface GetMeetingNotes {
  /**
   * Of which meeting.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
}

/** What `getOfflineQueueStatus` takes. */
export interface GetOfflineQueueStatus {
  /**
   * Which of the caller's clients.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  clientId: string;
  /**
   * The meeting whose notes it edited.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
}

/** What `getPerformanceTrends` takes. */
export interface GetPerformanceTrends {
  /**
   * How much time one point covers, in milliseconds.
   *
   * How much time one point of a series covers, in milliseconds: a second to a day.
   *
   * 1000 … 86400000.
   *
   * @defaultValue `60000`
   */
  bucketSizeMs?: number | null | undefined;
  /**
   * A path with `/` or `:` before the function, or a function's bare name. Absent: all functions together.
   *
   * A function by its path, with `/` or `:` before its name, or by its name alone: 1 … 256 characters.
   */
  functionName?: string | null | undefined;
  /**
   * How far back the series goes, in milliseconds.
   *
   * How far a series goes back, in milliseconds: a second to a week.
   *
   * 1000 … 604800000.
   *
   * @defaultValue `3600000`
   */
  timeWindowMs?: number | null | undefined;
}

/** What `getPreCallPrompts` and `getInCallPrompts` take. */
export interface GetPrompts {
  /**
   * At most so many rows. 1 … 20.
   *
   * @defaultValue `5`
   */
  limit?: number | null | undefined;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
}

/** What `getPublicProfile` takes. */
export interface GetPublicProfile {
  /**
   * Whose profile: an id, or the `sub` of a token of the caller's issuer.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  userId: string;
}

/** What `getSubscriptionMetrics` takes. */
export interface GetSubscriptionMetrics {
  /**
   * Only this one is listed.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  subscriptionId?: string | null | undefined;
}

/** What `getTranscriptStats` takes. */
export interface GetTranscriptStats {
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
}

/** Subscriptions together. */
export interface GlobalStats {
  /** The mean over the subscriptions; 0 without any. */
  avgUpdatesPerSecond: number;
  /** Those that are not compliant. At least 0. */
  sloBreaches: number;
  /** How many there are. At least 0. */
  totalActiveSubscriptions: number;
  /** How often they were validated, all together. At least 0. */
  totalUpdates: number;
}

/** A match that the caller had. */
export interface HistoryEntry {
  /** Id of a row of `matchOutcomes`. */
  _id: OutcomeId;
  /** Milliseconds since the epoch. */
  createdAt: number;
  features: MatchFeatures;
  feedback?: MatchFeedback;
  /** Id of a row of `matches`. */
  matchId: MatchId;
  outcome: Outcome;
}

/** A server that helps connections come about, as `RTCPeerConnection` takes it. */
export interface IceServer {
  /** The password of a TURN server, good until `expiresAt`. */
  credential?: string;
  /** Its addresses, such as `turn:turn.example.org:3478`. */
  urls: string[];
  /** The user of a TURN server. */
  username?: string;
}

/** What `ingestTranscriptChunk` takes. */
export interface IngestTranscriptChunk {
  /**
   * The client's name of it: a known one of the speaker is not stored again.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  chunkId?: string | null | undefined;
  /**
   * How sure the recognizer is.
   *
   * How sure a recognizer or generator is: 0 … 1.
   */
  confidence: number;
  /**
   * When it ended: after it began.
   *
   * Milliseconds since the epoch.
   */
  endTime: number;
  /**
   * A retry with the same key and the same arguments stores nothing and returns what the first one returned.
   *
   * Names one attempt: the same key and the same arguments give the stored result, with nothing done again.
   *
   * 1 … 255 characters.
   */
  idempotencyKey?: string | null | undefined;
  /**
   * Still changing: acknowledged and not stored.
   *
   * @defaultValue `false`
   */
  isInterim?: boolean | null | undefined;
  /**
   * A language by its BCP 47 tag, in the case that RFC 5646 §2.1.1 recommends (`en-US`, `zh-Hant-TW`). 2 … 35 characters.
   *
   * @defaultValue `"en"`
   */
  language?: string | null | undefined;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /**
   * Who spoke: the caller unless told. Another one is named by a host or a deploy key.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  speakerId?: string | null | undefined;
  /**
   * When it began.
   *
   * Milliseconds since the epoch.
   */
  startTime: number;
  /** What was said, trimmed, 1 … 10,000 characters. 1 … 10000 characters. */
  text: string;
}

/** What `ingestTranscriptChunks` takes. */
export interface IngestTranscriptChunks {
  /** In the order in which they were said. 1 … 100 items. */
  chunks: readonly SentChunk[];
  /**
   * A retry with the same key and the same arguments stores nothing and returns what the first one returned.
   *
   * Names one attempt: the same key and the same arguments give the stored result, with nothing done again.
   *
   * 1 … 255 characters.
   */
  idempotencyKey?: string | null | undefined;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
}

/** An address that was said or written in the meeting. */
export interface InsightLink {
  /** What it leads to. */
  title: string;
  /** Where it stands. */
  type: LinkSource;
  /** The address. */
  url: string;
}

/** What `generateInsights` returns. */
export interface InsightsGenerated {
  /** How many were made, or made again, by this call. */
  insightsGenerated: number;
  /** The insights of all, in the order in which they were added to the meeting. Each is read by its own reader only. */
  participantInsights: InsightId[];
  /** Always true: what cannot be done is an error. */
  success: boolean;
}

/**
 * What an interest is about.
 * - `academic`: Something one studies.
 * - `industry`: A line of business.
 * - `skill`: Something one can do.
 * - `personal`: Something one likes.
 */
export type InterestCategory = "academic" | "industry" | "skill" | "personal";

/** What `keep` returns. */
export interface Kept {
  /** How many are new. */
  generated: number;
  /** All that are shown now, the most relevant first. */
  promptIds: PromptId[];
}

/**
 * Where a link stands.
 * - `transcript`: It was said.
 * - `notes`: It was written.
 */
export type LinkSource = "transcript" | "notes";

/** What `listAuditEntries` takes. What is given together must hold together. */
export interface ListAuditEntries {
  /**
   * A user's id, or `deploy-key:<name>`.
   *
   * Who did something that is audited: a user's id, `deploy-key:<name>`, or `system` for what happens by the clock.
   *
   * 1 … 255 characters.
   */
  actor?: string | null | undefined;
  /** The page after the one that returned this. */
  cursor?: Cursor | null | undefined;
  /**
   * At most so many rows. 1 … 500.
   *
   * @defaultValue `50`
   */
  limit?: number | null | undefined;
  /**
   * The id of the meeting or user, or the key of the interest.
   *
   * The resource that somebody follows, by its id: 1 … 128 characters.
   */
  resourceId?: string | null | undefined;
  /**
   * `meeting`, `user` or `interest`.
   *
   * The kind of a resource: 1 … 64 characters. Unknown ones are no mistake of form.
   */
  resourceType?: string | null | undefined;
}

/** What `listCatalog` takes. */
export interface ListCatalog {
  /** Only those of this category. */
  category?: InterestCategory | null | undefined;
  /** The page after the one that returned this. */
  cursor?: Cursor | null | undefined;
  /**
   * At most so many rows. 1 … 500.
   *
   * @defaultValue `200`
   */
  limit?: number | null | undefined;
}

/** What `listNoteOperations` takes. */
export interface ListNoteOperations {
  /**
   * The first entry to be listed; 1 if absent.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  fromSequence?: number | null | undefined;
  /**
   * How many entries at most.
   *
   * At most so many rows.
   *
   * 1 … 1000.
   *
   * @defaultValue `200`
   */
  limit?: number | null | undefined;
  /**
   * Of which meeting.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
}

/** What `listSignals` takes. */
export interface ListSignals {
  /**
   * At most so many rows. 1 … 200.
   *
   * @defaultValue `100`
   */
  limit?: number | null | undefined;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
}

/** What `listTranscriptChunks` takes. */
export interface ListTranscriptChunks {
  /**
   * The first chunk to show; the beginning unless told.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  fromSequence?: number | null | undefined;
  /**
   * At most so many rows. 1 … 500.
   *
   * @defaultValue `200`
   */
  limit?: number | null | undefined;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
}

/** What `listUserInsights` takes. */
export interface ListUserInsights {
  /** The page after the one that returned this. */
  cursor?: Cursor | null | undefined;
  /**
   * At most so many rows. 1 … 100.
   *
   * @defaultValue `50`
   */
  limit?: number | null | undefined;
}

/** What `listUserMeetings` takes. */
export interface ListUserMeetings {
  /** The page after the one that returned this. */
  cursor?: Cursor | null | undefined;
  /**
   * At most so many rows. 1 … 100.
   *
   * @defaultValue `50`
   */
  limit?: number | null | undefined;
  /** Only meetings in this state. */
  state?: MeetingState | null | undefined;
}

/** An entry of the audit. */
export interface ListedEntry {
  /** Milliseconds since the epoch. */
  _creationTime: number;
  /** Id of a row of `auditEntries`. */
  _id: AuditId;
  /** What was done, such as `participant.role`. */
  action: string;
  /**
   * A user's id, `deploy-key:<name>`, or `system`.
   *
   * Who did something that is audited: a user's id, `deploy-key:<name>`, or `system` for what happens by the clock.
   *
   * 1 … 255 characters.
   */
  actor: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** The issuer of the resource's owner. */
  issuer?: string;
  metadata: Details;
  /** The organization of the resource's owner. */
  orgId?: string;
  /** The id of what it was done to. */
  resourceId: string;
  /** The kind of what it was done to, such as `meeting`. */
  resourceType: string;
}

/** A participant as lists show one. */
export interface ListedParticipant {
  /** Milliseconds since the epoch. */
  _creationTime: number;
  /** Id of a row of `meetingParticipants`. */
  _id: ParticipantId;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /**
   * When he joined last; before the first time, when he was added.
   *
   * Milliseconds since the epoch.
   */
  joinedAt: number;
  /**
   * When he left last.
   *
   * Milliseconds since the epoch.
   */
  leftAt?: number;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  presence: Presence;
  role: Role;
  user: Person;
  /** Id of a row of `users`. */
  userId: UserId;
  /** Whether one of his sessions is connected. */
  webrtcConnected: boolean;
  /** His open sessions. At least 0. */
  webrtcSessionCount: number;
}

/** A media session as lists show one. */
export interface ListedSession {
  /** Milliseconds since the epoch. */
  _creationTime: number;
  /** Id of a row of `mediaSessions`. */
  _id: SessionId;
  /** By the last figures. */
  connectionQuality?: ConnectionQuality;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /**
   * When figures came last.
   *
   * Milliseconds since the epoch.
   */
  lastMetricsAt?: number;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /** What the client reported. Absent where it did not, and behind 4 MiB of metadata in one list. */
  metadata?: Metadata;
  /**
   * The client's own name of it.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  sessionId: string;
  state: SessionState;
  /** Milliseconds since the epoch. */
  updatedAt: number;
  user: Person;
  /** Id of a row of `users`. */
  userId: UserId;
}

/** A signal as its recipient sees it. */
export interface ListedSignal {
  /** Milliseconds since the epoch. */
  _creationTime: number;
  /** Id of a row of `signals`. */
  _id: SignalId;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`. 1 … 128 characters. */
  fromSessionId: string;
  /** Id of a row of `users`. */
  fromUserId: UserId;
  kind: SignalKind;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /** Any object of at most 65536 bytes of JSON. */
  payload: JsonObject;
}

/** An entry of the log: applied one after the other to the empty text, they make the text. */
export interface LoggedOperation {
  /** Id of a row of `noteOperations`. */
  _id: NoteopId;
  /**
   * Who did it.
   *
   * Id of a row of `users`.
   */
  authorId: UserId;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** What was done, as it was applied. */
  operation: NoteEdit;
  /**
   * The id that its author gave it: his own, or `<clientId>/<id>` if it was queued offline.
   *
   * By what an author's repeated operation is known: the client's id of it, or `<clientId>/<id>` if it was queued
   * offline. The two never collide: a `ClientToken` has no `/`.
   *
   * 1 … 257 characters.
   */
  operationId?: string;
  /** Its place in the log. */
  sequence: number;
  /** The version to which it belongs. */
  version: number;
}

/** What somebody looks for in the other; an empty list is no preference. */
export interface MatchConstraints {
  /** Interests that the other should share, at most 20. At most 20 items. */
  interests: string[];
  /**
   * Where the other should work: `any`, `same`, `different`, or the name of an organization.
   *
   * What somebody asks about the other's organization, at most 64 characters.
   *
   * At most 64 characters.
   */
  orgConstraints?: string;
  /** Roles that one has or looks for, at most 10. At most 10 items. */
  roles: string[];
}

/** What somebody looks for in the other; an empty list is no preference. */
export interface MatchConstraintsInput {
  /** Interests that the other should share, at most 20. At most 20 items. */
  interests: readonly string[];
  /**
   * Where the other should work: `any`, `same`, `different`, or the name of an organization.
   *
   * What somebody asks about the other's organization, at most 64 characters.
   *
   * At most 64 characters.
   */
  orgConstraints?: string | null | undefined;
  /** Roles that one has or looks for, at most 10. At most 10 items. */
  roles: readonly string[];
}

/** How well two users fit, feature by feature, each 0 … 1. */
export interface MatchFeatures {
  /**
   * How far apart their experience is.
   *
   * How well something fits: 0 … 1.
   */
  experienceGap: number;
  /**
   * How close their fields of work are.
   *
   * How well something fits: 0 … 1.
   */
  industryMatch: number;
  /**
   * Interests they share.
   *
   * How well something fits: 0 … 1.
   */
  interestOverlap: number;
  /**
   * Languages they share.
   *
   * How well something fits: 0 … 1.
   */
  languageOverlap: number;
  /**
   * Whether what they ask about organizations holds.
   *
   * How well something fits: 0 … 1.
   */
  orgConstraintMatch: number;
  /**
   * How well their roles go together.
   *
   * How well something fits: 0 … 1.
   */
  roleComplementarity: number;
  /**
   * How much of their time overlaps.
   *
   * How well something fits: 0 … 1.
   */
  timezoneCompatibility: number;
  /**
   * How alike what they write is.
   *
   * How well something fits: 0 … 1.
   */
  vectorSimilarity: number;
}

/** What somebody says about a match. */
export interface MatchFeedback {
  /** What somebody says about a match, at most 2000 characters. At most 2000 characters. */
  comments?: string;
  /**
   * Stars.
   *
   * Stars for a match: 1 … 5.
   */
  rating: number;
}

/** What somebody says about a match. */
export interface MatchFeedbackInput {
  /** What somebody says about a match, at most 2000 characters. At most 2000 characters. */
  comments?: string | null | undefined;
  /**
   * Stars.
   *
   * Stars for a match: 1 … 5.
   */
  rating: number;
}

/**
 * Where a match is; follows from the outcomes of its two users and the clock.
 * - `proposed`: Neither declined, and its time has not passed.
 * - `declined`: One of them declined.
 * - `completed`: Both say that it took place.
 * - `expired`: Its time has passed.
 */
export type MatchStatus = "proposed" | "declined" | "completed" | "expired";

/** What a run of the matcher came to. */
export interface MatchingCycle {
  /** How long it took, in milliseconds. */
  durationMs: number;
  /** Matches that were made; of a dry run, that would have been. */
  matched: number;
  /** `exact`, `thinned` or `greedy`. */
  method: string;
  /** The sum over the chosen pairs of a million times the score and a thousand a minute of waiting. */
  totalWeight: number;
  /** Entries that waited. */
  waiting: number;
}

/** How the caller's matches went. */
export interface MatchingStats {
  /** By what the caller says of them now. */
  accepted: number;
  /** Over the caller's ratings; absent without one. */
  averageRating?: number;
  /** Those that took place, as the caller says. */
  completed: number;
  /** Those that the caller declined. */
  declined: number;
  /** Completed ones of all; 0 without any. */
  successRate: number;
  /** The three features that are highest on average over the matches that he did not decline, highest first. */
  topFeatures: AverageFeature[];
  /** All that he was matched in. */
  totalMatches: number;
}

/** What `createMeeting` returns. */
export interface MeetingCreated {
  features: Features;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  videoProvider: VideoProvider;
  /** Whether an access token can be minted now. */
  webrtcReady: boolean;
}

/** What `endMeeting` returns. */
export interface MeetingEnded {
  /** From its start to its end. */
  durationMs: number;
  /** Always true: what cannot be done is an error. */
  success: boolean;
}

/** What `joinMeeting` returns. */
export interface MeetingJoined {
  /** Always true: what cannot be done is an error. */
  success: boolean;
  /** Whether an access token can be minted now. */
  webrtcReady: boolean;
}

/** The notes of a meeting as they are now. */
export interface MeetingNotes {
  /** The text. */
  content: string;
  /** The log's end. */
  sequence: number;
  /**
   * When it was changed last.
   *
   * Milliseconds since the epoch.
   */
  updatedAt: number;
  /** How often it was changed; 0 for notes that never were. */
  version: number;
}

/**
 * Where a meeting is in its life.
 * - `scheduled`: It has not begun.
 * - `active`: It is going on.
 * - `concluded`: It is over. Final.
 * - `cancelled`: It was called off before it began. Final.
 */
export type MeetingState = "scheduled" | "active" | "concluded" | "cancelled";

/**
 * What kind of meeting it is.
 * - `one-on-one`: Two people.
 * - `small-group`: Up to ten people.
 * - `large-meeting`: Many people, all of whom may speak.
 * - `webinar`: Many people, of whom only hosts speak.
 */
export type MeetingType = "one-on-one" | "small-group" | "large-meeting" | "webinar";

/** At most 32 members, keys of 1 … 64 characters, values text, number or boolean, 4096 bytes of JSON in all. */
export type Metadata = Record<string, string | number | boolean>;

/** What `deactivateUser` and `reactivateUser` take. */
export interface NamedUser {
  /**
   * An id, or the `sub` of a token of the caller's issuer.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  userId: string;
}

/** No arguments: an empty object on the wire. */
export type NoArgs = Record<string, never>;

/** An edit as it stands in the log: always all four. */
export interface NoteEdit {
  /** The text that it inserts; `""` unless it inserts. */
  content: string;
  /** How many UTF-16 code units it inserts, takes away, or speaks of. */
  length: number;
  /** Where, in UTF-16 code units from the beginning of the text. */
  position: number;
  /** What it does. */
  type: OperationType;
}

/** An edit as a client sends it; what its type does not need is ignored. */
export interface NoteEditInput {
  /** The text that an insert puts there: 1 … 100,000 units. */
  content?: string | null | undefined;
  /**
   * How many units a delete takes away (at least 1) or a retain speaks of.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  length?: number | null | undefined;
  /**
   * Where, in UTF-16 code units from the beginning of the text.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  position: number;
  /** What it does. */
  type: OperationType;
}

/** What became of an operation. */
export interface NoteOperationApplied {
  /** The entries of the log that changed it. */
  conflicts: NoteopId[];
  /** The version that it made. */
  newVersion: number;
  /** The sequence of its last entry in the log. */
  serverSequence: number;
  /** Always true. */
  success: boolean;
  /** What was applied; of an operation that was split, its first piece. */
  transformedOperation: NoteEdit;
  /** All pieces, one after the other, if there are several. */
  transformedOperations?: NoteEdit[];
}

/** A part of the log. */
export interface NoteOperations {
  /** The `fromSequence` that goes on where this part ends. */
  nextSequence: number;
  /** The entries, in order. */
  operations: LoggedOperation[];
  /** The version of the text now. */
  version: number;
}

/** What became of a batch. */
export interface NoteOperationsApplied {
  /** The version that the batch made. */
  newVersion: number;
  /** What became of each operation, in their order. */
  results: NoteOperationApplied[];
  /** Always true. */
  success: boolean;
}

/** The version after a rollback. */
export interface NotesRolledBack {
  /** The version now. */
  newVersion: number;
  /** Always true. */
  success: boolean;
}

/** Which meeting. */
export interface OfMeeting {
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
}

/** Why an operation was refused. */
export interface OfflineOperationError {
  /** The reason. */
  error: string;
  /**
   * The client's id of it.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  operationId: string;
}

/** What became of a call that queues. */
export interface OfflineOperationsQueued {
  /** Names the call that brought the operations; a full repetition gets that of the first call. */
  queueId: string;
  /** Rows newly stored. */
  queued: number;
  /** Always true. */
  success: boolean;
}

/** What a synchronization did. */
export interface OfflineOperationsSynced {
  /** The entries of the log that changed one of the synced. */
  conflicts: NoteopId[];
  /** Why each of the failed was refused. */
  errors: OfflineOperationError[];
  /** Operations that were refused. */
  failed: number;
  /** The version of the notes now. */
  newVersion: number;
  /** Operations that still wait. */
  remainingInQueue: number;
  /** Always true, also where operations failed. */
  success: boolean;
  /** Operations that are in the notes now. */
  synced: number;
}

/** A client's offline queue in figures. Cleared operations are not in it. */
export interface OfflineQueueStatus {
  /** Operations that were refused. */
  failed: number;
  /**
   * When the last of the pending was queued.
   *
   * Milliseconds since the epoch.
   */
  newestPending?: number;
  /**
   * When the first of the pending was queued.
   *
   * Milliseconds since the epoch.
   */
  oldestPending?: number;
  /** Operations that wait. */
  pending: number;
  /** Whether all is well with it. */
  queueHealth: QueueHealth;
  /** Operations that are in the notes. */
  synced: number;
  /** Always 0: taking and applying are one transaction. */
  syncing: number;
  /** All of them. */
  totalQueued: number;
}

/**
 * Where an operation of the offline queue is.
 * - `pending`: Waits for the drain.
 * - `syncing`: Is being applied. Seen by nobody: taking and applying are one transaction.
 * - `synced`: Is in the log.
 * - `failed`: Was refused, with the reason.
 */
export type OfflineStatus = "pending" | "syncing" | "synced" | "failed";

/** What `saveOnboarding` returns. */
export interface OnboardingSaved {
  /** Distinct interests that the user has now. At least 0. */
  interestsCount: number;
  /** Always true: this call completes it. */
  onboardingCompleted: boolean;
  /** Id of a row of `profiles`. */
  profileId: ProfileId;
  /**
   * The caller's own id, which other functions take as `userId`.
   *
   * Id of a row of `users`.
   */
  userId: UserId;
}

/** How far the caller's onboarding is. */
export interface OnboardingState {
  /** Milliseconds since the epoch. */
  completedAt?: number;
  /** Whether `saveOnboarding` succeeded once. */
  onboardingComplete: boolean;
  /** Whether there is a profile, be it of the onboarding or of `updateUserProfile`. */
  profileExists: boolean;
  /** Id of a row of `profiles`. */
  profileId?: ProfileId;
  /** Id of a row of `users`. */
  userId: UserId;
}

/** A match, by its id: what several functions take. */
export interface OneMatch {
  /**
   * One of the caller's own.
   *
   * Id of a row of `matches`.
   */
  matchId: MatchId;
}

/** A meeting, by its id: what many functions take. */
export interface OneMeeting {
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
}

/** A session of a meeting: what `createSession` and `closeSession` take. */
export interface OneSession {
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /**
   * The client's own name of it.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  sessionId: string;
}

/**
 * What an edit does.
 * - `insert`: Puts `content` at `position`.
 * - `delete`: Takes `length` units away from `position` on.
 * - `retain`: Changes nothing: a cursor, or what is left of a delete whose text was gone.
 */
export type OperationType = "insert" | "delete" | "retain";

/**
 * What a match came to, as one of its users says.
 * - `accepted`: Will be there.
 * - `declined`: Will not.
 * - `completed`: Was there. Final.
 */
export type Outcome = "accepted" | "declined" | "completed";

/** The caller's own account. */
export interface OwnAccount {
  /** Milliseconds since the epoch. */
  _creationTime: number;
  /** Id of a row of `users`. */
  _id: UserId;
  /** `""` when there is none. */
  avatarUrl: string;
  /** The profile's name, else the claim's, else the part of the e-mail before `@`, else "Unknown user". */
  displayName: string;
  /** An e-mail address, trimmed and in lower case. At most 254 characters. */
  email?: string;
  /** Whether the identity provider says that the address is his. */
  emailVerified: boolean;
  /** Whether the account is open; a closed one is refused everything else. */
  isActive: boolean;
  /** Milliseconds since the epoch. */
  lastSeenAt?: number;
  /** Whether `saveOnboarding` succeeded once. */
  onboardingComplete: boolean;
  /** Milliseconds since the epoch. */
  onboardingCompletedAt?: number;
  /** The organization that his token names. */
  orgId?: string;
  /** What his token says he is, such as `admin`. */
  roles: string[];
}

/** What the caller takes from one meeting. */
export interface OwnInsight {
  /** Id of a row of `insights`. */
  _id: InsightId;
  /** The caller's own first. */
  actionItems: string[];
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** What made it, with its version. */
  generator: string;
  /** Where what it says comes from. */
  links: InsightLink[];
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /** What he could do next, the surest first. */
  recommendations: Recommendation[];
  /** What the meeting was about, for him, in a few sentences. */
  summary: string;
  /**
   * When it was made last.
   *
   * Milliseconds since the epoch.
   */
  updatedAt: number;
  /** Id of a row of `users`. */
  userId: UserId;
}

/** An interest that the caller has. */
export interface OwnInterest {
  category: InterestCategory;
  /** The name of a picture that stands for an interest, at most 64 characters. At most 64 characters. */
  iconName?: string;
  /** The key of a row of the catalog: 1 … 64 characters, words of `[a-z0-9]` joined by `-`, or `custom:` and such words. */
  key: string;
  /** The name of an interest as people read it: trimmed, 1 … 64 characters. */
  label: string;
}

/** A meeting as one of its people sees it. */
export interface OwnMeeting {
  /** Milliseconds since the epoch. */
  _creationTime: number;
  /** Id of a row of `meetings`. */
  _id: MeetingId;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** What a meeting is about, at most 5000 characters. At most 5000 characters. */
  description?: string;
  /**
   * In milliseconds; for display.
   *
   * How long a meeting is planned, in milliseconds: 1 … 86,400,000 (a day). For display; nothing ends a meeting by it.
   *
   * 1 … 86400000.
   */
  duration: number;
  /** Milliseconds since the epoch. */
  endedAt?: number;
  /** How many people a meeting has room for: 1 … 1000. */
  maxParticipants: number;
  meetingType: MeetingType;
  /** Open media sessions of everybody; only of a single meeting, not in lists. At least 0. */
  openSessions?: number;
  /** Id of a row of `users`. */
  organizerId: UserId;
  /** Whether it may be recorded. */
  recordingEnabled: boolean;
  /** The room at the provider. */
  roomId: string;
  /** Milliseconds since the epoch. */
  scheduledAt?: number;
  /** Milliseconds since the epoch. */
  startedAt?: number;
  state: MeetingState;
  /** The title of a meeting, trimmed, 1 … 200 characters. */
  title: string;
  /** Whether what is said is taken into a transcript. */
  transcriptionEnabled: boolean;
  /** Milliseconds since the epoch. */
  updatedAt: number;
  /** Where the caller is, seen from it. */
  userPresence: Presence;
  /** What the caller is in it. */
  userRole: Role;
  videoProvider: VideoProvider;
}

/** A part of a list, and where the next part begins. */
export interface PageOfCatalogItem {
  /** What to send for the next part; absent at the end. */
  cursor?: Cursor;
  /** The rows of this part. */
  items: CatalogItem[];
}

/** A part of a list, and where the next part begins. */
export interface PageOfListedEntry {
  /** What to send for the next part; absent at the end. */
  cursor?: Cursor;
  /** The rows of this part. */
  items: ListedEntry[];
}

/** A part of a list, and where the next part begins. */
export interface PageOfOwnInsight {
  /** What to send for the next part; absent at the end. */
  cursor?: Cursor;
  /** The rows of this part. */
  items: OwnInsight[];
}

/** A part of a list, and where the next part begins. */
export interface PageOfOwnMeeting {
  /** What to send for the next part; absent at the end. */
  cursor?: Cursor;
  /** The rows of this part. */
  items: OwnMeeting[];
}

/** What `addParticipant` returns. */
export interface ParticipantAdded {
  /** Whether the address belongs to nobody yet and has an invitation now. */
  invited: boolean;
  /**
   * The new place; of several users with the address the first one's. Absent where an invitation was made.
   *
   * Id of a row of `meetingParticipants`.
   */
  participantId?: ParticipantId;
}

/** All calls together. */
export interface PerformanceSummary {
  /** In milliseconds, over all calls. */
  avgLatency: number;
  /** Calls of all functions. At least 0. */
  callCount: number;
  /** How many of them ended with an error. At least 0. */
  errorCount: number;
  /** Functions that were called. At least 0. */
  functionCount: number;
  /** Functions that are not compliant. At least 0. */
  sloBreaches: number;
  /** 0 … 1; 1 without calls. */
  successRate: number;
}

/** The course of a function over time. */
export interface PerformanceTrends {
  /** Contiguous buckets, the oldest first; the last one holds this moment. */
  timeSeries: TrendPoint[];
  trends: TrendLabels;
}

/** What somebody may do in a meeting. */
export interface Permissions {
  /** Remove others from the room. */
  canKick: boolean;
  /** Mute others. */
  canMute: boolean;
  /** Record. */
  canRecord: boolean;
  /** Share a screen. */
  canShare: boolean;
}

/** A person as lists show one. */
export interface Person {
  /**
   * The user.
   *
   * Id of a row of `users`.
   */
  _id: UserId;
  /** The address of a picture, or `""`. */
  avatarUrl: string;
  /** The name to show; never empty. */
  displayName: string;
}

/**
 * Where somebody is, seen from a meeting.
 * - `invited`: Has not come yet.
 * - `joined`: Is there.
 * - `left`: Has gone; may come back.
 */
export type Presence = "invited" | "joined" | "left";

/**
 * A presence that a client may report of itself.
 * - `joined`: Has come.
 * - `left`: Has gone.
 */
export type PresenceChange = "joined" | "left";

/** What `batchUpdatePresence` returns. */
export interface PresenceQueued {
  /** Participants of the meeting whose presence was written within the last second, the caller included. At least 0. */
  batchSize: number;
  /** Always true: it is written when this is answered. */
  queued: boolean;
}

/** What somebody tells about himself. */
export interface ProfileRow {
  /** Milliseconds since the epoch. */
  _creationTime: number;
  /** Id of a row of `profiles`. */
  _id: ProfileId;
  /**
   * Age in years.
   *
   * Age in years, 13 … 120.
   */
  age?: number;
  /**
   * About himself, in his words.
   *
   * What somebody writes about himself, at most 1000 characters, as he wrote it; `""` clears it.
   *
   * At most 1000 characters.
   */
  bio?: string;
  /**
   * Company.
   *
   * A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
   */
  company?: string;
  /**
   * The name that others see.
   *
   * The name that others see, trimmed, 1 … 100 characters.
   */
  displayName: string;
  /**
   * What he has done so far, in words or years.
   *
   * What somebody has done so far, in words or years, at most 1000 characters.
   *
   * At most 1000 characters.
   */
  experience?: string;
  /**
   * Field of work.
   *
   * A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
   */
  field?: string;
  /** Gender. */
  gender?: Gender;
  /**
   * What he wants to reach.
   *
   * What somebody wants to reach, at most 2000 characters.
   *
   * At most 2000 characters.
   */
  goals?: string;
  /**
   * Job title.
   *
   * A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
   */
  jobTitle?: string;
  /** What he speaks; each once without regard to case. */
  languages: string[];
  /**
   * Address of his page there.
   *
   * An absolute address with the scheme http or https, at most 2048 characters; kept as it was written.
   *
   * At most 2048 characters.
   */
  linkedinUrl?: string;
  /**
   * When the row changed last.
   *
   * Milliseconds since the epoch.
   */
  updatedAt: number;
  /**
   * Whose it is.
   *
   * Id of a row of `users`.
   */
  userId: UserId;
}

/**
 * What its reader did with a prompt.
 * - `used`: Said it.
 * - `dismissed`: Does not want to see it again.
 * - `upvoted`: Liked it.
 */
export type PromptFeedback = "used" | "dismissed" | "upvoted";

/**
 * When a prompt is for.
 * - `pre-call`: Before the call: how to begin.
 * - `in-call`: During the call: how to go on.
 */
export type PromptKind = "pre-call" | "in-call";

/** What others see of a user. */
export interface PublicProfile {
  /** `""` when there is none. */
  avatarUrl: string;
  /** What somebody writes about himself, at most 1000 characters, as he wrote it; `""` clears it. At most 1000 characters. */
  bio?: string;
  /** A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters. */
  company?: string;
  /** What he is called. */
  displayName: string;
  /** What somebody has done so far, in words or years, at most 1000 characters. At most 1000 characters. */
  experience?: string;
  /** A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters. */
  field?: string;
  /** What somebody wants to reach, at most 2000 characters. At most 2000 characters. */
  goals?: string;
  /** Keys of the catalog. */
  interests: string[];
  /** A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters. */
  jobTitle?: string;
  /** What he speaks, by any name. */
  languages: string[];
  /** An absolute address with the scheme http or https, at most 2048 characters; kept as it was written. At most 2048 characters. */
  linkedinUrl?: string;
  /** Id of a row of `users`. */
  userId: UserId;
}

/**
 * How a queue is.
 * - `healthy`: It is drained as it should be.
 * - `warning`: More than 50 wait, or one for more than a minute.
 * - `critical`: More than 10 failed, or one waits for more than 5 minutes.
 */
export type QueueHealth = "healthy" | "warning" | "critical";

/** What `queueOfflineOperations` takes. */
export interface QueueOfflineOperations {
  /**
   * The same as a sequence of the log, if `baseVersion` is absent. One ahead of the log means the log's end.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  baseSequence?: number | null | undefined;
  /**
   * The version of the text on which the first of them was made.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  baseVersion?: number | null | undefined;
  /**
   * On which of his clients the caller wrote.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  clientId: string;
  /**
   * The meeting whose notes he edited.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
  /** The operations, 0 … 500. Each was made after the one before it, by `sequence`, then by place. */
  operations: readonly SentOfflineOperation[];
}

/** Where the caller's newest entry is. */
export interface QueuePlace {
  /** Id of a row of `queueEntries`. */
  _id: QueueId;
  /** Milliseconds since the epoch. */
  availableFrom: number;
  /** Milliseconds since the epoch. */
  availableTo: number;
  constraints: MatchConstraints;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** A guess, in milliseconds. Absent unless it waits. */
  estimatedWaitMs?: number;
  /**
   * What it led to.
   *
   * Id of a row of `matches`.
   */
  matchId?: MatchId;
  /** 1 is the one who waits longest. Absent unless it waits. */
  queuePosition?: number;
  status: QueueStatus;
}

/**
 * Where an entry of the matching queue is.
 * - `waiting`: Waits for somebody.
 * - `matched`: Somebody was found. Final.
 * - `expired`: Its time has passed. Final.
 * - `cancelled`: Was taken back. Final.
 */
export type QueueStatus = "waiting" | "matched" | "expired" | "cancelled";

/** Something the reader could do next. */
export interface Recommendation {
  /**
   * 0 … 1; grows with the evidence.
   *
   * How sure a recognizer or generator is: 0 … 1.
   */
  confidence: number;
  /** The advice, in a sentence. */
  content: string;
  /** What it is about. */
  type: RecommendationKind;
}

/**
 * What a recommendation is about.
 * - `follow-up`: What was agreed on.
 * - `networking`: People to meet.
 * - `learning`: Something to learn.
 * - `participation`: How much the reader spoke.
 */
export type RecommendationKind = "follow-up" | "networking" | "learning" | "participation";

/** What `recordPromptFeedback` takes. */
export interface RecordPromptFeedback {
  /** A dismissed one is not shown again. */
  feedback: PromptFeedback;
  /**
   * One of the caller's own.
   *
   * Id of a row of `prompts`.
   */
  promptId: PromptId;
}

/** What `removeCatalogEntry` takes. */
export interface RemoveCatalogEntry {
  /** The key of a row of the catalog: 1 … 64 characters, words of `[a-z0-9]` joined by `-`, or `custom:` and such words. */
  key: string;
}

/** What `removeParticipant` takes: either a user or an address. */
export interface RemoveParticipant {
  /**
   * Takes an invitation back, or removes the users with that address.
   *
   * An e-mail address, trimmed and in lower case.
   *
   * At most 254 characters.
   */
  email?: string | null | undefined;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /**
   * An id, or the `sub` of a token of the caller's issuer.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  userId?: string | null | undefined;
}

/** What `retryFailedOperations` takes. */
export interface RetryFailedOperations {
  /**
   * Which of the caller's clients.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  clientId: string;
  /**
   * The meeting whose notes it edited.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
}

/**
 * What somebody is in a meeting.
 * - `host`: Runs it: starts, ends, edits it, and decides who is in it and as what.
 * - `participant`: Takes part.
 */
export type Role = "host" | "participant";

/** What `rollbackToSequence` takes. */
export interface RollbackToSequence {
  /**
   * The meeting whose notes go back.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
  /**
   * Why, for the audit.
   *
   * Why notes are rolled back, at most 500 characters; for the audit.
   *
   * At most 500 characters.
   */
  reason?: string | null | undefined;
  /**
   * The entry of the log after which the text was as it shall be again; 0 for the empty text.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  targetSequence: number;
}

/** What `runMatchingCycle` takes. */
export interface RunMatchingCycle {
  /**
   * Says what it would do, and does nothing.
   *
   * @defaultValue `false`
   */
  dryRun?: boolean | null | undefined;
  /**
   * Two who score less are not matched; the settings' unless told.
   *
   * How well something fits: 0 … 1.
   */
  minScore?: number | null | undefined;
}

/** What `saveOnboarding` takes. */
export interface SaveOnboarding {
  /**
   * In years.
   *
   * Age in years, 13 … 120.
   */
  age: number;
  /** A bio as onboarding asks for it: trimmed, 1 … 1000 characters. */
  bio: string;
  /** A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters. */
  company: string;
  /**
   * The field of work or study.
   *
   * A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters.
   */
  field: string;
  gender: Gender;
  /**
   * A retry with the same key and the same arguments changes nothing and returns the first result.
   *
   * Names one attempt: the same key and the same arguments give the stored result, with nothing done again.
   *
   * 1 … 255 characters.
   */
  idempotencyKey?: string | null | undefined;
  /** Those of the catalog by their key; others join it. At most 50 items. */
  interests: readonly SentInterest[];
  /** A line of a profile (field of work, job title, company), trimmed, 1 … 120 characters. */
  jobTitle: string;
  /**
   * Absent or `""`: none.
   *
   * An `HttpUrl`, or `""` for none.
   *
   * At most 2048 characters.
   */
  linkedinUrl?: string | null | undefined;
}

/** What `sendSignal` takes. */
export interface SendSignal {
  kind: SignalKind;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /**
   * What is passed on as it is: any object of at most 64 KiB.
   *
   * Any object of at most 65536 bytes of JSON.
   */
  payload: JsonObject;
  /**
   * The open session of the caller's that it comes from.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  sessionId: string;
  /**
   * For whom: an id, or the `sub` of a token of the caller's issuer. Absent: for everybody else who has joined.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  toUserId?: string | null | undefined;
}

/** One of several stretches of speech. */
export interface SentChunk {
  /**
   * The client's name of it: a known one of the speaker is not stored again.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  chunkId?: string | null | undefined;
  /**
   * How sure the recognizer is.
   *
   * How sure a recognizer or generator is: 0 … 1.
   */
  confidence: number;
  /**
   * When it ended: after it began.
   *
   * Milliseconds since the epoch.
   */
  endTime: number;
  /**
   * Still changing: acknowledged and not stored.
   *
   * @defaultValue `false`
   */
  isInterim?: boolean | null | undefined;
  /**
   * A language by its BCP 47 tag, in the case that RFC 5646 §2.1.1 recommends (`en-US`, `zh-Hant-TW`). 2 … 35 characters.
   *
   * @defaultValue `"en"`
   */
  language?: string | null | undefined;
  /**
   * Who spoke: the caller unless told. Another one is named by a host or a deploy key.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  speakerId?: string | null | undefined;
  /**
   * When it began.
   *
   * Milliseconds since the epoch.
   */
  startTime: number;
  /** What was said, trimmed, 1 … 10,000 characters. 1 … 10000 characters. */
  text: string;
}

/** An interest as a client sends it at onboarding. */
export interface SentInterest {
  category: InterestCategory;
  /** The name of a picture that stands for an interest, at most 64 characters. At most 64 characters. */
  iconName?: string | null | undefined;
  /**
   * A key of the catalog, or whatever the client calls it.
   *
   * What a client calls an interest: trimmed, 1 … 64 characters. A key of the catalog, or an id of its own.
   */
  id: string;
  /** The name of an interest as people read it: trimmed, 1 … 64 characters. */
  name: string;
}

/**
 * An operation as a client kept it while it was offline. What the client says of its author, its attempts and what it
 * was transformed from is trusted nowhere.
 */
export interface SentOfflineOperation {
  /**
   * Not used.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  attempts: number;
  /** Not used: the author is the caller. */
  authorId: string;
  /**
   * The client; that of the call.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  clientId: string;
  /** The text that an insert puts there: 1 … 100,000 units. */
  content?: string | null | undefined;
  /** Not used. */
  error?: string | null | undefined;
  /**
   * The client's id of it.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  id: string;
  /**
   * Not used.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  lastAttempt?: number | null | undefined;
  /**
   * How many units a delete takes away (at least 1) or a retain speaks of.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  length?: number | null | undefined;
  /**
   * Where, in UTF-16 code units from the beginning of the text.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  position: number;
  /**
   * Not used: the row has the server's time.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  queuedAt: number;
  /**
   * Its place among the client's operations.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  sequence: number;
  /** `synced` if it is in the notes already; anything else is applied. */
  status: OfflineStatus;
  /**
   * Not used.
   *
   * A whole number that is not negative: a position, a length, a sequence, a version, a count.
   *
   * At least 0.
   */
  timestamp: number;
  /** Not used. */
  transformedFrom?: readonly string[] | null | undefined;
  /** What it does. */
  type: OperationType;
}

/** What `createSession` returns. */
export interface SessionCreated {
  /** A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`. 1 … 128 characters. */
  sessionId: string;
}

/**
 * Where the connection of a media session is.
 * - `connecting`: It is being made, or made anew.
 * - `connected`: It stands.
 * - `disconnected`: It was interrupted.
 * - `failed`: It did not come about.
 * - `closed`: It was ended. Final, unless a new attempt is started under the same id.
 */
export type SessionState = "connecting" | "connected" | "disconnected" | "failed" | "closed";

/** A stretch of speech. */
export interface ShownChunk {
  /** Id of a row of `transcriptChunks`. */
  _id: ChunkId;
  /** Milliseconds since the epoch. */
  bucketMs: number;
  /** A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`. 1 … 128 characters. */
  chunkId?: string;
  /** How sure a recognizer or generator is: 0 … 1. */
  confidence: number;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** Milliseconds since the epoch. */
  endTime: number;
  /** A language by its BCP 47 tag, in the case that RFC 5646 §2.1.1 recommends (`en-US`, `zh-Hant-TW`). 2 … 35 characters. */
  language: string;
  /** Its place in the transcript. */
  sequence: number;
  /** Id of a row of `users`. */
  speakerId: UserId;
  /** Milliseconds since the epoch. */
  startTime: number;
  /** What was said, trimmed, 1 … 10,000 characters. 1 … 10000 characters. */
  text: string;
  /** Runs of characters without white space. */
  wordCount: number;
}

/** A match as one of its two sees it. */
export interface ShownMatch {
  /** Why, in sentences. */
  explanation: string[];
  features: MatchFeatures;
  /** Id of a row of `matches`. */
  matchId: MatchId;
  /**
   * The meeting that was made of it.
   *
   * Id of a row of `meetings`.
   */
  meetingId?: MeetingId;
  /** What the caller says. */
  outcome: Outcome;
  /** The other one. */
  partner: PublicProfile;
  /** What the other says. */
  partnerOutcome: Outcome;
  /**
   * How well the two fit, all in all.
   *
   * How well something fits: 0 … 1.
   */
  score: number;
  status: MatchStatus;
  /**
   * Both are free from.
   *
   * Milliseconds since the epoch.
   */
  windowFrom: number;
  /**
   * Both are free until.
   *
   * Milliseconds since the epoch.
   */
  windowTo: number;
}

/** Something that the caller could say. */
export interface ShownPrompt {
  /** Id of a row of `prompts`. */
  _id: PromptId;
  /** The prompt itself, one or two sentences. */
  content: string;
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** What the caller did with it, if anything. */
  feedback?: PromptFeedback;
  /**
   * How much it suggests itself.
   *
   * How well something fits: 0 … 1.
   */
  relevance: number;
  /** Why it was made, the kind of evidence first. */
  tags: string[];
}

/**
 * What a signal carries.
 * - `sdp`: A session description, offered or answered.
 * - `ice`: A candidate for a way to the peer.
 */
export type SignalKind = "sdp" | "ice";

/** What `sendSignal` returns. */
export interface SignalSent {
  /** How many people it lies ready for. At least 0. */
  delivered: number;
}

/** What `acknowledgeSignals` returns. */
export interface SignalsAcknowledged {
  /** Those that lay ready for the caller and are gone now. At least 0. */
  acknowledged: number;
}

/** What `submitMatchFeedback` takes. */
export interface SubmitMatchFeedback {
  /** What was said before stays without it. */
  feedback?: MatchFeedbackInput | null | undefined;
  /**
   * One of the caller's own.
   *
   * Id of a row of `matches`.
   */
  matchId: MatchId;
  outcome: Outcome;
}

/** One subscription. */
export interface SubscriptionFigures {
  /** How long that took, in milliseconds. */
  avgLatency: number;
  /** Since it follows what it follows. */
  durationMs: number;
  /** How often it was found not valid. At least 0. */
  errors: number;
  /**
   * When it was validated last.
   *
   * Milliseconds since the epoch.
   */
  lastUpdate: number;
  /** Whether validating takes at most 150 ms and comes at most ten times a second. */
  sloCompliant: boolean;
  /** The client's own name of it. */
  subscriptionId: string;
  /** How often it was validated. At least 0. */
  updateCount: number;
  /** How often it is validated. */
  updatesPerSecond: number;
}

/** How subscriptions are doing. */
export interface SubscriptionMetrics {
  /** Of the whole process, over the last minute. */
  bandwidthStats: BandwidthStats;
  /** Over all that the caller may see. */
  globalStats: GlobalStats;
  /** In the order in which they were opened. */
  subscriptions: SubscriptionFigures[];
}

/** Whether a subscription is valid. */
export interface SubscriptionValidity {
  /** What the caller may do with what he follows; none if it is not valid. */
  permissions: string[];
  /** Why it is not valid. */
  reason?: string;
  /** Whether the client is to connect anew: it was away for long, or may do more or less than before. */
  shouldReconnect: boolean;
  /** Whether the caller may go on following. */
  valid: boolean;
  /**
   * When it is to be validated again.
   *
   * Milliseconds since the epoch.
   */
  validUntil?: number;
}

/** What `syncOfflineOperations` takes. */
export interface SyncOfflineOperations {
  /**
   * Which of the caller's clients.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  clientId: string;
  /**
   * How many operations at most.
   *
   * At most so many rows.
   *
   * 1 … 500.
   *
   * @defaultValue `50`
   */
  maxOperations?: number | null | undefined;
  /**
   * The meeting whose notes it edited.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
}

/** What was cleared. */
export interface SyncedOperationsCleared {
  /** Rows cleared now. */
  cleared: number;
}

/** What `terminateSubscription` takes. */
export interface TerminateSubscription {
  /** A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`. 1 … 128 characters. */
  subscriptionId: string;
}

/** What `listTranscriptChunks` returns. */
export interface TranscriptChunks {
  /** By sequence. */
  chunks: ShownChunk[];
  /** What to ask for next: the first chunk after these, which may not exist yet. */
  nextSequence: number;
}

/** The figures of a transcript. */
export interface TranscriptFigures {
  /** The plain mean over the chunks. */
  averageConfidence: number;
  /** Stretches of five minutes in which something was said. */
  bucketCount: number;
  /** From the first beginning to the last end, in milliseconds. */
  duration: number;
  /** What was spoken, in order of first appearance: the first 50, unless set otherwise. */
  languages: string[];
  /** Who spoke, in order of first appearance. */
  speakers: UserId[];
  /** Final chunks. */
  totalChunks: number;
  /** Runs of characters without white space. */
  totalWords: number;
}

/** Where it is going. */
export interface TrendLabels {
  /** `improving`, `stable` or `degrading`. */
  errorTrend: string;
  /** `improving`, `stable` or `degrading`. */
  latencyTrend: string;
  /** `increasing`, `stable` or `decreasing`. */
  throughputTrend: string;
}

/** The calls that ended within one bucket. Latencies are in milliseconds. */
export interface TrendPoint {
  /** Over all calls; 0 without any. */
  avgLatency: number;
  /** How many there are. At least 0. */
  callCount: number;
  /** How many of them ended with an error. At least 0. */
  errorCount: number;
  /** By nearest rank; 0 without calls. */
  p95Latency: number;
  /** 0 … 1; 1 without calls. */
  successRate: number;
  /**
   * When it begins: a multiple of its size.
   *
   * Milliseconds since the epoch.
   */
  timestamp: number;
}

/** What `updateMeeting` takes. Fields that are absent stay as they are. */
export interface UpdateMeeting {
  /**
   * `""` clears it.
   *
   * What a meeting is about, at most 5000 characters.
   *
   * At most 5000 characters.
   */
  description?: string | null | undefined;
  /** How long a meeting is planned, in milliseconds: 1 … 86,400,000 (a day). For display; nothing ends a meeting by it. 1 … 86400000. */
  duration?: number | null | undefined;
  /**
   * Not below those who are in it now.
   *
   * How many people a meeting has room for: 1 … 1000.
   */
  maxParticipants?: number | null | undefined;
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /** Whether it may be recorded. */
  recordingEnabled?: boolean | null | undefined;
  /**
   * Of a scheduled meeting only.
   *
   * Milliseconds since the epoch.
   */
  scheduledAt?: number | null | undefined;
  /** The title of a meeting, trimmed, 1 … 200 characters. */
  title?: string | null | undefined;
  /** Whether what is said is taken into a transcript. */
  transcriptionEnabled?: boolean | null | undefined;
}

/** What `updateParticipantRole` takes. */
export interface UpdateParticipantRole {
  /**
   * The meeting whose participant changes.
   *
   * Id of a row of `meetings`.
   */
  meetingId: MeetingId;
  newRole: Role;
  /**
   * Who: an id, or the `sub` of a token of the caller's issuer.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  userId: string;
}

/** What `updateSessionState` takes. */
export interface UpdateSessionState {
  /** Id of a row of `meetings`. */
  meetingId: MeetingId;
  /**
   * Laid over what is there, key by key. `packetLoss` (%), `latency` (ms), `jitter` (ms) and `bitrate` (bit/s) are
   * rated; a `connectionQuality` in it is believed.
   */
  metadata?: Metadata | null | undefined;
  /**
   * The client's own name of the session. One that is not known is made, if it connects.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  sessionId: string;
  state: SessionState;
}

/** What `updateUserInterests` takes. */
export interface UpdateUserInterests {
  /** Keys of the catalog; duplicates count once, an empty list clears. At most 100 items. */
  interests: readonly string[];
  /**
   * Whose interests: an id, or the `sub` of a token of the caller's issuer.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  userId: string;
}

/** What `updateUserProfile` takes. Fields that are absent stay as they are. */
export interface UpdateUserProfile {
  /**
   * `""` clears it.
   *
   * What somebody writes about himself, at most 1000 characters, as he wrote it; `""` clears it.
   *
   * At most 1000 characters.
   */
  bio?: string | null | undefined;
  /** The name that others see, trimmed, 1 … 100 characters. */
  displayName?: string | null | undefined;
  /**
   * `""` clears it.
   *
   * What somebody has done so far, in words or years, at most 1000 characters.
   *
   * At most 1000 characters.
   */
  experience?: string | null | undefined;
  /**
   * `""` clears them.
   *
   * What somebody wants to reach, at most 2000 characters.
   *
   * At most 2000 characters.
   */
  goals?: string | null | undefined;
  /** Those that differ only in case count once. At most 20 items. */
  languages?: readonly string[] | null | undefined;
  /**
   * Whose profile: an id, or the `sub` of a token of the caller's issuer.
   *
   * A user, by id or by the `sub` of his token: a client that never saw an id knows that one.
   *
   * 1 … 255 characters.
   */
  userId: string;
}

/** What `upsertCatalogEntry` takes. */
export interface UpsertCatalogEntry {
  category: InterestCategory;
  /** The name of a picture that stands for an interest, at most 64 characters. At most 64 characters. */
  iconName?: string | null | undefined;
  /** The key of a row of the catalog: 1 … 64 characters, words of `[a-z0-9]` joined by `-`, or `custom:` and such words. */
  key: string;
  /**
   * The name people read.
   *
   * The name of an interest as people read it: trimmed, 1 … 64 characters.
   */
  label: string;
}

/** What `validateSubscription` takes. */
export interface ValidateSubscription {
  /**
   * When the client validated it last.
   *
   * Milliseconds since the epoch.
   */
  lastValidated: number;
  /**
   * The meeting whose part is followed.
   *
   * The resource that somebody follows, by its id: 1 … 128 characters.
   */
  resourceId: string;
  /**
   * `meeting`, `participants`, `meetingParticipants`, `notes`, `meetingNotes`, `transcript`, `transcripts`,
   * `prompts`, `insights` or `webrtc`.
   *
   * The kind of a resource: 1 … 64 characters. Unknown ones are no mistake of form.
   */
  resourceType: string;
  /**
   * The client's own name of the subscription.
   *
   * A name that a client gives to a session, a subscription, itself or an operation: 1 … 128 of `[A-Za-z0-9._:@-]`.
   *
   * 1 … 128 characters.
   */
  subscriptionId: string;
}

/**
 * What carries sound and picture.
 * - `webrtc`: The clients among themselves.
 * - `livekit`: A LiveKit server, where one is configured.
 */
export type VideoProvider = "webrtc" | "livekit";


// ---- The errors of the server --------------------------------------------------------------------------------------

/** Every code of the server. Those of functions come first; the others are of the call. */
export type ServerErrorCode =
  /** The function needs a caller and there is none. */
  | "UNAUTHENTICATED"
  /** The caller has no right to do this. */
  | "FORBIDDEN"
  /** The thing named does not exist, or is not the caller's. */
  | "NOT_FOUND"
  /** An argument is missing, unknown, of the wrong type, or out of bounds; `field` names it. */
  | "INVALID_ARGUMENT"
  /** It collides with what is stored. */
  | "CONFLICT"
  /** The idempotency key was used with other arguments. */
  | "IDEMPOTENCY_KEY_REUSED"
  /** The state of things does not allow it. */
  | "FAILED_PRECONDITION"
  /** Too many calls, or too much of something, by this caller. */
  | "RATE_LIMITED"
  /** A service outside failed. */
  | "PROVIDER_ERROR"
  /** The function ran longer than it may; nothing of it was kept. */
  | "TIMEOUT"
  /** It cannot be done now. */
  | "UNAVAILABLE"
  /** The body is not JSON, has a duplicate key, or nests too deep. */
  | "INVALID_JSON"
  /** The body is JSON but not a call's envelope. */
  | "INVALID_ENVELOPE"
  /** `format` names a transport that is not supported. */
  | "UNSUPPORTED_FORMAT"
  /** No public function has this path. */
  | "FUNCTION_NOT_FOUND"
  /** The function is of another kind than the route. */
  | "WRONG_FUNCTION_KIND"
  /** The credentials that were sent are not valid. */
  | "INVALID_CREDENTIALS"
  /** The deploy key is valid and lacks the scope. */
  | "INSUFFICIENT_SCOPE"
  /** Not a route. */
  | "ROUTE_NOT_FOUND"
  /** A route, but not with this method. */
  | "METHOD_NOT_ALLOWED"
  /** The request did not arrive in time. */
  | "REQUEST_TIMEOUT"
  /** The body is larger than the limit. */
  | "PAYLOAD_TOO_LARGE"
  /** The body is not declared as JSON. */
  | "UNSUPPORTED_MEDIA_TYPE"
  /** Too many calls of one address. */
  | "TOO_MANY_REQUESTS"
  /** The header block is larger than the limit. */
  | "HEADERS_TOO_LARGE"
  /** The request cannot be read as HTTP. */
  | "BAD_REQUEST"
  /** Something broke inside; the log has the reason under the request id. */
  | "INTERNAL"
  /** It is unknown whether the mutation was committed. */
  | "COMMIT_UNKNOWN"
  /** More calls wait than may. */
  | "OVERLOADED"
  /** Starting, draining, or the store or identity keys cannot be used now. */
  | "NOT_READY";

/** Whether the same call, sent again later, can succeed without a change by the caller. */
const RETRYABLE: Readonly<Record<ServerErrorCode, boolean>> = {
  UNAUTHENTICATED: false,
  FORBIDDEN: false,
  NOT_FOUND: false,
  INVALID_ARGUMENT: false,
  CONFLICT: false,
  IDEMPOTENCY_KEY_REUSED: false,
  FAILED_PRECONDITION: false,
  RATE_LIMITED: true,
  PROVIDER_ERROR: true,
  TIMEOUT: true,
  UNAVAILABLE: true,
  INVALID_JSON: false,
  INVALID_ENVELOPE: false,
  UNSUPPORTED_FORMAT: false,
  FUNCTION_NOT_FOUND: false,
  WRONG_FUNCTION_KIND: false,
  INVALID_CREDENTIALS: false,
  INSUFFICIENT_SCOPE: false,
  ROUTE_NOT_FOUND: false,
  METHOD_NOT_ALLOWED: false,
  REQUEST_TIMEOUT: true,
  PAYLOAD_TOO_LARGE: false,
  UNSUPPORTED_MEDIA_TYPE: false,
  TOO_MANY_REQUESTS: true,
  HEADERS_TOO_LARGE: false,
  BAD_REQUEST: false,
  INTERNAL: false,
  COMMIT_UNKNOWN: false,
  OVERLOADED: true,
  NOT_READY: true,
};

function isServerErrorCode(code: string): code is ServerErrorCode {
  return Object.hasOwn(RETRYABLE, code);
}

// ---- The client ----------------------------------------------------------------------------------------------------

/** What every call of a client shares. */
export interface ClientOptions {
  /** Where the server is, such as `https://api.example.com`. */
  readonly url: string;
  /** Whose calls they are: a token (JWT), or a function that is asked for one before every call. */
  readonly token?: TokenSource | undefined;
  /** A deploy key instead of a token. Never in a page: whoever reads it may do what it may. */
  readonly deployKey?: string | undefined;
  /** How long a call may take in all, retries included; 30 s for queries and mutations, 11 min for actions. */
  readonly timeoutMs?: number | undefined;
  /** How often a call that is safe to repeat is repeated before its failure is told; 3. */
  readonly retries?: number | undefined;
  /** Another `fetch`, such as one of a test. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Gets what functions log, where the server sends it. */
  readonly onLogLines?: ((lines: readonly string[], call: { readonly path: string; readonly requestId: string }) => void) | undefined;
}

/** What one call has of its own. */
export interface CallOptions {
  /** Aborts the call. A mutation or action that was sent may run all the same. */
  readonly signal?: AbortSignal | undefined;
  /** How long this call may take in all, retries included. */
  readonly timeoutMs?: number | undefined;
  /** How often this call is repeated at most. */
  readonly retries?: number | undefined;
  /** By what the server's log knows it: 1 … 64 of `A-Za-z0-9._-`. Made up unless given. */
  readonly requestId?: string | undefined;
  /** Whose call it is, where one process calls for many; `null` for nobody's. */
  readonly token?: TokenSource | null | undefined;
}

/**
 * A token, or what gets one. A function is told the token that the server has just rejected, if it has: if it then
 * returns another one, the call is sent once more with that.
 */
export type TokenSource =
  | string
  | ((asked: { readonly rejected: string | undefined }) => string | null | undefined | Promise<string | null | undefined>);

/** How a call ended, for those who would rather look than catch. */
export type Result<Value> =
  | { readonly ok: true; readonly value: Value; readonly requestId: string; readonly logLines: readonly string[] }
  | { readonly ok: false; readonly error: ConvokeError };

/** A function of the server. */
export interface ServerFunction<Kind extends FunctionKind, Args, Value> {
  /** Calls it. Rejects with a {@link ConvokeError}, which {@link isConvokeError} recognizes. */
  (args: Args, options?: CallOptions): Promise<Value>;
  /** Calls it. Does not reject: a failure is a result whose `error` is typed by its `code`. */
  safe(args: Args, options?: CallOptions): Promise<Result<Value>>;
  readonly path: string;
  readonly kind: Kind;
}

/** A function of the server for which `{}` is enough. */
export interface EasyServerFunction<Kind extends FunctionKind, Args, Value> {
  /** Calls it. Rejects with a {@link ConvokeError}, which {@link isConvokeError} recognizes. */
  (args?: Args, options?: CallOptions): Promise<Value>;
  /** Calls it. Does not reject: a failure is a result whose `error` is typed by its `code`. */
  safe(args?: Args, options?: CallOptions): Promise<Result<Value>>;
  readonly path: string;
  readonly kind: Kind;
}

/** What a call of a function may do: read, write one transaction, or work outside the database. */
export type FunctionKind = "query" | "mutation" | "action";

/** Any JSON. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;

/** Any JSON object. */
export interface JsonObject {
  [member: string]: JsonValue;
}

/** The id of a row. A plain string will do; the id of a row of another table will not. */
export type Id<Prefix extends string> = string & { readonly __row?: Prefix };

/** What went wrong, by where it was found: by the server, or by this client before or after it. */
export type ErrorCode = ServerErrorCode | ClientErrorCode;

/** What this client finds. */
export type ClientErrorCode =
  /** The caller's signal aborted the call. */
  | "ABORTED"
  /** The call took longer than `timeoutMs`. */
  | "CLIENT_TIMEOUT"
  /** There was no connection, or it broke before the answer was whole. */
  | "CONNECTION_FAILED"
  /** What answered is no server of this kind, such as a proxy with a page of its own. */
  | "INVALID_RESPONSE"
  /** The function that is asked for tokens threw. */
  | "TOKEN_UNAVAILABLE"
  /** A code that this file does not know yet; it stands in `data.code`. */
  | "UNRECOGNIZED_CODE";

/** What comes with an error beside its sentence, by its code. Functions add members of their own. */
export interface ErrorData extends Record<ErrorCode, JsonObject> {
  INVALID_ARGUMENT: JsonObject & {
    /** Which argument, such as `interests[2].category`; empty for all of them together. */
    field: string;
  };
  FUNCTION_NOT_FOUND: JsonObject & {
    /** The path that may have been meant. */
    nearest?: string;
  };
  UNRECOGNIZED_CODE: JsonObject & { code: string };
}

/** Why a call failed: a union, so that `switch (error.code)` knows the type of `error.data`. */
export type ConvokeError = { [Code in ErrorCode]: CallFailure<Code> }[ErrorCode];

/** Whether something that was caught is the failure of a call. */
export function isConvokeError(caught: unknown): caught is ConvokeError {
  return caught instanceof CallFailure;
}

/** The class of every {@link ConvokeError}. */
export class CallFailure<Code extends ErrorCode> extends Error {
  override readonly name: string = "ConvokeError";
  /** What to switch on. */
  readonly code: Code;
  /** What comes with it. */
  readonly data: ErrorData[Code];
  /** The HTTP status, if there was an answer. */
  readonly status: number | undefined;
  /** Whether something may have been changed all the same. `false`: certainly nothing was. */
  readonly mayHaveRun: boolean;
  /** The function's path. */
  readonly path: string;
  /** By what the server's log knows the call. */
  readonly requestId: string;
  /** What the function logged, also where its writes were taken back. */
  readonly logLines: readonly string[];
  /** How often the call was sent. */
  readonly attempts: number;

  constructor(code: Code, message: string, data: ErrorData[Code], told: FailureDetails) {
    super(message, told.cause === undefined ? undefined : { cause: told.cause });
    this.code = code;
    this.data = data;
    this.status = told.status;
    this.mayHaveRun = told.mayHaveRun;
    this.path = told.path;
    this.requestId = told.requestId;
    this.logLines = told.logLines;
    this.attempts = told.attempts;
  }
}

/** What a failure says beside its code. */
export interface FailureDetails {
  readonly status: number | undefined;
  readonly mayHaveRun: boolean;
  readonly path: string;
  readonly requestId: string;
  readonly logLines: readonly string[];
  readonly attempts: number;
  readonly cause: unknown;
}

const TIMEOUT_MS = { query: 30_000, mutation: 30_000, action: 660_000 } as const;
const RETRIES = 3;
const BACKOFF_MS = 100;
const BACKOFF_MS_MAX = 5_000;

/** Why the one controller of a call was aborted. */
const TIMED_OUT = Symbol("timed out");

/** One attempt that failed. */
interface Attempt {
  readonly code: ErrorCode;
  readonly message: string;
  readonly data: JsonObject;
  readonly status: number | undefined;
  readonly logLines: readonly string[];
  readonly requestId: string | undefined;
  readonly cause: unknown;
  /** Whether it may have changed something. */
  readonly mayHaveRun: boolean;
  /** Whether a repetition can help. */
  readonly mayPass: boolean;
  /** How long the server asked to wait. */
  readonly waitMs: number | undefined;
}

interface Answer {
  readonly value: unknown;
  readonly logLines: readonly string[];
  readonly requestId: string | undefined;
}

/** One call, from its arguments to its end. */
async function run(client: ClientOptions, path: string, kind: FunctionKind, args: unknown, own: CallOptions): Promise<Result<unknown>> {
  const requestId = own.requestId ?? randomId();
  const body = JSON.stringify({ args: args ?? {} });
  const keyed = hasIdempotencyKey(args);
  const timeoutMs = own.timeoutMs ?? client.timeoutMs ?? TIMEOUT_MS[kind];
  const retries = own.retries ?? client.retries ?? RETRIES;
  const ends = Date.now() + timeoutMs;
  const stop = new AbortController();
  // The longest time that setTimeout knows; beyond it the call is not timed.
  const timer = timeoutMs <= 0x7fffffff ? setTimeout(() => { stop.abort(TIMED_OUT); }, timeoutMs) : undefined;
  const aborted = (): void => { stop.abort(own.signal?.reason); };
  if (own.signal?.aborted === true) aborted();
  own.signal?.addEventListener("abort", aborted, { once: true });
  const send = { client, path, kind, body, requestId, signal: stop.signal };
  const source = client.deployKey === undefined && own.token !== null ? (own.token ?? client.token) : undefined;
  let rejected: string | undefined;
  let mayHaveRun = false;
  let attempts = 0;
  try {
    let token = await tokenOf(source, undefined, stop.signal);
    for (;;) {
      if (typeof token === "object") return failed(token, mayHaveRun);
      if (stop.signal.aborted) return failed(stopped(stop.signal, false, undefined), mayHaveRun);
      attempts += 1;
      const outcome = await attempt(send, token);
      if ("value" in outcome) {
        if (outcome.logLines.length > 0) client.onLogLines?.(outcome.logLines, { path, requestId });
        return { ok: true, value: outcome.value, requestId: outcome.requestId ?? requestId, logLines: outcome.logLines };
      }
      mayHaveRun ||= outcome.mayHaveRun;
      if (outcome.logLines.length > 0) client.onLogLines?.(outcome.logLines, { path, requestId });
      if (outcome.code === "INVALID_CREDENTIALS" && typeof source === "function" && rejected === undefined && token !== undefined) {
        // Nothing ran. Another token than the rejected one is worth one more attempt.
        rejected = token;
        token = await tokenOf(source, rejected, stop.signal);
        if (token === undefined || token === rejected) return failed(outcome, mayHaveRun);
        continue;
      }
      const safe = kind === "query" || keyed || !outcome.mayHaveRun;
      if (!safe || !outcome.mayPass || attempts > retries) return failed(outcome, mayHaveRun);
      const spread = Math.min(BACKOFF_MS * 2 ** (attempts - 1), BACKOFF_MS_MAX) * (0.5 + Math.random() / 2);
      const waitMs = (outcome.waitMs ?? 0) + spread;
      if (Date.now() + waitMs >= ends) return failed(outcome, mayHaveRun);
      if (!(await slept(waitMs, stop.signal))) return failed(stopped(stop.signal, false, undefined), mayHaveRun);
    }
  } finally {
    clearTimeout(timer);
    own.signal?.removeEventListener("abort", aborted);
  }

  function failed(last: Attempt, changed: boolean): Result<never> {
    const details = {
      status: last.status,
      mayHaveRun: changed,
      path,
      requestId: last.requestId ?? requestId,
      logLines: last.logLines,
      attempts,
      cause: last.cause,
    };
    const message = `${path}: ${last.message}`;
    return { ok: false, error: new CallFailure(last.code, message, last.data as never, details) as ConvokeError };
  }
}

interface Sending {
  readonly client: ClientOptions;
  readonly path: string;
  readonly kind: FunctionKind;
  readonly body: string;
  readonly requestId: string;
  readonly signal: AbortSignal;
}

async function attempt(send: Sending, token: string | undefined): Promise<Answer | Attempt> {
  const { client, path, kind, signal } = send;
  const headers: Record<string, string> = { "Content-Type": "application/json", "X-Request-Id": send.requestId };
  if (client.deployKey !== undefined) headers["Authorization"] = `Convoke ${client.deployKey}`;
  else if (token !== undefined) headers["Authorization"] = `Bearer ${token}`;
  const changes = kind !== "query";
  let response: Response;
  let text: string;
  try {
    const url = `${client.url.replace(/\/+$/, "")}/api/run/${path}`;
    response = await (client.fetch ?? globalThis.fetch)(url, { method: "POST", headers, body: send.body, signal });
    text = await response.text();
  } catch (cause) {
    if (signal.aborted) return stopped(signal, changes, cause);
    const message = `The server cannot be reached: ${reasonOf(cause)}`;
    const mayHaveRun = changes && !wasNeverSent(cause);
    return { ...NOTHING, code: "CONNECTION_FAILED", message, cause, mayHaveRun, mayPass: true };
  }
  const requestId = response.headers.get("X-Request-Id") ?? undefined;
  const waitMs = retryAfterMs(response.headers.get("Retry-After"));
  const status = response.status;
  const envelope = parsed(text);
  const logLines = lines(envelope?.["logLines"]);
  if (status === 200 && envelope?.["status"] === "success" && "value" in envelope) {
    return { value: envelope["value"], logLines, requestId };
  }
  const data = objectOf(envelope?.["errorData"]);
  const code = data?.["code"];
  const message = envelope?.["errorMessage"];
  if (envelope?.["status"] !== "error" || data === undefined || typeof code !== "string" || typeof message !== "string") {
    const said = `Status ${String(status)} with a body that is no answer of a function: ${text.slice(0, 200)}`;
    const mayPass = status === 429 || (status >= 502 && status <= 504);
    return { ...NOTHING, code: "INVALID_RESPONSE", message: said, status, requestId, waitMs, mayHaveRun: changes, mayPass };
  }
  // A function that counts its callers' calls says when the next one is welcome.
  const asked = data["retryAfterMs"];
  const told = { ...NOTHING, message, data, status, logLines, requestId, waitMs: typeof asked === "number" ? asked : waitMs };
  const mayHaveRun = changes && mayHaveChanged(kind, status, code);
  if (!isServerErrorCode(code)) return { ...told, code: "UNRECOGNIZED_CODE", mayHaveRun, mayPass: false };
  // Nobody knows whether it was committed: with a key (or for a query) asking again is the way to find out.
  return { ...told, code, mayHaveRun, mayPass: RETRYABLE[code] || code === "COMMIT_UNKNOWN" };
}

const NOTHING = {
  data: {} as JsonObject,
  status: undefined,
  logLines: [] as readonly string[],
  requestId: undefined,
  cause: undefined,
  waitMs: undefined,
} as const;

/** Whether an answered failure may have left something: a failed mutation is taken back, an action may be half done. */
function mayHaveChanged(kind: FunctionKind, status: number, code: string): boolean {
  if (code === "COMMIT_UNKNOWN") return true;
  const refusedBefore = (status >= 400 && status < 500) || status === 503;
  return kind === "action" && !refusedBefore;
}

function stopped(signal: AbortSignal, mayHaveRun: boolean, cause: unknown): Attempt {
  const timedOut = signal.reason === TIMED_OUT;
  const code = timedOut ? "CLIENT_TIMEOUT" : "ABORTED";
  const message = timedOut ? "The call took longer than its timeout" : "The call was aborted";
  return { ...NOTHING, code, message, cause: timedOut ? cause : signal.reason, mayHaveRun, mayPass: false };
}

/** The token, nothing, or why there is none. */
async function tokenOf(source: TokenSource | undefined, rejected: string | undefined, signal: AbortSignal): Promise<string | undefined | Attempt> {
  if (typeof source !== "function") return source;
  try {
    const asked = Promise.resolve(source({ rejected }));
    const token = await Promise.race([asked, whenAborted(signal)]);
    return token === ABORTED ? stopped(signal, false, undefined) : (token ?? undefined);
  } catch (cause) {
    const message = `No token could be had: ${reasonOf(cause)}`;
    return { ...NOTHING, code: "TOKEN_UNAVAILABLE", message, cause, mayHaveRun: false, mayPass: false };
  }
}

const ABORTED = Symbol("aborted");

function whenAborted(signal: AbortSignal): Promise<typeof ABORTED> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(ABORTED);
    signal.addEventListener("abort", () => { resolve(ABORTED); }, { once: true });
  });
}

/** Waits; `false` if the call was stopped meanwhile. */
function slept(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve(false);
      return;
    }
    const wake = (): void => {
      clearTimeout(timer);
      resolve(false);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", wake);
      resolve(true);
    }, ms);
    signal.addEventListener("abort", wake, { once: true });
  });
}

/** The failures that Node.js reports before a byte was sent. Browsers do not tell them apart. */
const BEFORE_SENDING: ReadonlySet<unknown> = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

function wasNeverSent(thrown: unknown): boolean {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const causes: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return causes.length > 0 && causes.every((one) => BEFORE_SENDING.has(objectOf(one)?.["code"]));
}

function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown);
  if (thrown.cause === undefined) return thrown.message;
  const code = objectOf(thrown.cause)?.["code"];
  return `${thrown.message} (${typeof code === "string" ? code : reasonOf(thrown.cause)})`;
}

function hasIdempotencyKey(args: unknown): boolean {
  const key = objectOf(args)?.["idempotencyKey"];
  return typeof key === "string" && key !== "";
}

/** `Retry-After`: seconds, or a date. */
function retryAfterMs(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = Number(header);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined;
}

function parsed(text: string): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return undefined;
  }
}

function objectOf(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

function lines(value: JsonValue | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((line) => typeof line === "string") : [];
}

/** Pages outside of HTTPS have no `randomUUID`; this needs to be unlike others, not secret. */
function randomId(): string {
  const digit = (): string => Math.floor(Math.random() * 36).toString(36);
  return typeof crypto !== "undefined" && "randomUUID" in crypto ? crypto.randomUUID() : Array.from({ length: 24 }, digit).join("");
}

/** Paths by their parts; a function is its kind. One that is a module as well has its kind under `""`. */
interface Tree {
  readonly [name: string]: FunctionKind | Tree;
}

function built(client: ClientOptions, tree: Tree, prefix: string): object {
  const itself = tree[""];
  const target = typeof itself === "string" ? callable(client, prefix.slice(0, -1), itself) : {};
  for (const [name, node] of Object.entries(tree)) {
    if (name === "") continue;
    const value = typeof node === "string" ? callable(client, prefix + name, node) : built(client, node, `${prefix}${name}/`);
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true });
  }
  return target;
}

function callable(client: ClientOptions, path: string, kind: FunctionKind): object {
  const safe = (args?: unknown, options?: CallOptions): Promise<Result<unknown>> => run(client, path, kind, args, options ?? {});
  const call = async (args?: unknown, options?: CallOptions): Promise<unknown> => {
    const result = await safe(args, options);
    if (result.ok) return result.value;
    throw result.error;
  };
  return Object.assign(call, { safe, path, kind });
}
