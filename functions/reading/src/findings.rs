//! The findings in one meeting, shared by all its readers.
//!
//! Only this file defines the order of the steps.

use crate::action_items::item::ActionItem;
use crate::action_items::tracking::Tracked;
use crate::decisions::{Decision, by_rules, decisions};
use crate::languages::classes::Class;
use crate::languages::token::Break;
use crate::material::Material;
use crate::model::likelihood::likelihoods;
use crate::model::weights::Learned;
use crate::people::Names;
use crate::questions::open_questions;
use crate::text::sentences::Text;
use crate::topics::{Topic, topics};

/// The findings in a meeting.
#[derive(Debug)]
pub struct Findings {
    pub text: Text,
    /// Main topics, best first.
    pub topics: Vec<Topic>,
    pub items: Vec<ActionItem>,
    /// In order.
    pub decisions: Vec<Decision>,
    pub open_questions: Vec<String>,
}

impl Findings {
    /// Reads a meeting, and keeps at most this number of topics. Deterministic; the time grows with the length of the
    /// material.
    #[must_use]
    pub fn of(material: &Material, topics_max: usize) -> Findings {
        Findings::weighed(material, topics_max, Learned::known())
    }

    /// The same with other weights than the built-in ones.
    #[must_use]
    pub fn weighed(material: &Material, topics_max: usize, learned: &Learned) -> Findings {
        let mut text = Text::of(material);
        let names = Names::of(&material.people);
        let by_rules = by_rules(&text);
        let tracked = Tracked::of(&text, material, &names, &by_rules.sentences);
        let likelihoods = likelihoods(&text, material, &names, tracked.matches(), &learned.acts);
        let items = tracked.items(&likelihoods, &learned.referents);
        let absent = items.iter().filter_map(|item| item.owner.as_ref()).filter(|owner| owner.id.is_none());
        let named: Vec<u32> = absent.flat_map(|owner| text.terms_of_name(&owner.name)).collect();
        text.names.extend(named);
        let titled = titled(&text);
        text.names.extend(titled);
        let topics = topics(&text, topics_max, &learned.topics);
        let decisions = decisions(&text, &by_rules, &likelihoods);
        let open_questions = open_questions(&text, material);
        Findings { text, topics, items, decisions, open_questions }
    }
}

/// Returns the terms of names behind a title ("Mrs Vogt"), which are no topics.
fn titled(text: &Text) -> Vec<u32> {
    let mut found = Vec::new();
    for sentence in &text.sentences {
        for (at, token) in sentence.tokens.iter().enumerate().skip(1) {
            if sentence.tokens[at - 1].has(Class::Title) && token.before == Break::None && token.has_capital {
                found.extend(text.terms_of_name(&token.lower));
            }
        }
    }
    found
}
