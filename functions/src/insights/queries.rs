//! Reading one's insights.

use convoke::prelude::*;
use convoke::store::Cursor;
use convoke::{args, query, value};
use schema::{ActionItemDetail, Insight, InsightLink, Limit, Meeting, Recommendation, User};

use super::inputs::OfMeeting;
use crate::access::{self, Membership};

/// What the caller takes from one meeting.
///
/// ```json
/// {"_id": "insight_01jgfjs5r2a4n8w7k0q3d6m9vt", "userId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "meetingId": "meeting_01jgfjs5r2a4n8w7k0q3d6m9vt",
///  "summary": "12 minutes, 2 speakers (Ada, Bob). Main topics: release plan.",
///  "actionItems": ["Ada: send the report (by Friday)"],
///  "actionItemDetails": [{"ownerId": "user_01jgfjs5r2a4n8w7k0q3d6m9vt", "owner": "Ada",
///   "task": "send the report", "dueText": "by Friday", "due": "2026-01-02",
///   "evidence": ["I can do that by Friday.", "Could you send the report?"]}],
///  "recommendations": [{"type": "follow-up", "content": "Follow up on your action item: …", "confidence": 0.6}],
///  "links": [{"type": "notes", "url": "https://example.org/plan", "title": "The plan"}],
///  "generator": "builtin/7", "createdAt": 1767225600000, "updatedAt": 1767225600000}
/// ```
#[value(output)]
pub struct OwnInsight {
    #[value(rename = "_id")]
    pub id: Id<Insight>,
    pub user_id: Id<User>,
    pub meeting_id: Id<Meeting>,
    /// What the meeting was about, for them, in a few sentences.
    pub summary: String,
    /// The caller's own first, each as `owner: task (time)` in at most 25 words.
    pub action_items: Vec<String>,
    /// The same in their parts, in the same order, with the day until when where it was said; empty in insights of former
    /// releases.
    pub action_item_details: Vec<ActionItemDetail>,
    /// What they could do next, the surest first.
    pub recommendations: Vec<Recommendation>,
    /// Where what it says comes from.
    pub links: Vec<InsightLink>,
    /// What made it, with its version.
    pub generator: String,
    pub created_at: Millis,
    /// When it was made last.
    pub updated_at: Millis,
}

/// The caller's insights of a meeting; null before there are any.
///
/// # Errors
/// `FORBIDDEN`: the caller has no place in the meeting.
#[query(rights = access::participant(args.meeting_id))]
pub fn get_meeting_insights(ctx: &QueryCtx, membership: Membership, _: OfMeeting) -> Result<Option<OwnInsight>> {
    let row = ctx.db().query(Insight::by_meeting_user).eq(membership.meeting.id()).eq(membership.user.id()).unique()?;
    Ok(row.map(shown))
}

/// What [`list_user_insights`] takes.
#[args]
pub struct ListUserInsights {
    #[default(Limit::default())]
    pub limit: Limit<50, 100>,
    /// The page after the one that returned this.
    pub cursor: Option<Cursor>,
}

/// The caller's insights of all meetings, oldest first.
///
/// Also of meetings that they were removed from since, whose insights stay theirs.
///
/// # Errors
/// `UNAUTHENTICATED`: nobody calls.
#[query(rights = access::user)]
pub fn list_user_insights(ctx: &QueryCtx, user: Doc<User>, args: ListUserInsights) -> Result<Page<OwnInsight>> {
    let rows = ctx.db().query(Insight::by_user).eq(user.id());
    Ok(rows.page(args.cursor.as_ref(), args.limit.get())?.map(shown))
}

fn shown(row: Doc<Insight>) -> OwnInsight {
    let (id, created_at) = (row.id(), row.creation_time());
    let row = row.into_inner();
    OwnInsight {
        id,
        user_id: row.user_id,
        meeting_id: row.meeting_id,
        summary: row.summary,
        action_items: row.action_items,
        action_item_details: row.action_item_details.unwrap_or_default(),
        recommendations: row.recommendations,
        links: row.links,
        generator: row.generator,
        created_at,
        updated_at: row.updated_at,
    }
}
