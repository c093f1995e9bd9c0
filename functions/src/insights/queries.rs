//! Queries of the caller's insights.

use convoke::prelude::*;
use convoke::store::Cursor;
use convoke::{args, query, value};
use schema::{ActionItemDetail, Insight, InsightLink, Limit, Meeting, Recommendation, User};

use super::inputs::OfMeeting;
use crate::access::{self, Membership};

/// The caller's insights of one meeting.
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
    /// Summary of the meeting in a few sentences.
    pub summary: String,
    /// Action items as `owner: task (time)`, at most 25 words each; the caller's own come first.
    pub action_items: Vec<String>,
    /// The action items in parts, in the same order, with the due date if it was said; empty in insights of former
    /// releases.
    pub action_item_details: Vec<ActionItemDetail>,
    /// Recommendations, most confident first.
    pub recommendations: Vec<Recommendation>,
    /// Links from the meeting.
    pub links: Vec<InsightLink>,
    /// Generator and version.
    pub generator: String,
    pub created_at: Millis,
    /// Time of the last generation.
    pub updated_at: Millis,
}

/// Returns the caller's insights of a meeting; null if there are none.
///
/// # Errors
/// `FORBIDDEN`: the caller is not in the meeting.
#[query(tool, rights = access::participant(args.meeting_id))]
pub fn get_meeting_insights(ctx: &QueryCtx, membership: Membership, _: OfMeeting) -> Result<Option<OwnInsight>> {
    let row = ctx.db().query(Insight::by_meeting_user).eq(membership.meeting.id()).eq(membership.user.id()).unique()?;
    Ok(row.map(shown))
}

/// Arguments of [`list_user_insights`].
#[args]
pub struct ListUserInsights {
    #[default(Limit::default())]
    pub limit: Limit<50, 100>,
    /// Cursor of the previous page.
    pub cursor: Option<Cursor>,
}

/// Returns the caller's insights of all meetings, oldest first.
///
/// Includes insights of meetings from which the caller was removed later.
///
/// # Errors
/// `UNAUTHENTICATED`: there is no caller.
#[query(tool, rights = access::user)]
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
