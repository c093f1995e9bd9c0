//! A waiting user, prepared for the comparison with many others.
//!
//! Converts profiles and queue entries to normalized sets, levels and vectors, once per user rather than once per pair.
//! `score` compares two of them.

use super::fields::{Groups, Work};
use super::levels::{Level, level};
use super::names::{Names, fold_some};
use super::organizations::{Belonging, Wish};
use super::text::{Corpus, Terms, Vector};

/// A time interval in ms since the epoch, including `from` and excluding `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: i64,
    pub to: i64,
}

impl Window {
    /// Returns the rest of it at `now`; an empty window if there is none.
    pub fn cut_at(self, now: i64) -> Window {
        let from = self.from.max(now);
        Window { from, to: self.to.max(from) }
    }

    pub fn length_ms(self) -> i64 {
        (self.to - self.from).max(0)
    }

    /// Returns the intersection; empty if they do not overlap.
    pub fn overlap(self, other: Window) -> Window {
        let from = self.from.max(other.from);
        Window { from, to: self.to.min(other.to).max(from) }
    }
}

/// An interest of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interest {
    pub key: String,
    pub label: String,
}

/// The data of a user as written. An empty text means none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    pub interests: Vec<Interest>,
    pub bio: Option<String>,
    pub goals: Option<String>,
    pub experience: Option<String>,
    pub field: Option<String>,
    pub job_title: Option<String>,
    pub company: Option<String>,
    pub languages: Vec<String>,
    /// Issuer and organization id of the identity.
    pub organization: Option<(String, String)>,
    /// Availability. None without a queue entry, such as for a score that an admin requests.
    pub window: Option<Window>,
    /// Constraints of the queue entry; empty ones mean no preference.
    pub wanted_interests: Vec<String>,
    pub roles: Vec<String>,
    pub organization_wish: Option<String>,
}

/// A [`Person`] in the form for comparisons.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub(super) interests: Names,
    pub(super) wanted: Names,
    pub(super) roles: Names,
    pub(super) languages: Names,
    pub(super) level: Option<Level>,
    pub(super) work: Work,
    pub(super) belonging: Belonging,
    pub(super) wish: Wish,
    pub(super) window: Option<Window>,
    pub(super) vector: Option<Vector>,
}

/// Prepares all users of one run, in the given order. The rarity of words is computed over all of them.
pub fn candidates(people: &[Person]) -> Vec<Candidate> {
    let terms: Vec<Terms> = people.iter().map(terms).collect();
    let corpus = Corpus::of(&terms);
    people.iter().zip(&terms).map(|(person, terms)| candidate(person, corpus.vector(terms))).collect()
}

fn terms(person: &Person) -> Terms {
    let own = [&person.bio, &person.goals, &person.field, &person.job_title];
    let labels = person.interests.iter().map(|interest| interest.label.as_str());
    Terms::of(own.into_iter().flatten().map(String::as_str).chain(labels), &person.languages)
}

fn candidate(person: &Person, vector: Option<Vector>) -> Candidate {
    let keys: Vec<&str> = person.interests.iter().map(|interest| interest.key.as_str()).collect();
    let field = fold_some(person.field.as_deref());
    let company = fold_some(person.company.as_deref());
    Candidate {
        interests: Names::of(&keys),
        wanted: Names::of(&person.wanted_interests),
        roles: Names::of(&person.roles),
        languages: Names::of(&person.languages),
        level: person.experience.as_deref().and_then(level),
        work: Work { groups: field.as_deref().map(Groups::of).unwrap_or_default(), field, company: company.clone() },
        belonging: Belonging { organization: person.organization.clone(), company },
        wish: Wish::parse(person.organization_wish.as_deref()),
        window: person.window,
        vector,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_cut_at_now_and_never_negative() {
        let window = Window { from: 10, to: 20 };

        assert_eq!(window.cut_at(5), window);
        assert_eq!(window.cut_at(15), Window { from: 15, to: 20 });
        assert_eq!(window.cut_at(25).length_ms(), 0);
        assert_eq!(window.overlap(Window { from: 15, to: 30 }), Window { from: 15, to: 20 });
        assert_eq!(window.overlap(Window { from: 20, to: 30 }).length_ms(), 0);
    }
}
