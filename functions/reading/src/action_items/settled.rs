//! Creates action items from the sentences that settle a task.
//!
//! The `likelihood` of a sentence decides that it settles a task. The rules' draft of the same sentence gives the owner, if
//! the owner is not the speaker, and the due date. In a short talk, drafts become items without the classifier, because
//! there is too little context for it. Tasks of the notes become items as they are written.

use chrono::NaiveDate;
use rustc_hash::FxHashSet;

use super::draft::{Draft, Here, due_of};
use super::item::{ActionItem, LINE_WORDS_MAX, Owner, TASK_WORDS_MAX};
use super::owners::is_attribute;
use super::tracker::Tracker;
use super::words::says_what;
use crate::commitments::clauses::{Grammar, is_question};
use crate::commitments::heads::AnnouncedBy;
use crate::languages::classes::Class;
use crate::languages::meanings::{Meaning, Pronoun};
use crate::languages::token::{Break, Token};
use crate::model::acts::{Act, Announced, Drafted, Fate, Stage};
use crate::model::likelihood::Likelihood;
use crate::model::referents::{NounPhrase, Referents};
use crate::model::weights::Weights;
use crate::people::Named;
use crate::text::sentences::{Sentence, Source, normalized};

/// Lowest likelihood of each act.
const LIKELY: [(Act, f64); 3] = [(Act::Own, 0.38), (Act::Unassigned, 0.25), (Act::Others, 0.25)];
/// The same for a sentence that says that someone should do it.
const CALLED: f64 = 0.1;
/// Smallest distance, in sentences, of two items of the same kind by one speaker.
const APART_SENTENCES: usize = 3;
/// Most sentences between a settled sentence and its draft.
const DRAFT_SENTENCES: usize = 1;
/// Most sentences between a name and its task.
const NAMED_SENTENCES: usize = 4;
/// Most letters of words that two tasks may share without being the same.
const SMALL_CHARS: usize = 3;
/// Most items whose object is named: more than any talk has.
const ABOUT_ITEMS_MAX: usize = 500;
/// Most sentences of a talk in which the drafts of the rules count too, because there is too little context for the
/// classifier.
const FEW_SENTENCES: usize = 12;
/// Likelihood of [`Act::NoTask`] above which a sentence settles nothing.
const NOTHING: f64 = 0.35;
/// The same for a sentence that is surely a person's task, and its likelihood.
const NOTHING_AT_ALL: f64 = 0.5;
const SURE: f64 = 0.85;
/// The same for an earlier sentence, above which no item refers to it.
const NOTHING_BEFORE: f64 = 0.7;

/// A sentence that settles an item.
#[derive(Clone, Copy)]
pub(super) struct Settled {
    pub(super) index: usize,
    pub(super) act: Act,
    /// Likelihood above the limit.
    margin: f64,
}

/// Existing items: the index of their sentence, their owner and their task.
type Known = FxHashSet<(usize, Option<Owner>, String)>;

