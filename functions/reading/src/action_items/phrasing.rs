//! Converts words of a sentence to a line of a to-do list: the verb in its infinitive, its object, its target.
//!
//! Words that lead to the task are removed ("I'll", "can you", "just"), as are clauses behind it. "You" and "me" become names;
//! a pronoun becomes the noun of its thing.

use std::ops::Range;

use super::draft::Here;
use super::item::Owner;
use super::recipients::Recipient;
use super::tracker::Tracker;
use crate::languages::classes::Class;
use crate::languages::frames::filled;
use crate::languages::meanings::{Meaning, Pronoun};
use crate::languages::token::{Break, Token};
use crate::text::lines::uncapitalized;
use crate::text::noun_phrases::{noun_phrases, stands_for_noun};
use crate::text::tokens::is_determined;

/// A word of a task.
#[derive(Debug, Clone, PartialEq)]
enum Piece {
    /// The token at this index.
    Said(usize),
    /// A word in place of a token.
    Put(String),
}

/// A task in progress.
#[derive(Clone)]
pub(super) struct Phrasing<'l> {
    tracker: &'l Tracker<'l>,
    here: Here<'l>,
    nouns: Vec<Range<usize>>,
    words: Range<usize>,
    pieces: Vec<Piece>,
    /// The words of a second task, behind an "and".
    second: Option<Range<usize>>,
    /// A person that follows the verb and its object.
    recipient: Option<String>,
}

/// Most words of the attribute of a name.
const APPOSITION_WORDS: usize = 4;
/// Most words of a clause that are read.
const WORDS_MAX: usize = 64;
/// Number of pieces among which a subject of a task is: behind them, "who" begins a relative clause.
const SUBJECT_PIECES: usize = 3;
/// Most words of a clause before and behind its task.
const CLAUSE_WORDS: usize = 8;

/// Forms of verbs with a subject.
const FINITE: [Class; 9] = [
    Class::Me,
    Class::Third,
    Class::We,
    Class::You,
    Class::MeLater,
    Class::ThirdLater,
    Class::WeLater,
    Class::Going,
    Class::Order,
];

impl<'l> Phrasing<'l> {
    /// Returns the words without fillers, times, addressed names, and words behind them.
    pub(super) fn of(tracker: &'l Tracker<'l>, here: Here<'l>, words: Range<usize>, due: Option<&str>) -> Phrasing<'l> {
        let is_near = |place: &Range<usize>| place.start < words.start + WORDS_MAX && place.end > words.start;
        let nouns = noun_phrases(here.sentence).into_iter().filter(is_near).collect();
        let mut phrasing = Phrasing { tracker, here, nouns, words, pieces: Vec::new(), second: None, recipient: None };
        let all = phrasing.words.end.min(phrasing.words.start + WORDS_MAX);
        phrasing.words.end = all;
        phrasing.words.start = phrasing.start(phrasing.words.clone());
        phrasing.words.end = phrasing.end(phrasing.words.clone());
        let end = phrasing.words.end;
        // In languages with final verbs, the clause ends before the "and".
        let all = if here.phrases.sets_verbs_last() { here.sentence.tokens.len() } else { all };
        phrasing.second = phrasing.is_joined(end).then(|| end + 1..all.max(end + 1));
        phrasing.keep(due);
        phrasing
    }

    /// Returns the clause around some words; the verb may be at either end.
    pub(super) fn around(here: Here<'l>, words: Range<usize>) -> Range<usize> {
        let tokens = &here.sentence.tokens;
        let parts = |at: usize| {
            let token = &tokens[at];
            // "Aber" and "denn" also occur inside of clauses.
            let is_particle = token.has(Class::Opener) || token.has(Class::Contrary);
            let is_joint = (token.has(Class::Joint) || token.has(Class::Complement)) && !is_particle;
            token.is_after_break() || is_joint
        };
        let start = (words.start.saturating_sub(CLAUSE_WORDS)..=words.start).rev().find(|at| *at == 0 || parts(*at));
        let end = (words.end..tokens.len().min(words.end + CLAUSE_WORDS)).find(|at| parts(*at));
        start.unwrap_or(words.start)..end.unwrap_or(tokens.len().min(words.end + CLAUSE_WORDS)).max(words.end)
    }

    /// Returns the words of the task itself, and of a task that is joined to it.
    pub(super) fn extent(tracker: &'l Tracker<'l>, here: Here<'l>, words: Range<usize>) -> Range<usize> {
        let phrasing = Phrasing::of(tracker, here, words, None);
        let end = phrasing.words.end;
        let second = phrasing.second.map(|second| Phrasing::extent(tracker, here, second));
        phrasing.words.start..second.map_or(end, |second| second.end.max(end))
    }

    /// Returns the task within a number of words, with the task that is joined to it.
    pub(super) fn told(mut self, owner: Option<&Owner>, object: Option<&str>, words_max: usize) -> String {
        let second = self.second.take().map(|words| Phrasing::of(self.tracker, self.here, words, None));
        let points = |phrasing: &Phrasing<'_>| {
            let mut said = phrasing.words.clone();
            let is_thing = |at: usize| {
                let phrases = self.here.phrases;
                !phrases.has_agreement() || phrases.kinds(&self.tokens()[at].lower).is_some()
            };
            said.any(|at| self.tracker.stands_for_it(self.here, at) && is_thing(at) && !phrasing.is_noun(at))
        };
        let is_seconds = second.as_ref().is_some_and(&points) && !points(&self);
        let (object, of_second) = if is_seconds { (None, object) } else { (object, None) };
        let phrases = self.here.phrases;
        let joint = self.tokens().get(self.words.end).map(|token| token.lower.clone());
        let first = self.one_told(owner, object, words_max);
        let count = |text: &str| text.split_whitespace().count();
        let room = words_max.saturating_sub(count(&first) + 1);
        let second = second
            .map(|second| second.one_told(owner, of_second, WORDS_MAX))
            .filter(|second| count(second) <= room && count(second) > 1);
        let is_infinitive =
            |word: &str| phrases.classes(word).has(Class::Infinitive) || phrases.can_be_infinitive(word);
        let second =
            second.filter(|second| phrases.sets_verbs_last() || second.split(' ').next().is_some_and(is_infinitive));
        match (second, joint) {
            (Some(second), Some(joint)) if !first.is_empty() && !second.is_empty() => {
                format!("{first} {joint} {second}")
            }
            _ => first,
        }
    }

