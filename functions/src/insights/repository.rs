//! Writing the insights of a meeting, and listing their ids.

use convoke::prelude::*;
use convoke::{args, mutation, query, value};
use schema::{
    ActionItemDetail, Confidence, Fingerprint, Insight, InsightLink, IsoDate, LinkSource, Meeting, Recommendation,
    RecommendationKind, User,
};

use super::generator::insights as generated;
use super::inputs::{self, OfMeeting, Version};
use crate::meetings::participants;
use crate::webhooks;
use reading::action_items::item::ActionItem;

/// Arguments of [`keep`]: insights of some readers of one meeting.
#[args]
pub struct Keep {
    pub meeting_id: Id<Meeting>,
    pub made: Vec<ReaderInsights>,
}

/// The generated insights of one reader.
#[value]
pub struct ReaderInsights {
    pub user_id: Id<User>,
    /// Version of the reader's insights at the start of the generation.
    pub before: Option<Version>,
    pub summary: String,
    pub action_items: Vec<String>,
    /// The action items in parts, in the same order.
    pub action_item_details: Vec<ActionItemDetail>,
    pub recommendations: Vec<Recommendation>,
    pub links: Vec<InsightLink>,
    pub generator: String,
    pub source_hash: Fingerprint,
}

impl ReaderInsights {
    /// Converts the result of a generator to the stored form.
    pub fn new(
        user_id: Id<User>,
        before: Option<Version>,
        insights: generated::Insights,
        generator: String,
        source_hash: Fingerprint,
    ) -> Self {
        Self {
            user_id,
            before,
            action_items: insights.lines(),
            summary: insights.summary,
            action_item_details: insights.action_items.into_iter().map(detail).collect(),
            recommendations: insights.recommendations.into_iter().map(recommendation).collect(),
            links: insights.links.into_iter().map(link).collect(),
            generator,
            source_hash,
        }
    }
}

fn detail(one: ActionItem) -> ActionItemDetail {
    let (owner_id, owner) = one.owner.map_or((None, None), |owner| (owner.id, Some(owner.name)));
    ActionItemDetail {
        owner_id: owner_id.and_then(|id| id.parse().ok()),
        owner,
        task: one.task,
        due_text: one.due,
        due: one.due_day.and_then(|day| IsoDate::new(day.to_string()).ok()),
        evidence: Some(one.evidence),
    }
}

fn recommendation(one: generated::Recommendation) -> Recommendation {
    let kind = match one.kind {
        generated::RecommendationKind::FollowUp => RecommendationKind::FollowUp,
        generated::RecommendationKind::Networking => RecommendationKind::Networking,
        generated::RecommendationKind::Learning => RecommendationKind::Learning,
        generated::RecommendationKind::Participation => RecommendationKind::Participation,
    };
    Recommendation { kind, content: one.content, confidence: Confidence::clamped(one.confidence) }
}

fn link(one: generated::Link) -> InsightLink {
    let source = match one.kind {
        generated::LinkKind::Transcript => LinkSource::Transcript,
        generated::LinkKind::Notes => LinkSource::Notes,
    };
    InsightLink { source, url: one.url, title: one.title }
}

/// Insights of one reader that were written.
#[value]
pub struct Written {
    pub user_id: Id<User>,
    /// The new version.
    pub version: Version,
}

/// Writes insights under the ids of the previous ones, and returns the written ones. Skips readers who are no longer in
/// the meeting, or whose insights have changed since the start of the generation.
///
/// # Errors
/// A failure of the store.
#[mutation(internal)]
pub fn keep(ctx: &mut MutationCtx, args: Keep) -> Result<Vec<Written>> {
    let mut written = Vec::new();
    for made in args.made {
        if participants::find(ctx, args.meeting_id, made.user_id)?.is_none() {
            continue;
        }
        let row = ctx.db().query(Insight::by_meeting_user).eq(args.meeting_id).eq(made.user_id).unique()?;
        // Deleted insights do not count as newer.
        let is_newer = row.as_ref().is_some_and(|row| made.before.as_ref() != Some(&Version::of(row)));
        if is_newer {
            continue;
        }
        let user_id = made.user_id;
        written.push(Written { user_id, version: write(ctx, args.meeting_id, row, made)? });
    }
    if !written.is_empty() {
        webhooks::insights_ready(ctx, args.meeting_id, written.len())?;
    }
    Ok(written)
}

fn write(
    ctx: &mut MutationCtx,
    meeting_id: Id<Meeting>,
    row: Option<Doc<Insight>>,
    made: ReaderInsights,
) -> Result<Version> {
    let new = Insight {
        user_id: made.user_id,
        meeting_id,
        summary: made.summary,
        action_items: made.action_items,
        action_item_details: Some(made.action_item_details),
        recommendations: made.recommendations,
        links: made.links,
        generator: made.generator,
        source_hash: made.source_hash,
        updated_at: ctx.now(),
    };
    let (source_hash, updated_at) = (new.source_hash.clone(), new.updated_at);
    let id = match row {
        Some(row) => ctx.db_mut().patch_doc(row, |stored| *stored = new)?.id(),
        None => ctx.db_mut().insert(new)?,
    };
    Ok(Version { id, source_hash, updated_at })
}

/// Returns the ids of the insights of a meeting's participants, in order of the participants' creation.
///
/// # Errors
/// A failure of the store.
#[query(internal)]
pub fn ids(ctx: &QueryCtx, args: OfMeeting) -> Result<Vec<Id<Insight>>> {
    let rows = inputs::of_meeting(ctx, args.meeting_id)?;
    let participants = participants::all(ctx, args.meeting_id)?;
    Ok(participants.iter().filter_map(|participant| rows.get(&participant.user_id).map(Doc::id)).collect())
}