impl Tracker<'_> {
    /// Returns the items in order: those settled in the transcript, and those of the notes.
    pub(super) fn settled(&self, likelihoods: &[Option<Likelihood>], weights: &Weights<1>) -> Vec<ActionItem> {
        let likely = self.likely(likelihoods);
        let about = About { referents: Referents::of(self.text), weights, likelihoods };
        let about = |items: usize| (items < ABOUT_ITEMS_MAX).then_some(&about);
        let mut items = Vec::new();
        let mut known = Known::default();
        let drafts = self.drafts_by_sentence();
        let mut is_told = vec![false; self.drafts.len()];
        let is_marked = |index: usize| drafts[index].iter().any(|at| self.drafts[*at].is_marked);
        for settled in likely.into_iter().filter(|settled| !is_marked(settled.index)) {
            let draft = self.draft_of(settled, &drafts, &is_told);
            draft.into_iter().for_each(|at| is_told[at] = true);
            let draft = draft.map(|at| &self.drafts[at]);
            if !draft.is_some_and(|draft| self.is_noted(draft)) {
                let item = self.item(settled, draft, about(items.len()), &mut known);
                items.extend(item.map(|item| (settled.index, item)));
            }
        }
        let is_few = likelihoods.len() <= FEW_SENTENCES;
        let missed = self.drafts.iter().zip(is_told).filter(|(_, is_told)| !is_told).map(|(draft, _)| draft);
        let counts = |draft: &&Draft| {
            let is_agreed = || self.is_promised(draft, likelihoods) || self.is_agreed(draft, likelihoods);
            draft.is_told() && !self.is_noted(draft) && (is_few || is_agreed())
        };
        for draft in missed.filter(counts) {
            // A statement beside it has told the task in other words.
            let is_near = |index: usize| index.abs_diff(draft.settled) < APART_SENTENCES;
            let is_there = |(index, item): &(usize, ActionItem)| is_near(*index) && item.owner == draft.item.owner;
            if !is_few && items.iter().any(is_there) {
                continue;
            }
            let settled = Settled { index: draft.settled, act: self.whose_is(draft, draft.settled), margin: 0.0 };
            let item = self.item(settled, Some(draft), about(items.len()), &mut known);
            items.extend(item.map(|item| (settled.index, item)));
        }
        let noted = self.drafts.iter().filter(|draft| draft.is_told() && self.is_noted(draft));
        items.extend(noted.filter_map(|draft| Some((draft.settled, draft.item.clone().bounded()?))));
        items.sort_by_key(|(index, _)| *index);
        once(self.redated(items))
    }

    /// Returns the sentences with sufficient likelihood in order; of neighbours with the same content, the likeliest.
    fn likely(&self, likelihoods: &[Option<Likelihood>]) -> Vec<Settled> {
        let mut found = Vec::new();
        for (index, likelihood) in likelihoods.iter().enumerate() {
            let is_possible = |likelihood: &Likelihood| {
                let nothing = likelihood.of(Act::NoTask);
                let is_sure = || likelihood.of(Act::Others).max(likelihood.of(Act::Own)) > SURE;
                nothing < NOTHING || (nothing < NOTHING_AT_ALL && is_sure())
            };
            let Some(likelihood) = likelihood.filter(is_possible) else { continue };
            if self.matches[index].announced.is_empty() && self.only_tells(index, &likelihood) {
                continue;
            }
            // "She'll have it done on Thursday" is no task of the speaker.
            let is_others = self.is_only_of_others(index);
            let is_taken = self.is_taken_later(index);
            let calls = likelihood.of(Act::NoTask) < NOTHING && self.calls_somebody(index);
            let least = |act: Act, least: f64| if calls && act == Act::Unassigned { CALLED } else { least };
            let acts = LIKELY.iter().filter(|(act, _)| match act {
                Act::Own => !is_others,
                Act::Unassigned => !is_taken,
                _ => true,
            });
            let margins = acts.map(|(act, limit)| (*act, likelihood.of(*act) - least(*act, *limit)));
            let likely = margins.filter(|(_, margin)| *margin >= 0.0).max_by(|one, other| one.1.total_cmp(&other.1));
            found.extend(likely.map(|(act, margin)| Settled { index, act, margin }));
        }
        // Of equals the first.
        found.sort_by(|one: &Settled, other| other.margin.total_cmp(&one.margin));
        let mut kept: Vec<Option<Settled>> = vec![None; likelihoods.len()];
        for settled in found {
            let from = settled.index.saturating_sub(APART_SENTENCES);
            let until = kept.len().min(settled.index + APART_SENTENCES + 1);
            let speaker = |index: usize| self.speaker_of(&self.text.sentences[index]);
            let is_same = |one: &Settled| one.act == settled.act && speaker(one.index) == speaker(settled.index);
            if !kept[from..until].iter().flatten().any(is_same) {
                kept[settled.index] = Some(settled);
            }
        }
        kept.into_iter().flatten().collect()
    }

    fn is_english(&self, index: usize) -> bool {
        self.text.sentences[index].language.phrases().is_some_and(|phrases| phrases.code == "en")
    }

    /// Returns true if a later sentence gives the need of a sentence to a person.
    fn is_taken_later(&self, index: usize) -> bool {
        let is_taken =
            |draft: &Drafted| draft.stage == Stage::Begun && draft.act != Act::Unassigned && draft.fate == Fate::Firm;
        let drafts = &self.matches[index].drafts;
        self.is_english(index) && !drafts.is_empty() && drafts.iter().all(is_taken)
    }

    /// Returns true if all announcements of a sentence are those of named people, and the speaker is not mentioned.
    fn is_only_of_others(&self, index: usize) -> bool {
        let announced = &self.matches[index].announced;
        let is_of_person = |one: &Announced| ["named", "last named"].contains(&one.whose);
        let sentence = &self.text.sentences[index];
        let mentions = |token: &Token| {
            let phrases = sentence.language.phrases();
            phrases.is_some_and(|phrases| phrases.pronoun(&token.lower) == Some(Pronoun::Speaker))
        };
        !announced.is_empty() && announced.iter().all(is_of_person) && !sentence.tokens.iter().any(mentions)
    }

    /// Returns true if the addressed participant accepted a task, which needs no likelihood: "Okay." says little.
    fn is_agreed(&self, draft: &Draft, likelihoods: &[Option<Likelihood>]) -> bool {
        let is_something =
            |index: usize| likelihoods[index].is_some_and(|likelihood| likelihood.of(Act::NoTask) < NOTHING);
        // "Oh yes, it was cold in there" tells of the past.
        let is_past = self.here(draft.settled).is_some_and(tells_past);
        self.is_english(draft.settled)
            && !is_past
            && draft.is_accepted
            && draft.is_requested
            && draft.item.owner.as_ref().is_some_and(|owner| owner.id.is_some())
            && is_something(draft.sentence)
            && is_something(draft.settled)
            && !draft.terms.is_empty()
    }

    /// Returns true if a sentence that announces nothing rather states a decision, or tells what happened.
    fn only_tells(&self, index: usize, likelihood: &Likelihood) -> bool {
        let decides = self.matches[index].decides
            && LIKELY.iter().all(|(act, _)| likelihood.of(*act) < likelihood.of(Act::Decision));
        let is_plain_yes = self.matches[index].drafts.is_empty() && self.here(index).is_some_and(only_agrees);
        decides || is_plain_yes || self.here(index).is_some_and(tells_past)
    }

    /// "Marc, send me the list, please." – "Okay.": returns true for a request to a named participant who agrees. It counts
    /// whatever the classifier says.
    fn is_promised(&self, draft: &Draft, likelihoods: &[Option<Likelihood>]) -> bool {
        let Some((asked, words)) = draft.said.clone().filter(|_| draft.is_told() && draft.is_accepted) else {
            return false;
        };
        let is_nothing = likelihoods[asked].is_some_and(|likelihood| likelihood.of(Act::NoTask) >= NOTHING);
        let sentence = &self.text.sentences[asked];
        let grammar = Grammar::of(sentence, self.names);
        let is_called = grammar.is_some_and(|grammar| {
            grammar.announcements().iter().any(|one| {
                let AnnouncedBy::Addressed(Some(named)) = &one.by else { return false };
                one.is_asked && self.owner(named) == draft.item.owner
            })
        });
        let is_here = draft.item.owner.as_ref().is_some_and(|owner| owner.id.is_some());
        let has_noun = grammar.is_some_and(|grammar| grammar.has_noun(words));
        is_called && is_here && has_noun && !is_nothing && draft.settled != asked
    }

    /// "Iemand zou de monteur moeten bellen": returns true if a sentence says that someone should do a thing.
    fn calls_somebody(&self, index: usize) -> bool {
        let sentence = &self.text.sentences[index];
        let grammar = Grammar::of(sentence, self.names).filter(|grammar| !grammar.is_question());
        grammar.is_some_and(|grammar| {
            let mut all = grammar.announcements().into_iter();
            all.any(|one| one.by == AnnouncedBy::Somebody && grammar.has_noun(one.task))
        })
    }

    /// Returns true if a draft is a task as it is written: in the notes, or behind a label.
    fn is_noted(&self, draft: &Draft) -> bool {
        draft.is_marked || !matches!(self.text.sentences[draft.settled].source, Source::Turn(_))
    }

    /// Returns the unused draft of a settled sentence, if there is one.
    fn draft_of(&self, settled: Settled, drafts: &[Vec<usize>], is_told: &[bool]) -> Option<usize> {
        let speaker = self.speaker_of(&self.text.sentences[settled.index]);
        let is_meant = |draft: &Draft| {
            let owner = draft.item.owner.as_ref();
            let is_own = owner.is_some_and(|owner| owner.id.as_deref() == speaker);
            match settled.act {
                Act::Own => is_own,
                Act::Others => owner.is_some() && !is_own,
                Act::Unassigned | Act::Decision | Act::NoTask => owner.is_none(),
            }
        };
        let from = settled.index.saturating_sub(DRAFT_SENTENCES);
        let until = drafts.len().min(settled.index + DRAFT_SENTENCES + 1);
        let key = |index: usize, at: usize| (settled.index.abs_diff(index), at);
        let near = (from..until).flat_map(|index| drafts[index].iter().map(move |at| key(index, *at)));
        near.filter(|(_, at)| !is_told[*at] && !self.drafts[*at].is_dropped && is_meant(&self.drafts[*at]))
            .min()
            .map(|(_, at)| at)
    }

    /// The drafts by the sentences in which they began and last changed.
    fn drafts_by_sentence(&self) -> Vec<Vec<usize>> {
        let mut drafts = vec![Vec::new(); self.text.sentences.len()];
        for (at, draft) in self.drafts.iter().enumerate() {
            drafts[draft.sentence].push(at);
            if draft.settled != draft.sentence {
                drafts[draft.settled].push(at);
            }
        }
        drafts
    }

    /// Returns the item of a settled sentence, unless it exists already.
    fn item(
        &self,
        settled: Settled,
        draft: Option<&Draft>,
        about: Option<&About<'_>>,
        known: &mut Known,
    ) -> Option<ActionItem> {
        let sentence = &self.text.sentences[settled.index];
        if settled.act == Act::Own && (self.is_refused(settled.index) || is_hypothetical(sentence)) {
            return None;
        }
        let owner = match settled.act {
            Act::Own => self.owner_of_speaker(self.here(settled.index)?),
            Act::Others => {
                let known = draft.and_then(|draft| draft.item.owner.clone());
                Some(known.or_else(|| self.somebody_else(settled.index))?)
            }
            Act::Unassigned | Act::Decision | Act::NoTask => None,
        };
        // A question gives no task to a person who is not here.
        let is_here = owner.as_ref().is_some_and(|owner| owner.id.is_some());
        if settled.act == Act::Others && !is_here && is_question(&sentence.text) {
            return None;
        }
        let due = draft.and_then(|draft| Some((draft.item.due.clone()?, draft.item.due_day)));
        let due = due.or_else(|| self.time_of(settled.index));
        let words = |text: &str| text.split_whitespace().count();
        let around = owner.as_ref().map_or(0, |owner| words(&owner.name)) + due.as_ref().map_or(0, |due| words(&due.0));
        let words_max = LINE_WORDS_MAX.saturating_sub(around).min(TASK_WORDS_MAX);
        let due_text = due.as_ref().map(|due| due.0.as_str());
        let worded = self.worded(settled, draft, owner.as_ref(), due_text, about?, words_max)?;
        let is_told = self.here(settled.index).is_some_and(|here| says_what(here, &worded.task));
        if !is_told || !known.insert((settled.index, owner.clone(), worded.task.clone())) {
            return None;
        }
        let (due, due_day) = due.map_or((None, None), |(due, day)| (Some(due), day));
        let answered = worded
            .answered
            .filter(|answered| *answered != settled.index)
            .map(|answered| self.text.sentences[answered].text.clone());
        let evidence = std::iter::once(sentence.text.clone()).chain(answered).collect();
        ActionItem { owner, task: worded.task, due, due_day, evidence }.bounded()
    }

    /// "I'll send it to them, okay?" – "No need.": returns true for an offer that the next speaker refuses.
    fn is_refused(&self, index: usize) -> bool {
        let sentences = &self.text.sentences;
        let asks = |index: usize| sentences.get(index).is_some_and(|sentence| is_question(&sentence.text));
        let speaker = self.speaker_of(&sentences[index]);
        let mut next = sentences.iter().skip(index + 1).skip_while(|one| self.speaker_of(one) == speaker);
        let refuses = |one: &Sentence| {
            one.language.phrases().is_some_and(|phrases| phrases.has(&one.tokens, Meaning::No))
                && !one.language.phrases().is_some_and(|phrases| phrases.has(&one.tokens, Meaning::Thanks))
        };
        asks(index) && next.next().is_some_and(refuses)
    }

    /// Returns the person who is named in a sentence or before it, and does not speak in it.
    fn somebody_else(&self, index: usize) -> Option<Owner> {
        let speaker = self.speaker_of(&self.text.sentences[index]);
        (index.saturating_sub(NAMED_SENTENCES)..=index).rev().find_map(|at| {
            let named = self.named_in(at);
            let named = named.into_iter().filter(|owner| owner.id.is_none() || owner.id.as_deref() != speaker);
            // In the sentence itself the first name is its subject; before it, the last name was mentioned.
            let mut named: Vec<Owner> = named.filter(|owner| at == index || owner.id.is_none()).collect();
            // A person with a name rather than a role.
            let is_role = |owner: &Owner| !self.text.sentences[at].text.contains(owner.name.as_str());
            named.sort_by_key(|owner| (owner.id.is_some(), at == index && is_role(owner)));
            let at = if at == index { 0 } else { named.len().checked_sub(1)? };
            (at < named.len()).then(|| named.swap_remove(at))
        })
    }

    /// Returns the person who is named in a sentence, by name or by role.
    fn named_in(&self, index: usize) -> Vec<Owner> {
        let sentence = &self.text.sentences[index];
        let Some(phrases) = sentence.language.phrases() else { return Vec::new() };
        let mut named = Vec::new();
        let mut at = 0;
        while at < sentence.tokens.len() {
            let token = &sentence.tokens[at];
            if let Some((name, end)) = self.names.at(&sentence.tokens, at, &sentence.text, phrases) {
                // "Hablé con ella": the first word has a capital anyway.
                let is_noun = at == 0
                    && matches!(name, Named::Other(_))
                    && !token.has(Class::Title)
                    && sentence.tokens.get(end).is_some_and(|next| {
                        next.has(Class::Preposition) && !next.is_after_break() && !phrases.capital_nouns
                    });
                named.extend(self.owner(&name).filter(|_| !is_noun));
                at = end.max(at + 1);
                continue;
            }
            if token.has(Class::Role) && !self.here(index).is_some_and(|here| is_attribute(here, at)) {
                let said = || Named::Other(sentence.text[token.place.clone()].to_owned());
                let name = self.names.of_role(&sentence.tokens, at, &sentence.text, phrases);
                named.extend(self.owner(&name.unwrap_or_else(said)));
            }
            at += 1;
        }
        named
    }

    /// Returns a time in a sentence, as it is said, and its day.
    fn time_of(&self, index: usize) -> Option<(String, Option<NaiveDate>)> {
        let here = self.here(index)?;
        let times = self.times(here);
        let time = times.iter().find(|time| time.is_deadline).or(times.first())?;
        Some(due_of(here, time))
    }
}

