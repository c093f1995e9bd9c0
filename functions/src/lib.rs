//! The functions of the application, in folders that match their paths.
//!
//! Files with the name of an algorithm (`generator`, `tokens`, `trend`, …) are pure modules without context and
//! database. The functions beside them read rows, call these modules and write rows.
//!
//! Modules at the top are shared by all functions: rights (`access`), the audit log (`audit`), public names (`names`),
//! profiles as input of generators (`people`), events of meetings (`events`), and the scheduling of generators
//! (`generation`). `webhooks` sends events to endpoints of organizations.

#![allow(missing_docs, reason = "nobody depends on an application: an item is public for its tests and its program")]

pub mod access;
pub mod audit;
pub mod names;
pub mod people;
pub mod paging;
pub mod events;
pub mod webhooks;
pub mod generation;

pub mod users;
pub mod profiles;
pub mod interests;
pub mod meetings;
pub mod notes;
pub mod transcripts;
pub mod insights;
pub mod prompts;
pub mod matching;
pub mod realtime;
pub mod monitoring;
pub mod system;

convoke::interface! {
    title: "Backend functions of a video-meeting and networking application",
    version: "1.0.0",
    description: "\
Onboarding and profiles, meetings and their real-time sessions, transcripts, insights, prompts, collaborative notes, \
matching, presence and monitoring.

A user needs no account beforehand: the first call with a token of the identity provider makes one. Start with \
`users/mutations/saveOnboarding`, then `meetings/lifecycle/createMeeting`. Wherever a `userId` is an argument, the `sub` \
of the token stands for its user as well.",
    tags: [
        {
            name: "Users",
            description: "Accounts, onboarding, profiles and interests.",
            modules: ["users", "profiles", "interests"],
        },
        {
            name: "Meetings",
            description: "Creating and running meetings, and who takes part in them.",
            modules: ["meetings"],
        },
        {
            name: "Transcripts",
            description: "What was said: taking it in, reading it, counting it.",
            modules: ["transcripts"],
        },
        {
            name: "Insights",
            description: "What each participant takes away from a meeting.",
            modules: ["insights"],
        },
        {
            name: "Prompts",
            description: "Suggestions of what to talk about, before a meeting and during it.",
            modules: ["prompts"],
        },
        {
            name: "Notes",
            description: "The shared notes of a meeting: operations, versions, and the queue of what was written offline.",
            modules: ["notes"],
        },
        {
            name: "WebRTC",
            description: "Rooms, access tokens, media sessions and their signals.",
            modules: ["meetings/webrtc"],
        },
        {
            name: "System",
            description: "Matching, presence and subscriptions, figures, and the audit.",
            modules: ["matching", "realtime", "monitoring", "system"],
        },
        {
            name: "Workflows",
            description: "State and steps of the runs of workflows.",
            modules: ["workflows"],
        },
    ],
}
