//! Phrases of the language file for announcements: "I'll", "we need to", "who takes".

use super::clauses::Grammar;
use super::heads::{AnnouncedBy, Head};
use crate::languages::classes::Class;
use crate::languages::meanings::{Found, Meaning};
use crate::languages::token::{Break, Token};
use crate::text::tokens::is_determined;

/// Most words of a sentence in which a single word accepts a task ("Me, of course").
pub(super) const ONE_WORD_CLAIM_MAX: usize = 3;

impl Grammar<'_> {
    pub(super) fn phrase(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        let is_meant = |meaning: Meaning| match meaning {
            Meaning::RequestInQuestion => self.is_question(),
            Meaning::Label => true,
            other => other.announces(),
        };
        let Some(found) = self.phrases.at(tokens, at, is_meant) else {
            return self.order(at);
        };
        let Found { meaning, end, has_verb, .. } = found;
        // "Me." is complete, "me, I …" is not.
        let says_little =
            |token: &Token| token.has_any(&[Class::Interjection, Class::Between, Class::Joint, Class::Pronoun]);
        let is_alone = tokens.len() <= ONE_WORD_CLAIM_MAX && tokens.iter().all(says_little);
        if meaning == Meaning::Claim && end == at + 1 && !is_alone {
            return self.order(at);
        }
        // "Mal ich" is "once I", not "I paint".
        if meaning == Meaning::Speaker && end > at + 1 && tokens[at].has(Class::Between) && tokens[at].has(Class::Me) {
            return None;
        }
        // "Vind ik wel": a claim of two words begins its clause.
        let leads = [Class::Joint, Class::Interjection, Class::Between, Class::Consequence, Class::Opener];
        let is_inside = at > 0 && tokens[at].before == Break::None && !tokens[at - 1].has_any(&leads);
        if meaning == Meaning::Claim && end <= at + 2 && tokens[at].has(Class::Pronoun) && is_inside {
            return None;
        }
        // "Then I'll take four."
        let is_counted = tokens
            .get(end)
            .is_some_and(|next| next.before == Break::None && self.phrases.calendar.is_number(&next.lower));
        if meaning == Meaning::Claim && is_counted {
            return None;
        }
        // "When will you have it?"
        let asks_when = |from: usize| self.meets(Meaning::When, from..at);
        if meaning == Meaning::Claim && asks_when(at.saturating_sub(3)) {
            return None;
        }
        // "The walls I'll do": the object precedes.
        let next =
            (end..tokens.len()).find(|at| !tokens[*at].has(Class::Between) || tokens[*at].has(Class::Determiner));
        let has_object = next.is_some_and(|next| {
            let token = &tokens[next];
            let is_other = token.has(Class::NoTopic) && !token.classes.is_verb();
            token.before == Break::None
                && ((token.has(Class::Determiner) && self.has_noun(next + 1..tokens.len().min(next + 2))) || is_other)
        });
        // "Dann mach ich das Poster": the last word of the phrase is an article.
        let is_article = end > at + 1
            && tokens[end - 1].has(Class::Determiner)
            && tokens.get(end).is_some_and(|next| next.before == Break::None && next.is_unlisted());
        let is_topic = |meaning| meaning == Meaning::Claim && (has_object || is_article || self.has_topic_before(at));
        // "Lo faccio pubblicare": the action follows.
        let goes_on = meaning == Meaning::Claim
            && tokens.get(end).is_some_and(|next| {
                next.before == Break::None && next.has(Class::Infinitive) && !next.has(Class::Between)
            })
            && !self.phrases.sets_verbs_last();
        let (meaning, has_verb) =
            if is_topic(meaning) || goes_on { (Meaning::Speaker, true) } else { (meaning, has_verb) };
        let addressed = || AnnouncedBy::Addressed(self.addressee());
        let (by, is_offer, is_asked) = match meaning {
            Meaning::Speaker | Meaning::SpeakerSoon | Meaning::Intended => {
                (AnnouncedBy::Speaker, self.is_question() || self.asks_first(at), false)
            }
            Meaning::SpeakerCan | Meaning::SpeakerOffers => (AnnouncedBy::Speaker, true, false),
            Meaning::Claim => (AnnouncedBy::Claim, false, false),
            // "Could somebody look at it?" addresses all.
            Meaning::Somebody if self.is_question() => (AnnouncedBy::Addressed(None), false, true),
            // "She must", "we have to" have an owner.
            Meaning::NeedSoon if self.has_pronoun_before(at) => return None,
            Meaning::Somebody => (AnnouncedBy::Somebody, false, false),
            Meaning::Everybody | Meaning::Together | Meaning::Need | Meaning::NeedSoon => {
                (AnnouncedBy::Everybody, false, false)
            }
            Meaning::EverybodyMaybe => (AnnouncedBy::Everybody, true, false),
            // "Please do" agrees.
            Meaning::Request
                if self.phrases.at(tokens, at, |one| one == Meaning::Yes).is_some_and(|yes| yes.end >= end) =>
            {
                return None;
            }
            // "When will you put it online?"
            Meaning::RequestInQuestion if self.meets(Meaning::When, 0..at) => return None,
            // "Hard hats, please, I had to shout".
            Meaning::Request if self.is_only_please(&found) => return self.order(at),
            Meaning::Request | Meaning::RequestInQuestion => (addressed(), false, true),
            // "A version that crashes" is no request.
            Meaning::Volunteer if !self.begins_clause(at) || self.is_told_only() => return None,
            Meaning::Volunteer => (AnnouncedBy::Anybody, true, true),
            Meaning::Label => {
                let is_label = tokens.get(end).is_some_and(Token::is_after_stop);
                return is_label.then(|| Head::new(AnnouncedBy::Label, at, end, false));
            }
            _ => return None,
        };
        // "The container has to go by Friday, Joe."
        let called = self.called().filter(|(_, name)| *name > end);
        let (by, is_asked) = match called {
            Some((named, _)) if by == AnnouncedBy::Everybody && !matches!(meaning, Meaning::Together) => {
                (AnnouncedBy::Addressed(Some(named)), true)
            }
            _ => (by, is_asked),
        };
        // "The work tomorrow": a noun that looks like a form of a verb.
        let is_noun = tokens[at].classes.is_verb()
            && (is_determined(tokens, at, self.phrases)
                || (at > 0 && tokens[at].before == Break::None && tokens[at - 1].has(Class::Preposition)));
        let is_call = end == at + 1 && tokens[at].has(Class::Interjection);
        if (is_noun || is_call) && matches!(meaning, Meaning::Speaker | Meaning::RequestInQuestion) {
            return None;
        }
        // "Let's do that" agrees.
        let agrees =
            self.phrases.at(tokens, at, |meaning| meaning == Meaning::Agreed).is_some_and(|found| found.end > end);
        if agrees && by == AnnouncedBy::Everybody {
            return None;
        }
        // "Can I help?" is a question; only a request, an offer and a call for a person can be one.
        if self.is_question() && matches!(by, AnnouncedBy::Everybody | AnnouncedBy::Somebody) {
            return None;
        }
        Some(Head {
            is_offer,
            is_asked,
            is_intended: meaning == Meaning::Intended,
            wants_time: meaning == Meaning::SpeakerSoon,
            wants_deadline: meaning == Meaning::NeedSoon,
            can: meaning == Meaning::SpeakerCan,
            is_together: meaning == Meaning::Together,
            is_need: matches!(meaning, Meaning::Need | Meaning::NeedSoon),
            ..Head::new(by, at, end, has_verb || matches!(meaning, Meaning::Need | Meaning::NeedSoon))
        })
    }

    /// "Zal ik de pers uitnodigen", without a question mark: in languages with final verbs, a verb at the beginning
    /// makes a question.
    fn asks_first(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let leads = |token: &Token| token.has(Class::Interjection) && !token.has(Class::Consequence);
        self.phrases.sets_verbs_last()
            && tokens[at].has(Class::Modal)
            && tokens[..at].iter().all(leads)
            && !self.is_told_only()
    }

    /// "Ich habe mit ihm geredet und schicke es morgen": the subject precedes only the first verb.
    pub(super) fn continued(&self, at: usize) -> Option<Head> {
        let tokens = self.tokens();
        let is_continued = self.phrases.sets_verbs_last()
            && at > 1
            && tokens[at].before == Break::None
            && tokens[at - 1].has(Class::Joint)
            && tokens[at].has(Class::Me)
            && !tokens[at].has(Class::Between)
            && !tokens[at].has_capital
            && tokens.get(at + 1).is_some_and(|next| next.before == Break::None && !next.has(Class::Pronoun))
            && (1..at).any(|at| self.is_first_person(at))
            && !self.is_question();
        is_continued.then(|| Head { wants_time: true, ..Head::new(AnnouncedBy::Speaker, at, at + 1, true) })
    }
}