/// "Yep, got it.": returns true if a few words only agree. Without a request before them they accept nothing.
fn only_agrees(here: Here<'_>) -> bool {
    let tokens = &here.sentence.tokens;
    let agrees = here.phrases.all(tokens, |meaning| meaning == Meaning::Yes);
    let is_said = |at: usize| agrees.iter().any(|found| (found.start..found.end).contains(&at));
    (0..tokens.len()).all(|at| is_said(at) || tokens[at].has(Class::Interjection))
}

/// "I called them on Tuesday", "I did sign it": returns true if a subject has a verb in the past. In English only: in
/// other languages the past has an auxiliary, which also occurs in "I have it done by Friday".
fn tells_past(here: Here<'_>) -> bool {
    let tokens = &here.sentence.tokens;
    let is_subject = |token: &Token| token.is_plain_pronoun();
    let is_past = |token: &Token| {
        // "As I said" tells of no work.
        !token.has(Class::Report)
            && here
                .phrases
                .sense(&token.lower)
                .is_some_and(|sense| sense.group.ends_with("/past") || token.has(Class::Done))
    };
    let verb_of = |at: usize| tokens[at + 1..].iter().find(|token| !token.has(Class::Between));
    here.phrases.code == "en" && (0..tokens.len()).any(|at| is_subject(&tokens[at]) && verb_of(at).is_some_and(is_past))
}