    fn one_told(mut self, owner: Option<&Owner>, object: Option<&str>, words_max: usize) -> String {
        let is_reflexive = self.is_reflexive();
        self.drop_owner(owner);
        self.name_people(owner);
        if self.here.phrases.sets_verbs_last() {
            self.end_with_verb();
        } else {
            self.lead_with_verb();
        }
        self.drop_clause();
        match object {
            Some(noun) => self.put_object(noun),
            None => self.drop_pointer(),
        }
        if let Some(person) = self.recipient.take() {
            self.insert_recipient(person);
        }
        self.shorten(words_max);
        let is_thing = self
            .pieces
            .iter()
            .all(|piece| matches!(piece, Piece::Said(at) if self.nouns.iter().any(|place| place.contains(at))));
        let ends = self.said(self.pieces.len().saturating_sub(1)).filter(|_| self.here.phrases.sets_verbs_last());
        let is_verb = |at: usize| {
            let token = &self.tokens()[at];
            token.has(Class::Infinitive) && !(self.here.phrases.capital_nouns && token.has_capital)
        };
        let is_thing = is_thing
            && !ends.is_some_and(is_verb)
            && !self.pieces.iter().any(|piece| matches!(piece, Piece::Said(at) if self.is_governed(*at)));
        let text = self.text();
        let text = if is_reflexive { self.with_reflexive(&text) } else { text };
        let frames = &self.here.phrases.frames;
        let frame = if owner.is_some() { &frames.handle } else { &frames.get };
        if is_thing && !text.is_empty() { filled(frame, &[("thing", &text)]) } else { text }
    }

    /// Names the person for whom an indirect pronoun stands: in its place or, in languages with pronouns before their
    /// verb, behind the object.
    pub(super) fn put_recipient(&mut self, recipient: &Recipient) {
        if !self.here.phrases.sets_verbs_last() {
            self.pieces.retain(|piece| *piece != Piece::Said(recipient.pronoun));
            self.recipient.clone_from(&recipient.person);
        } else if let Some(person) = &recipient.person {
            self.put_person(&[recipient.pronoun], person);
        }
    }

    /// Replaces pronouns by the person for whom they stand.
    pub(super) fn put_person(&mut self, pronouns: &[usize], person: &str) {
        let stands = |piece: &&mut Piece| matches!(piece, Piece::Said(at) if pronouns.contains(at));
        self.pieces.iter_mut().filter(stands).for_each(|piece| *piece = Piece::Put(person.to_owned()));
    }

    /// "Je m'occupe du plan": returns true if a verb of taking over has the pronoun of its own subject.
    fn is_reflexive(&self) -> bool {
        let (tokens, phrases) = (self.tokens(), self.here.phrases);
        let (own, third): (&[&str], &[&str]) = match phrases.code {
            "fr" => (&["m'", "me"], &["s'", "se"]),
            "es" | "pt" => (&["me"], &["se"]),
            "it" => (&["mi"], &["si"]),
            "de" => (&["mich"], &["sich"]),
            _ => return false,
        };
        let is_pronoun = |token: &Token, verb: &Token| {
            let stands = |class: Class| verb.has(class) || verb.has(Class::Infinitive);
            let said = token.lower.as_str();
            (own.contains(&said) && stands(Class::Me)) || (third.contains(&said) && stands(Class::Third))
        };
        let takes = |at: &usize| phrases.group(&tokens[*at].lower).starts_with("handle/");
        self.words.clone().filter(takes).any(|at| {
            let beside =
                if phrases.sets_verbs_last() { at + 1..(at + 3).min(tokens.len()) } else { at.saturating_sub(1)..at };
            tokens[beside].iter().any(|token| is_pronoun(token, &tokens[at]))
        })
    }

    /// Returns a task with the reflexive pronoun of its infinitive.
    fn with_reflexive(&self, task: &str) -> String {
        let (verb, rest) = task.split_once(' ').unwrap_or((task, ""));
        let verb = match self.here.phrases.code {
            "fr" if verb.starts_with(['a', 'e', 'i', 'o', 'u', 'é', 'h']) => format!("s'{verb}"),
            "fr" => format!("se {verb}"),
            "es" => format!("{verb}se"),
            "pt" => format!("{verb}-se"),
            "it" => format!("{}si", verb.strip_suffix('e').unwrap_or(verb)),
            "de" => format!("sich {verb}"),
            _ => verb.to_owned(),
        };
        format!("{verb} {rest}").trim_end().to_owned()
    }