/// "Komt die terug, dan kijk ik ernaar": a verb at the beginning makes a condition, in languages with final verbs.
fn is_hypothetical(sentence: &Sentence) -> bool {
    let Some(phrases) = sentence.language.phrases().filter(|phrases| phrases.sets_verbs_last()) else { return false };
    let tokens = &sentence.tokens;
    let is_verb = |token: &Token| token.has(Class::Third) || matches!(phrases.form(&token.lower), Some("3" | "cond"));
    let is_consequence = |token: &Token| token.has(Class::Consequence) && token.before == Break::Comma;
    tokens.first().is_some_and(is_verb) && tokens.iter().skip(2).any(is_consequence)
}

/// Removes repeated tasks: of the same task with and without an owner, the one with an owner stays. A need that a person
/// answers by a task is the same.
fn once(items: Vec<ActionItem>) -> Vec<ActionItem> {
    let owned = || items.iter().filter(|item| item.owner.is_some());
    let answers = |need: &ActionItem| {
        let shares = |item: &ActionItem| {
            let mut words = need.task.split_whitespace().filter(|word| word.chars().count() > SMALL_CHARS);
            words.any(|word| item.task.contains(word))
        };
        let is_here = |item: &ActionItem| item.owner.as_ref().is_some_and(|owner| owner.id.is_some());
        let is_due = |item: &ActionItem| need.due.is_none() || need.due == item.due;
        owned()
            .any(|item| is_here(item) && is_due(item) && item.evidence.get(1) == need.evidence.first() && shares(item))
    };
    let answered: Vec<bool> = items.iter().map(answers).collect();
    let owned: FxHashSet<String> = owned().map(|item| normalized(&item.task)).collect();
    let mut known = FxHashSet::default();
    let is_new = |(item, is_answered): &(ActionItem, bool)| {
        let task = normalized(&item.task);
        (item.owner.is_some() || !(*is_answered || owned.contains(&task))) && known.insert((item.owner.clone(), task))
    };
    let mut is_new = is_new;
    items.into_iter().zip(answered).filter(|item| is_new(item)).map(|(item, _)| item).collect()
}

/// The statements before an item that name its object.
pub(super) struct About<'a> {
    referents: Referents<'a>,
    weights: &'a Weights<1>,
    /// The findings of each sentence.
    likelihoods: &'a [Option<Likelihood>],
}

impl About<'_> {
    /// Returns the possible noun phrases of the object, from a sentence and those before it, likeliest first.
    pub(super) fn likely(&self, index: usize) -> Vec<(NounPhrase, f64)> {
        let mut likely = self.referents.likely(index, self.weights);
        let is_nothing = |before: usize| {
            self.likelihoods[before].is_some_and(|likelihood| likelihood.of(Act::NoTask) >= NOTHING_BEFORE)
        };
        likely.retain(|(place, _)| !is_nothing(place.sentence));
        likely
    }
}