    /// Returns true if no content is left.
    pub(super) fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| {
            matches!(piece, Piece::Said(at) if !self.is_noun(*at) && self.tracker.is_empty(self.here, *at..at + 1))
        })
    }

    fn tokens(&self) -> &'l [Token] {
        &self.here.sentence.tokens
    }

    fn token(&self, place: usize) -> Option<&'l Token> {
        match self.pieces.get(place)? {
            Piece::Said(at) => self.tokens().get(*at),
            Piece::Put(_) => None,
        }
    }

    fn said(&self, place: usize) -> Option<usize> {
        if let Some(Piece::Said(at)) = self.pieces.get(place) { Some(*at) } else { None }
    }

    fn is_noun(&self, at: usize) -> bool {
        let token = &self.tokens()[at];
        let is_written_small = self.here.phrases.sets_verbs_last() && !token.has_capital;
        (is_determined(self.tokens(), at, self.here.phrases) && !(is_written_small && self.here.phrases.helps(token)))
            || (self.here.phrases.capital_nouns && token.has_capital && at > 0)
            || self.nouns.iter().any(|place| place.contains(&at))
    }

    fn is_subject(&self, at: usize) -> bool {
        self.tokens().get(at).is_some_and(|token| {
            let who = self.here.phrases.pronoun(&token.lower);
            let is_person = matches!(who, Some(Pronoun::Speaker | Pronoun::Addressed | Pronoun::Everybody));
            token.is_plain_pronoun() && (is_person || !token.has(Class::Object))
        })
    }

    /// Returns the start of the task: behind addressed names and introductory words.
    fn start(&self, words: Range<usize>) -> usize {
        let (tokens, text) = (self.tokens(), &self.here.sentence.text);
        let leads = |at: usize| {
            let token = &tokens[at];
            let is_loose = token.has_any(&[Class::Interjection, Class::Between, Class::Joint]);
            is_loose || self.tracker.names.participant_at(tokens, at, text).is_some()
        };
        let mut start = words.start;
        while let Some(next) = (start + 1..words.end).find(|at| tokens[*at].is_after_break()) {
            if !(start..next).all(leads) {
                break;
            }
            start = next;
        }
        start
    }

    /// "Ruf ihn an und frag": returns true for an "and" before the verb of a second task.
    fn is_joined(&self, at: usize) -> bool {
        let token = self.tokens().get(at);
        let is_and = token.is_some_and(|token| token.has(Class::Joint) && !token.has(Class::Contrary));
        is_and && self.acts(at + 1)
    }

    /// Returns true if a verb of the first person is at a token, behind its pronouns ("e gliela mando").
    fn acts(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let is_clitic = |token: &&Token| {
            !self.here.phrases.sets_verbs_last()
                && (token.has(Class::Object) || token.has(Class::Between))
                && !token.classes.is_verb()
        };
        let at = at + tokens.iter().skip(at).take_while(is_clitic).count();
        tokens.get(at).is_some_and(|next| {
            let is_unlisted = self.here.phrases.form(&next.lower) == Some("1");
            let is_own = next.has(Class::Me) || next.has(Class::MeLater) || is_unlisted;
            is_own && !next.has(Class::Infinitive) && !next.is_after_break() && !self.is_noun(at)
        })
    }

    /// Returns the end of the task: before a clause that explains it.
    fn end(&self, words: Range<usize>) -> usize {
        let tokens = self.tokens();
        let is_verb = |at: usize| {
            let token = &tokens[at];
            let is_finite = token.has(Class::Third) || token.has(Class::Me) || token.has(Class::Past);
            let form = self.here.phrases.form(&token.lower).filter(|_| token.is_unlisted());
            let is_finite = is_finite || matches!(form, Some("1" | "3"));
            // "So don't touch them."
            let is_denied = token.has(Class::Negation) && token.lower.ends_with("n't");
            token.has(Class::Modal) || is_denied || (is_finite && !token.has(Class::Infinitive) && !self.is_noun(at))
        };
        (words.start + 1..words.end)
            .find(|at| {
                let at = *at;
                let token = &tokens[at];
                let next = (at + 1..words.end).find(|next| tokens[*next].is_after_break()).unwrap_or(words.end);
                let has_noun = self.nouns.iter().any(|place| place.start >= at && place.end <= next);
                let has_clause = (at..next).any(|at| self.is_subject(at) || is_verb(at));
                let is_list =
                    (at..words.end).any(|at| tokens[at].has(Class::Joint) && !tokens[at].has(Class::Contrary));
                let goes_on = token.has(Class::Preposition) || token.has(Class::Joint) || is_list;
                let is_hyphened = self.here.sentence.text[..token.place.start].ends_with('-');
                // "Two, three".
                let is_counted = self.here.phrases.calendar.is_number(&tokens[at - 1].lower);
                // "Muss aber auch geprüft werden."
                let is_particle = self.here.phrases.sets_verbs_last() && token.before == Break::None;
                let is_another = self.is_joined(at);
                // "Den Ordner suchen der ist seit dem Umbau weg".
                let is_demonstrative = self.here.phrases.sets_verbs_last()
                    && token.has_any(&[Class::Object, Class::Determiner])
                    && tokens[at - 1].has(Class::Infinitive)
                    && tokens.get(at + 1).is_some_and(|next| self.here.phrases.form(&next.lower) == Some("3"));
                (token.is_after_stop() && !is_hyphened)
                    || (token.before == Break::Comma && !is_counted && (has_clause || !has_noun || !goes_on))
                    || is_another
                    || is_demonstrative
                    || (token.before == Break::Pause && has_clause)
                    || (!is_particle && (token.has(Class::Opener) || token.has(Class::Contrary)))
                    || (token.has(Class::Condition) && !tokens[at - 1].has(Class::Whether))
                    || (token.has(Class::Temporal) && (self.is_subject(at + 1) || has_clause))
                    || (token.has(Class::Joint) && self.is_subject(at + 1))
            })
            .unwrap_or(words.end)
    }

    fn keep(&mut self, due: Option<&str>) {
        let (tokens, phrases) = (self.tokens(), self.here.phrases);
        let words = self.words.clone();
        let text = &self.here.sentence.text;
        let due = due.map(str::to_lowercase);
        let times = phrases.calendar.all(tokens, None);
        let is_told = |start: usize, end: usize| {
            let said = text[tokens[start].place.start..tokens[end - 1].place.end].to_lowercase();
            due.as_ref().is_some_and(|due| due.contains(&said) || said.contains(due.as_str()))
        };
        let gone: Vec<Range<usize>> = times
            .iter()
            .filter(|time| {
                time.is_deadline
                    || is_told(time.start, time.end)
                    || (due.is_some() && (time.end >= words.end || time.start <= words.start + 1))
            })
            .map(|time| time.start..time.end)
            .chain(
                phrases
                    .all(tokens, |meaning| {
                        matches!(
                            meaning,
                            Meaning::Please | Meaning::LeadIn | Meaning::PoliteCondition | Meaning::Thanks
                        )
                    })
                    .iter()
                    .map(|found| found.start..found.end),
            )
            .chain(words.clone().filter_map(|at| Some(at..phrases.latest(tokens, at)?)))
            .chain(self.reminders())
            .collect();
        let is_filler = |at: usize| {
            let token = &tokens[at];
            let others = [Class::Determiner, Class::Preposition, Class::Object, Class::Negation, Class::Joint];
            let is_pure = token.has(Class::Between) || (token.has(Class::Interjection) && !token.classes.is_verb());
            let is_particle = phrases.sets_verbs_last() && token.has(Class::Contrary) && token.before == Break::None;
            if is_particle {
                return true;
            }
            is_pure
                && !self.is_noun(at)
                && phrases.pronoun(&token.lower).is_none()
                && !phrases.is_verb_prefix(&token.lower)
                && !token.has_any(&others)
        };
        let is_kept = |at: &usize| !gone.iter().any(|place| place.contains(at)) && !is_filler(*at);
        let mut kept: Vec<usize> = words.filter(is_kept).collect();
        let is_loose = |at: &usize| tokens[*at].has(Class::Joint) || tokens[*at].has(Class::Interjection);
        while kept.first().is_some_and(is_loose) {
            kept.remove(0);
        }
        self.pieces = kept.into_iter().map(Piece::Said).collect();
    }

    /// "Denk dran, den Briefträger zu informieren", "ricordati di avvisare": returns the words of a request that only lead
    /// to an infinitive.
    fn reminders(&self) -> Vec<Range<usize>> {
        let (tokens, phrases) = (self.tokens(), self.here.phrases);
        let asked = phrases.all(tokens, |meaning| meaning == Meaning::Request);
        let asked = asked.iter().map(|found| found.start..found.end).filter(|place| place.start >= self.words.start);
        let is_infinitive = |at: usize| self.words.contains(&at) && tokens[at].has(Class::Infinitive);
        if phrases.sets_verbs_last() {
            let links = ["zu", "te"];
            let link =
                self.words.clone().rfind(|at| links.contains(&tokens[*at].lower.as_str()) && is_infinitive(at + 1));
            return link.map_or_else(Vec::new, |link| asked.chain(std::iter::once(link..link + 1)).collect());
        }
        let leads = |place: &Range<usize>| {
            let link = place.end + usize::from(tokens.get(place.end).is_some_and(|next| next.has(Class::Preposition)));
            is_infinitive(link) && tokens[place.clone()].iter().any(|token| token.classes.is_verb())
        };
        // "Ricordati di": the verb alone.
        let remembers = |at: usize| {
            let hung = phrases.without_hung(&tokens[at].lower);
            let verb = hung.as_deref().unwrap_or(&tokens[at].lower);
            phrases.group(verb).starts_with("think/")
                && tokens.get(at + 1).is_some_and(|next| next.has(Class::Preposition))
                && is_infinitive(at + 2)
        };
        let first = Some(self.words.start).filter(|first| *first < tokens.len() && remembers(*first));
        asked.filter(leads).chain(first.map(|first| first..first + 2)).collect()
    }

    /// Removes the owner's name and addressed names, which are no part of the task.
    fn drop_owner(&mut self, owner: Option<&Owner>) {
        let (tokens, text) = (self.tokens(), &self.here.sentence.text);
        let is_finite = |token: &Token| {
            let phrases = self.here.phrases;
            let is_unknown = phrases.capital_nouns && !token.has_capital && phrases.group(&token.lower).is_empty();
            let is_guessed = is_unknown && token.lower.ends_with('t');
            token.has(Class::Third) || phrases.form(&token.lower) == Some("3") || is_guessed
        };
        let mut gone = Vec::new();
        for at in self.words.clone() {
            let is_owner = owner.is_some_and(|owner| {
                let said = &text[tokens[at].place.clone()];
                tokens[at].has_capital && owner.name.split_whitespace().any(|part| part == said)
            });
            let named = self.tracker.names.participant_at(tokens, at, text);
            let is_called = named.is_some_and(|(_, end)| {
                tokens[at].is_after_break() && (end == tokens.len() || tokens[end].is_after_break())
            });
            if is_owner || is_called {
                gone.push(at);
                // "Onze conciërge Henk".
                let role =
                    at.checked_sub(1).filter(|before| tokens[*before].has(Class::Role) && !tokens[at].is_after_break());
                gone.extend(role);
                let article = role.and_then(|role| role.checked_sub(1));
                gone.extend(article.filter(|before| tokens[*before].has(Class::Determiner)));
                // "Floor van sales".
                let is_link = |token: &Token| token.has(Class::Preposition) && !token.is_after_break();
                if is_owner && tokens.get(at + 1).is_some_and(is_link) && self.here.phrases.sets_verbs_last() {
                    let more =
                        tokens[at + 1..].iter().take(APPOSITION_WORDS).take_while(|token| !is_finite(token)).count();
                    let is_before_verb = tokens.get(at + 1 + more).is_some_and(is_finite);
                    gone.extend((at + 1..at + 1 + more).filter(|_| is_before_verb));
                }
                // "Der Peter".
                let before = at.checked_sub(1).filter(|before| tokens[*before].has(Class::Determiner));
                gone.extend(before.filter(|before| !tokens[*before].has(Class::Preposition)));
            }
        }
        self.pieces.retain(|piece| !matches!(piece, Piece::Said(at) if gone.contains(at)));
    }

    /// Replaces "you" and "me" by names; in languages with pronouns before their verb, behind the task.
    fn name_people(&mut self, owner: Option<&Owner>) {
        let first = |name: &str| name.split_whitespace().next().unwrap_or(name).to_owned();
        let turns = &self.tracker.text.turns;
        let speaker = turns.get(self.here.turn);
        let is_own =
            speaker.is_some_and(|turn| owner.is_some_and(|owner| owner.id.as_deref() == Some(&turn.speaker_id)));
        let addressed = self.here.turn.checked_sub(1).and_then(|before| turns.get(before));
        let (code, verbs_last) = (self.here.phrases.code, self.here.phrases.sets_verbs_last());
        let is_romance = !verbs_last && code != "en";
        let mut place = 0;
        while place < self.pieces.len() {
            let (Some(token), Some(at)) = (self.token(place), self.said(place)) else {
                place += 1;
                continue;
            };
            let others = [Class::Determiner, Class::Object, Class::Preposition, Class::Joint];
            let is_subject = self.is_beside_verb(at);
            let is_other = token.has_any(&others);
            let is_plain =
                (!is_other || (verbs_last && is_subject && token.has(Class::Determiner))) && !self.is_noun(at);
            // "Avant qu'on imprime".
            let is_governed = at.checked_sub(1).is_some_and(|before| self.tokens()[before].has(Class::Complement));
            let is_kept = is_governed && is_subject && place > 0;
            let name = match self.here.phrases.pronoun(&token.lower).filter(|_| is_plain && !is_kept) {
                Some(Pronoun::Addressed) if is_own => addressed.map(|turn| first(&turn.speaker_name)),
                Some(Pronoun::Speaker) if !is_own => speaker.map(|turn| first(&turn.speaker_name)),
                Some(Pronoun::Addressed | Pronoun::Speaker) => None,
                Some(Pronoun::Everybody) if verbs_last || (token.has(Class::Pronoun) && is_subject) => None,
                Some(Pronoun::Somebody) if token.has(Class::Pronoun) && (verbs_last || place < SUBJECT_PIECES) => None,
                _ => {
                    place += 1;
                    continue;
                }
            };
            let name = name.filter(|_| !is_subject || !token.has(Class::Pronoun));
            match name.filter(|_| !is_romance) {
                Some(name) => {
                    self.pieces[place] = Piece::Put(name);
                    place += 1;
                }
                None => {
                    self.pieces.remove(place);
                    // "Chez moi".
                    let governs = |token: &Token| token.has(Class::Preposition) && !token.has(Class::Determiner);
                    let before = place.checked_sub(1).filter(|before| self.said(*before) == at.checked_sub(1));
                    if let Some(before) = before.filter(|before| is_romance && self.token(*before).is_some_and(governs))
                    {
                        self.pieces.remove(before);
                        place = before;
                    }
                }
            }
        }
    }

    /// Returns true if a pronoun is the subject of the adjacent verb.
    fn is_beside_verb(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let is_verb = |token: &Token| {
            // "To" is no verb in "to you".
            (self.here.phrases.helps(token) && !token.has(Class::Preposition))
                || FINITE.iter().any(|class| token.has(*class) && !token.has(Class::Infinitive))
        };
        let is_inverted = tokens[at].before == Break::None;
        let before = at.checked_sub(1).is_some_and(|before| is_verb(&tokens[before]) && is_inverted);
        let behind = tokens.get(at + 1).is_some_and(|next| is_verb(next) && next.before == Break::None);
        tokens[at].has(Class::Pronoun) && (before || behind)
    }

    fn is_finite(&self, place: usize) -> bool {
        let (Some(at), Some(token)) = (self.said(place), self.token(place)) else { return false };
        token.has_any(&FINITE) && !self.is_noun(at) && !token.has(Class::Modal)
    }

    fn is_infinitive(&self, place: usize) -> bool {
        let (Some(at), Some(token)) = (self.said(place), self.token(place)) else { return false };
        (token.has(Class::Infinitive) && !self.is_noun(at)) || self.is_governed(at)
    }

    /// "Change the lamp there's one in the office": removes a clause of its own behind the first words, up to the verb of the
    /// task if that is at the end.
    fn drop_clause(&mut self) {
        let (tokens, phrases) = (self.tokens(), self.here.phrases);
        let opens = [Class::Complement, Class::Condition, Class::ConditionFirst, Class::Temporal, Class::Opener];
        let is_open = |token: &Token| {
            token.has_any(&opens)
                || matches!(phrases.group(&token.lower), "what" | "if" | "who" | "where")
                || phrases.pronoun(&token.lower) == Some(Pronoun::Somebody)
        };
        let tells = |place: usize| {
            let (Some(token), Some(at)) = (self.token(place), self.said(place)) else { return false };
            let (verb, form) = phrases.group(&token.lower).split_once('/').unwrap_or_default();
            let is_helper = ["be", "must", "can"].contains(&verb) && !["inf", "part", "ger"].contains(&form);
            let is_final = phrases.sets_verbs_last() && form == "3" && !token.has_capital;
            let is_governed = at > 0 && tokens[at - 1].has(Class::Preposition) && !phrases.helps(token);
            (is_helper || is_final) && !token.has(Class::Infinitive) && !self.is_noun(at) && !is_governed
        };
        let main = (1..self.pieces.len()).find(|place| self.token(*place).is_some_and(is_open));
        let Some(place) = (1..main.unwrap_or(self.pieces.len())).find(|place| tells(*place)) else { return };
        // "The lamp is done, the alarm is missing": a state of another thing.
        let is_be =
            self.token(place).and_then(|token| phrases.sense(&token.lower)).is_some_and(|sense| sense.lemma == "be");
        let is_state = is_be && !phrases.sets_verbs_last() && self.said(0).is_some() && !self.is_infinitive(0);
        let is_form = |at: usize| !self.is_noun(at) && phrases.form(&tokens[at].lower) == Some("inf");
        let is_verb = |place: &usize| *place > 0 && self.said(*place).is_none_or(is_form);
        let verbs = (0..self.pieces.len()).rev().take_while(is_verb).count().max(1);
        let verbs = self.pieces.split_off(self.pieces.len() - if phrases.sets_verbs_last() { verbs } else { 0 });
        let noun_at = |piece: &Piece| {
            let Piece::Said(at) = piece else { return None };
            self.nouns.iter().find(|noun| noun.contains(at)).cloned()
        };
        let last = self.pieces.last().and_then(noun_at).filter(|noun| {
            let is_opened = noun.len() > 1 && tokens[noun.start].has(Class::Determiner);
            let has_verb = (place + 1..self.pieces.len()).any(|place| self.is_infinitive(place));
            is_opened && place + noun.len() < self.pieces.len() && (!verbs.is_empty() || (is_state && !has_verb))
        });
        match last {
            // The last noun belongs to the verb.
            Some(noun) => self.pieces.retain(|piece| matches!(piece, Piece::Said(at) if noun.contains(at))),
            None => {
                self.pieces.truncate(place);
                let end = self.pieces.iter().rposition(|piece| noun_at(piece).is_some());
                self.pieces.truncate(end.map_or(1, |end| end + 1));
            }
        }
        self.pieces.extend(verbs);
    }

    /// "Je vais réécrire": returns true for an infinitive behind an auxiliary, which may be in no file.
    fn is_governed(&self, at: usize) -> bool {
        let tokens = self.tokens();
        let phrases = self.here.phrases;
        let is_clitic = |token: &Token| token.has(Class::Between) && !token.has(Class::Preposition);
        let before = tokens[..at].iter().rev().find(|token| !is_clitic(token));
        !phrases.sets_verbs_last()
            && phrases.can_be_infinitive(&tokens[at].lower)
            && !tokens[at].is_after_break()
            && before.is_some_and(|before| before.has(Class::Modal))
    }

    /// "Ich rufe morgen Herrn Vogt an": moves the infinitive to the end.
    fn end_with_verb(&mut self) {
        let phrases = self.here.phrases;
        // "(Ruben zei) dat hij de foto's stuurt".
        let leads = |piece: &Piece| {
            matches!(piece, Piece::Said(at) if self.tokens()[*at].has(Class::Complement)
                || (self.tokens()[*at].has(Class::ThirdPronoun) && !self.tokens()[*at].has(Class::Object)))
        };
        let is_told = self.said(0).is_some_and(|at| self.tokens()[at].has(Class::Complement) && !self.is_noun(at));
        let told = self.pieces.iter().take_while(|piece| is_told && leads(piece)).count();
        self.pieces.drain(..told);
        self.drop_subject();
        let is_passive = |token: &Token| ["werden", "wird", "worden", "wordt"].contains(&token.lower.as_str());
        let passive = (0..self.pieces.len()).rfind(|place| self.token(*place).is_some_and(is_passive));
        if let Some(place) = passive.filter(|place| *place > 0) {
            let participle = self.token(place - 1).map(|token| phrases.infinitive_of_participle(&token.lower));
            if let Some(Some(infinitive)) = participle {
                self.pieces[place - 1] = Piece::Put(infinitive);
                self.pieces.truncate(place);
            }
        }
        let last = self.pieces.len().saturating_sub(1);
        // "Dat hij de tekst terugstuurt".
        let compound = self.token(last).filter(|token| !token.has_capital && !self.is_infinitive(last));
        let infinitive = compound.and_then(|token| {
            let of_participle = || phrases.infinitive_of_participle(&token.lower).filter(|_| token.is_unlisted());
            phrases.infinitive_of_compound(&token.lower).or_else(of_participle)
        });
        if let Some(infinitive) = infinitive {
            self.pieces[last] = Piece::Put(infinitive);
        }
        let ends = self.is_infinitive(last) || matches!(self.pieces.last(), Some(Piece::Put(_)));
        if ends && self.pieces.len() > 1 {
            let is_helper = |piece: &Piece| {
                let Piece::Said(at) = piece else { return false };
                let token = &self.tokens()[*at];
                phrases.helps(token) && !self.is_noun(*at)
            };
            let pieces: Vec<Piece> = self.pieces.iter().filter(|piece| !is_helper(piece)).cloned().collect();
            self.pieces = pieces;
            return;
        }
        // "Die Einheit auf Nummer zwölf stelle ich morgen auf": the verb is beside its subject.
        let is_own =
            |place: &usize| self.is_finite(*place) && self.said(*place).is_some_and(|at| self.is_beside_speaker(at));
        let finite = (0..self.pieces.len()).find(is_own);
        let finite = finite.or_else(|| (0..self.pieces.len()).find(|place| self.is_finite(*place)));
        let finite = finite.or_else(|| (0..self.pieces.len()).find(|place| self.is_guessed(*place)));
        let Some(place) = finite else {
            // "We need new brushes."
            let tokens = self.tokens();
            self.pieces.retain(|piece| !matches!(piece, Piece::Said(at) if phrases.helps(&tokens[*at])));
            return;
        };
        let Some(token) = self.token(place) else { return };
        let of_you = || token.lower.strip_suffix("st").filter(|_| phrases.code == "de").map(|stem| format!("{stem}en"));
        let known = phrases.infinitive(&token.lower).map(|verb| phrases.unprefixed(verb, &token.lower).to_owned());
        let verb = known.or_else(of_you).or_else(|| phrases.guessed(&token.lower));
        let Some(verb) = verb else { return };
        self.pieces.remove(place);
        // "Ruft … an".
        let asks = |place: usize| {
            let next = self.token(place + 1);
            next.is_none_or(|next| {
                let who = phrases.pronoun(&next.lower);
                let are_two = next.has(Class::Preposition)
                    && self.token(place).is_some_and(|token| token.has(Class::Preposition));
                are_two
                    || next.has(Class::Complement)
                    || who == Some(Pronoun::Somebody)
                    || self
                        .said(place)
                        .is_some_and(|at| next.before != Break::None || self.tokens()[at].is_after_break())
            })
        };
        // "Over dat label": a preposition with its noun.
        let governs = |place: usize| {
            let next = self.said(place).and_then(|at| self.nouns.iter().find(|noun| noun.start == at + 1));
            next.is_some_and(|noun| !self.tokens()[noun.start].is_after_break())
        };
        let asks = |place: usize| asks(place) && !governs(place);
        let is_prefix = |place: &usize| self.token(*place).is_some_and(|token| phrases.is_verb_prefix(&token.lower));
        let prefix = (0..self.pieces.len()).rfind(|place| is_prefix(place) && asks(*place));
        match prefix.and_then(|place| Some((place, self.token(place)?.lower.clone()))) {
            Some((place, prefix)) => {
                let is_there = verb.starts_with(prefix.as_str());
                self.pieces[place] = Piece::Put(if is_there { verb } else { format!("{prefix}{verb}") });
            }
            None => self.pieces.push(Piece::Put(verb)),
        }
    }

    /// "Die schickt sie", "haken Sie nach": removes pronouns that are subjects.
    fn drop_subject(&mut self) {
        let tokens = self.tokens();
        let is_own = |at: usize| {
            tokens.get(at).is_some_and(|token| {
                token.has(Class::Pronoun) && self.here.phrases.pronoun(&token.lower) == Some(Pronoun::Speaker)
            })
        };
        let first = self.said(0).filter(|at| {
            let token = &tokens[*at];
            let is_pronoun = token.has(Class::ThirdPronoun)
                || (token.has(Class::Object) && self.tracker.stands_for_it(self.here, *at));
            is_pronoun
                && self.is_finite(1)
                && self.said(1) == Some(at + 1)
                && !is_own(at + 2)
                && !self.nouns.iter().any(|place| place.contains(at))
        });
        let text = &self.here.sentence.text;
        let is_formal = |at: usize| at > 0 && &text[tokens[at].place.clone()] == "Sie";
        self.pieces.retain(|piece| !matches!(piece, Piece::Said(at) if first == Some(*at) || is_formal(*at)));
    }

    /// Returns true if an unknown word beside a subject is its verb.
    fn is_guessed(&self, place: usize) -> bool {
        let (Some(at), Some(token)) = (self.said(place), self.token(place)) else { return false };
        let tokens = self.tokens();
        let leads = place == 0 && tokens.get(at + 1).is_some_and(|next| next.has(Class::Determiner));
        let is_unknown = token.is_unlisted();
        // "Schaltet", behind its owner's name; "sagst du".
        let is_owners = place == 0 && at > 0 && is_unknown && token.lower.ends_with('t');
        let is_asked = token.lower.ends_with("st") && tokens.get(at + 1).is_some_and(|next| next.lower == "du");
        if self.here.phrases.capital_nouns && ((is_owners && !token.has_capital) || is_asked) {
            return true;
        }
        is_unknown && (!token.has_capital || at == 0) && (leads || self.is_beside_speaker(at))
    }

    /// Returns true if a token is beside "I" or "we".
    fn is_beside_speaker(&self, at: usize) -> bool {
        let is_subject = |at: usize| {
            self.tokens().get(at).is_some_and(|token| {
                let who = self.here.phrases.pronoun(&token.lower);
                token.has(Class::Pronoun) && matches!(who, Some(Pronoun::Speaker | Pronoun::Everybody))
            })
        };
        at.checked_sub(1).is_some_and(is_subject) || is_subject(at + 1)
    }

    /// Moves the infinitive to the front, and nouns before it behind it.
    fn lead_with_verb(&mut self) {
        let phrases = self.here.phrases;
        let is_english = phrases.code == "en";
        let helps = |token: &Token| {
            let be = [
                "am", "'m", "is", "'s", "are", "'re", "be", "been", "being", "'ll", "going", "gonna", "to", "'d",
                "will",
            ];
            if is_english { be.contains(&token.lower.as_str()) } else { phrases.helps(token) }
        };
        while self.pieces.len() > 1
            && self.token(0).is_some_and(helps)
            && self.said(0).is_some_and(|at| !self.is_noun(at))
        {
            self.pieces.remove(0);
        }
        let all = || 0..self.pieces.len();
        let is_bare = |place: &usize| {
            let before = self.said(*place).and_then(|at| at.checked_sub(1)).map(|at| &self.tokens()[at]);
            !before.is_some_and(|before| {
                before.has(Class::Preposition) || (before.has(Class::Determiner) && !before.has(Class::Object))
            })
        };
        let is_related = |first: &usize| {
            let token = self.token(*first).filter(|token| !token.classes.is_verb());
            token.is_some_and(|token| phrases.related(&token.lower).is_some())
                && self.said(*first).is_some_and(|at| !self.is_noun(at))
        };
        let verb = Some(0).filter(|first| self.is_finite(*first) || self.is_infinitive(*first) || is_related(first));
        // "Antes de irme cierro la cita".
        let is_behind = |place: &usize| {
            let before = self.said(*place).and_then(|at| at.checked_sub(1));
            before.is_some_and(|before| self.tokens()[before].has(Class::Preposition))
        };
        let is_own = |place: &usize| {
            let is_first = self.token(*place).is_some_and(|token| {
                (token.has(Class::Me) || token.has(Class::MeLater)) && !token.has(Class::Empty) && !phrases.helps(token)
            });
            is_first && self.is_finite(*place) && is_bare(place)
        };
        let own = || all().find(is_own);
        let infinitive = all().find(|place| self.is_infinitive(*place) && !(is_behind(place) && own().is_some()));
        let verb = verb.or_else(|| match (infinitive, own().filter(|_| !is_english)) {
            (Some(infinitive), Some(own)) if own < infinitive => Some(own),
            (infinitive, _) => infinitive,
        });
        let verb = verb.or_else(|| all().find(|place| self.is_finite(*place) && is_bare(place)));
        let verb = verb.or_else(|| all().find(|place| self.is_guessed(*place)).filter(|_| !is_english));
        if is_english {
            self.make_active();
            let known = self.token(0).filter(|_| self.is_finite(0)).and_then(|token| phrases.infinitive(&token.lower));
            let infinitive = known.map(str::to_owned).or_else(|| {
                let first = self.token(0).filter(|_| self.said(0).is_some_and(|at| !self.is_noun(at)))?;
                phrases.without_ing(&first.lower)
            });
            if let Some(infinitive) = infinitive {
                self.pieces[0] = Piece::Put(infinitive);
            }
            return;
        }
        // "(Lo que habría que) hacer es avisar".
        let is_copula = |token: &Token| phrases.group(&token.lower) == "be/3";
        let is_be = |place: usize| self.token(place).is_some_and(is_copula);
        let verb = verb.map(|verb| if is_be(verb + 1) && self.is_infinitive(verb + 2) { verb + 2 } else { verb });
        let Some(place) = verb else { return };
        let tokens = self.tokens();
        let Some(token) = self.token(place) else { return };
        let infinitive = phrases.infinitive(&token.lower).map(str::to_owned);
        let infinitive = infinitive.or_else(|| phrases.without_hung(&token.lower));
        let is_infinitive = token.has(Class::Infinitive) || self.said(place).is_some_and(|at| self.is_governed(at));
        let infinitive = infinitive.or_else(|| phrases.related(&token.lower).filter(|_| !is_infinitive));
        let infinitive =
            infinitive.or_else(|| phrases.guessed(&token.lower).filter(|_| token.is_unlisted() && !is_infinitive));
        let mut ahead: Vec<Piece> = self.pieces.drain(..place).collect();
        let is_clitic = |piece: &Piece| {
            let Piece::Said(at) = piece else { return false };
            let token = &self.here.sentence.tokens[*at];
            phrases.pronoun(&token.lower).is_some() && !self.nouns.iter().any(|place| place.contains(at))
                || token.has(Class::Pronoun)
                || token.has(Class::Negation)
                || (token.has(Class::Object) && !self.nouns.iter().any(|place| place.contains(at)))
        };
        let is_helper =
            |piece: &Piece| matches!(piece, Piece::Said(at) if phrases.helps(&tokens[*at]) || is_copula(&tokens[*at]));
        // "Simona mi ha detto che invia", "antes de irme cierro": what leads to the task.
        let leads = |piece: &Piece| {
            matches!(piece, Piece::Said(at) if tokens[*at].has(Class::Complement)
                || (tokens[*at].has(Class::Infinitive) && !self.nouns.iter().any(|place| place.contains(at))))
        };
        if let Some(last) = ahead.iter().rposition(leads) {
            ahead.drain(..=last);
        }
        ahead.retain(|piece| !is_clitic(piece) && !is_helper(piece));
        if let Some(infinitive) = infinitive {
            self.pieces[0] = Piece::Put(infinitive);
        }
        let behind = self.pieces.split_off(1.min(self.pieces.len()));
        self.pieces.extend(ahead);
        self.pieces.extend(behind);
    }

    /// "The skip needs collecting", "the report has to be sent by Friday": the verb comes first.
    fn make_active(&mut self) {
        let is_need = |token: &Token| matches!(token.lower.as_str(), "need" | "needs" | "wants");
        let is_help = |token: &Token| {
            token.has(Class::Modal)
                || is_need(token)
                || matches!(token.lower.as_str(), "be" | "has" | "have" | "ought" | "got" | "'s" | "still")
        };
        let is_passive = |place: &usize| {
            let before = place.checked_sub(1).and_then(|before| self.token(before));
            before.zip(self.token(*place)).is_some_and(|(before, token)| {
                (before.lower == "be" && !token.has(Class::Preposition) && !token.has(Class::Determiner))
                    || (is_need(before) && token.has(Class::Going))
            })
        };
        let Some(verb) = (1..self.pieces.len()).find(is_passive) else { return };
        let first = (0..verb).rev().take_while(|place| self.token(*place).is_some_and(is_help)).last().unwrap_or(verb);
        let Some(token) = self.token(verb) else { return };
        let infinitive = self.here.phrases.infinitive(&token.lower).map(str::to_owned);
        let mut active: Vec<Piece> = match infinitive.filter(|verb| verb != "do") {
            Some(infinitive) => vec![Piece::Put(infinitive)],
            None => vec![Piece::Put("get".to_owned()), self.pieces[verb].clone()],
        };
        active.splice(1..1, self.pieces[..first].iter().cloned());
        active.extend(self.pieces[verb + 1..].iter().cloned());
        self.pieces = active;
    }

    /// "Write the letter about it": removes a pronoun that only repeats what the noun before it is about.
    fn drop_pointer(&mut self) {
        let Some(last) = self.pieces.len().checked_sub(1).filter(|last| *last > 2) else { return };
        let is_pointer = |at: usize| {
            let is_thing = self.here.phrases.pronoun(&self.tokens()[at].lower) == Some(Pronoun::Thing);
            is_thing && self.tokens()[at].lower != "them" && self.tracker.stands_for_it(self.here, at)
        };
        let is_governed = self.token(last - 1).is_some_and(|token| token.has(Class::Preposition));
        let has_noun = (0..last - 1).any(|place| self.said(place).is_some_and(|at| self.is_noun(at)));
        if is_governed && has_noun && self.said(last).is_some_and(is_pointer) {
            self.pieces.truncate(last - 1);
        }
    }

    /// "Order a new one", "write that one": replaces the word for a noun by the noun, or with its pronoun by the phrase.
    fn put_noun(&mut self, place: usize, noun: &str) {
        let before = place.checked_sub(1).filter(|before| self.said(*before).map(|at| at + 1) == self.said(place));
        let leads = |class| before.and_then(|before| self.token(before)).is_some_and(|token| token.has(class));
        let is_bare = before.is_none() || leads(Class::Infinitive);
        if leads(Class::Object) {
            self.pieces.remove(place);
            self.pieces[place - 1] = Piece::Put(noun.to_owned());
        } else {
            let rest = noun.split_once(' ').filter(|(first, _)| {
                !is_bare && self.here.phrases.classes(&first.to_lowercase()).has(Class::Determiner)
            });
            self.pieces[place] = Piece::Put(rest.map_or(noun, |(_, rest)| rest).to_owned());
        }
    }

    /// Replaces the pronoun by its noun phrase, or inserts the noun phrase beside the verb.
    fn put_object(&mut self, noun: &str) {
        let is_one = |piece: &Piece| matches!(piece, Piece::Said(at) if stands_for_noun(self.here.sentence, self.here.phrases, *at));
        if let Some(place) = self.pieces.iter().position(is_one) {
            return self.put_noun(place, noun);
        }
        let stands = |piece: &Piece| {
            matches!(piece, Piece::Said(at) if self.tokens()[*at].has(Class::Object)
                && !self.nouns.iter().any(|place| place.contains(at)))
        };
        let there = self.pieces.iter().position(stands);
        // "Do row F": the noun is there already.
        let last = noun.rsplit(' ').next().unwrap_or(noun).to_lowercase();
        let is_said = (0..self.pieces.len()).any(|place| self.token(place).is_some_and(|token| token.lower == last));
        let noun = Piece::Put(noun.to_owned());
        // "Passer le voir", "terminar de redactar": the object follows the second verb.
        let behind = |place: usize| {
            let is_link = self.token(place).is_some_and(|token| token.has(Class::Preposition));
            let verb = if is_link { place + 1 } else { place };
            Some(verb).filter(|verb| *verb > 0 && self.is_infinitive(*verb))
        };
        let second = if self.here.phrases.sets_verbs_last() {
            None
        } else {
            there.map_or_else(|| behind(1), |place| behind(place + 1))
        };
        if let Some(second) = second {
            self.pieces.insert(second + 1, noun);
            there.map(|place| self.pieces.remove(place));
            return;
        }
        match there {
            Some(place) if self.here.phrases.sets_verbs_last() || place > 0 => self.pieces[place] = noun,
            Some(place) => {
                self.pieces.remove(place);
                self.pieces.insert(self.pieces.len().min(1), noun);
            }
            None if is_said => {}
            None if self.here.phrases.sets_verbs_last() => self.pieces.insert(0, noun),
            None => self.pieces.insert(self.pieces.len().min(1), noun),
        }
    }

    /// Inserts a person behind the verb and its object.
    fn insert_recipient(&mut self, person: String) {
        let ends = |token: &Token| {
            let opens = [Class::Complement, Class::Condition, Class::Joint, Class::Temporal, Class::Infinitive];
            let is_link = token.has(Class::Preposition) && self.here.phrases.group(&token.lower) != "of";
            is_link || token.has_any(&opens) || token.is_after_break()
        };
        let verbs = 1 + (1..self.pieces.len()).take_while(|place| self.is_infinitive(*place)).count();
        let object = (verbs..self.pieces.len()).take_while(|place| !self.token(*place).is_some_and(ends)).count();
        self.pieces.insert((verbs + object).min(self.pieces.len()), Piece::Put(person));
    }

    fn shorten(&mut self, words_max: usize) {
        let words = |piece: &Piece| if let Piece::Put(words) = piece { words.split_whitespace().count() } else { 1 };
        while self.pieces.len() > 1 && self.pieces.iter().map(words).sum::<usize>() > words_max {
            self.pieces.pop();
        }
        let is_loose = |token: &Token| {
            let is_bound = token.has(Class::Determiner) && !token.has(Class::Object) && !token.has(Class::Pronoun);
            is_bound || token.has_any(&[Class::Joint, Class::Interjection, Class::Preposition])
        };
        while let Some(last) = self.pieces.len().checked_sub(1).filter(|last| *last > 0) {
            let (Some(token), Some(at)) = (self.token(last), self.said(last)) else { break };
            let is_particle = at + 1 >= self.tokens().len() || self.tokens()[at + 1].is_after_break();
            let is_cut = !token.has(Class::Preposition) || !is_particle;
            if !(is_loose(token) && is_cut) || self.here.phrases.is_verb_prefix(&token.lower) {
                break;
            }
            self.pieces.pop();
        }
    }

    /// The pieces as text, with the signs between adjacent words.
    fn text(&self) -> String {
        let (tokens, said) = (self.tokens(), &self.here.sentence.text);
        let mut text = String::new();
        let mut last: Option<usize> = None;
        for piece in &self.pieces {
            let next = if let Piece::Said(at) = piece { Some(*at) } else { None };
            match (last, next) {
                (Some(last), Some(next)) if last + 1 == next => {
                    text.push_str(&said[tokens[last].place.end..tokens[next].place.start]);
                }
                _ if !text.is_empty() && !text.ends_with(['\'', '’']) => text.push(' '),
                _ => {}
            }
            match piece {
                Piece::Said(at) => {
                    let word = &said[tokens[*at].place.clone()];
                    let is_plain = !tokens[*at].is_unlisted() || !self.here.phrases.capital_nouns;
                    let is_small = *at == 0 && is_plain && !self.tracker.is_name(self.here, 0);
                    text.push_str(&if is_small { uncapitalized(word) } else { word.to_owned() });
                }
                Piece::Put(words) => text.push_str(words),
            }
            last = next;
        }
        text.trim_matches(|c: char| c.is_whitespace() || ",.;:!?–—-\"“”„«»".contains(c)).to_owned()
    }
}
