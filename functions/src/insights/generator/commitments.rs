//! The words by which people take on work, decide and name a date, in English, German and French.
//!
//! Owns the patterns and nothing else. They are tried on every sentence whatever its language is said to be: clients
//! often leave the language at its default, and the patterns of one language hardly occur in the others.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::material::Person;
use super::text::lowered;

/// Words that announce a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Announcement {
    /// Their place in the sentence, in bytes. The task is what comes after.
    pub place: Range<usize>,
    pub by: AnnouncedBy,
}

/// How a task is announced, which says whose it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnnouncedBy {
    /// "I'll …": the speaker's.
    Speaker,
    /// "Bob will …": the person's of this index.
    Named(usize),
    /// "we need to …": everybody's.
    Everybody,
    /// "Bob, can you …": the person's of this index, if one is addressed by name.
    Request(Option<usize>),
    /// "action item: …": the task itself may say whose.
    Label,
}

static SPEAKER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:i'll|i will|i'm going to|i am going to|i shall|ich werde|ich kümmere mich(?: um)?|ich übernehme|je vais|je m'occupe(?:rai)? d(?:es?\b|u\b|')|je me charge d(?:es?\b|u\b|'))",
    )
});
static NAMED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"'ll\b| (?:will|is going to|needs to|has to|must|wird|muss|soll|va|doit)\b"));
static EVERYBODY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:we need to|we have to|we must|we'll|we will|let's|let us|wir müssen|wir werden|lasst? uns|nous devons|nous allons|il faut(?: qu'on| que nous)?|on doit)\b",
    )
});
static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\b(?:(?:can|could|would|will) you(?: please)?|please|(?:kannst|könntest) du(?: bitte)?|(?:können|könnten) sie(?: bitte)?|bitte|peux-tu|pourrais-tu|pouvez-vous|pourriez-vous|merci de)\b",
    )
});
static LABEL: LazyLock<Regex> = LazyLock::new(|| pattern(r"\b(?:action items?|action|to-?do|aufgabe|à faire)\s*:"));

/// What follows the words of a commitment when it is none: politeness, the running of the call, a negation.
static NO_TASK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:not|never|do (?:that|this|it|so)|say|admit|see|think|guess|assume|wait|pass|hear|repeat|mute|unmute|hold on|be (?:honest|there|right|back|happy|glad|fine|late|quick|brief|able)|need|let (?:you|me|him|her|them)|go (?:ahead|first|with|back|on)|come back|get started|get going|move on|start with|share (?:my|your|the) screen|nicht|nie|kein|sehen|schauen|bien|mal|pas|voir|dire)\b",
    )
});

static DECISION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"\bwe(?:'ve| have)? (?:decided|agreed)\b|\b(?:it's|it is|it was|that's) (?:decided|agreed)\b|\b(?:decision|decided|agreed|entscheidung|beschluss|beschlossen|décision)\s*:|\b(?:we'll|we will|let's) go with\b|\bwir haben (?:uns )?(?:[\p{L}\p{N}-]+ ){0,12}(?:entschieden|beschlossen|vereinbart|geeinigt)\b|\b(?:nous avons|on a) (?:décidé|convenu)\b",
    )
});

static QUESTION: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:open question|question|offene frage|frage|question ouverte)\s*:"));

static DUE: LazyLock<Regex> = LazyLock::new(|| {
    let [english, german, french] = [due_english(), due_german(), due_french()];
    pattern(&format!(r"\b(?:{english}|{german}|{french})\b"))
});

fn due_english() -> String {
    let day = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day";
    let month = r"(?:january|february|march|april|may|june|july|august|september|october|november|december)";
    let hour = r"(?:\d{1,2}(?::\d{2})?\s?(?:am|pm|o'clock)|\d{1,2}:\d{2}|noon|midnight)";
    let unit = r"(?:minute|hour|day|week|month|quarter|year|sprint)";
    let number = r"(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|a few|a couple of)";
    let part = r"(?:morning|afternoon|evening|night)";
    let nth = r"\d{1,2}(?:st|nd|rd|th)";
    let before = r"(?:no later than|by|before|until|till|on|due|at)";
    let date = format!(r"(?:{month} \d{{1,2}}(?:st|nd|rd|th)?|\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{month}|{nth})");
    [
        format!(r"(?:{before} )?(?:the )?(?:next|this|coming) (?:{day}|{unit}|weekend|{part})"),
        format!(r"(?:{before} )?(?:the )?end of (?:the |this |next )?(?:{unit}|{day}|{month})"),
        format!(
            r"{before} (?:the )?(?:{date}|{day}(?: {part})?|{month}|\d{{4}}-\d{{2}}-\d{{2}}|{hour}|weekend|eod|eow|cob)"
        ),
        format!(r"(?:{before} )?(?:tomorrow|tonight|today|eod|eow)(?: (?:{part}|at {hour}))?"),
        format!(r"(?:in|within) (?:the next )?{number} {unit}s?"),
        r"\d{4}-\d{2}-\d{2}|asap|as soon as possible".to_owned(),
    ]
    .join("|")
}

fn due_german() -> String {
    let day = r"(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)";
    let month = r"(?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)";
    [
        format!(
            r"(?:bis spätestens|spätestens|bis|vor|am)(?: (?:zum|am|nächste[nr]?|kommende[nr]?|ende (?:der|des|dieser)|ende))*? (?:{day}|\d{{1,2}}\. ?(?:{month}|\d{{1,2}})|{month}|woche|monats|tages|übermorgen|morgen|heute|wochenende)"
        ),
        format!(r"(?:nächste|diese|kommende)[nr]? (?:woche|monat|{day})"),
        r"(?:heute|übermorgen|morgen)|in \d+ (?:tagen|stunden|wochen)".to_owned(),
    ]
    .join("|")
}

fn due_french() -> String {
    let day = r"(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)";
    let month = r"(?:janvier|février|mars|avril|mai|juin|juillet|août|septembre|octobre|novembre|décembre)";
    [
        format!(
            r"(?:d'ici|avant|pour|jusqu'à) (?:à )?(?:la |le |ce |cette )?(?:{day}(?: prochain)?|demain|ce soir|fin de (?:la )?(?:semaine|journée)|fin du mois|\d{{1,2}} {month}|{month}|week-end)"
        ),
        format!(r"demain|aujourd'hui|ce soir|(?:la semaine|le mois) prochaine?|cette semaine|{day} prochain"),
        r"dans \d+ (?:jours|heures|semaines)".to_owned(),
    ]
    .join("|")
}

/// A pattern without regard to case, whose apostrophes are either kind.
fn pattern(source: &str) -> Regex {
    let source = format!("(?i){}", source.replace('\'', "['’]"));
    Regex::new(&source).expect("the patterns are constants, and a test compiles each of them")
}

/// The announcements of tasks in a sentence, in order, none inside another.
#[must_use]
pub fn announcements(sentence: &str, names: &Names) -> Vec<Announcement> {
    let mut found: Vec<Announcement> = Vec::new();
    let mut add = |place, by| found.push(Announcement { place, by });
    for label in LABEL.find_iter(sentence) {
        add(label.range(), AnnouncedBy::Label);
    }
    for request in REQUEST.find_iter(sentence) {
        let addressed = names.before(&sentence[..request.start()]);
        let start = addressed.map_or(request.start(), |(at, _)| at);
        add(start..request.end(), AnnouncedBy::Request(addressed.map(|(_, person)| person)));
    }
    // "Will Bob send it?" asks. Only a request can be a task and a question.
    if !is_question(sentence) {
        SPEAKER.find_iter(sentence).for_each(|found| add(found.range(), AnnouncedBy::Speaker));
        EVERYBODY.find_iter(sentence).for_each(|found| add(found.range(), AnnouncedBy::Everybody));
        for verb in NAMED.find_iter(sentence) {
            if let Some((start, person)) = names.before(&sentence[..verb.start()]) {
                add(start..verb.end(), AnnouncedBy::Named(person));
            }
        }
    }
    found.sort_by_key(|announcement| (announcement.place.start, std::cmp::Reverse(announcement.place.end)));
    let mut end = 0;
    found.retain(|announcement| {
        let free = announcement.place.start >= end;
        end = end.max(announcement.place.end);
        free
    });
    found
}

/// Whether what follows an announcement is a task at all.
#[must_use]
pub fn is_task(text: &str) -> bool {
    text.split_whitespace().nth(1).is_some() && !NO_TASK.is_match(text)
}

/// Whether a sentence tells a decision.
#[must_use]
pub fn is_decision(sentence: &str) -> bool {
    !is_question(sentence) && DECISION.is_match(sentence)
}

/// Whether a sentence ends as a question, in any script.
#[must_use]
pub fn is_question(sentence: &str) -> bool {
    sentence.trim_end_matches(|c: char| c.is_whitespace() || "\"'”’»)".contains(c)).ends_with(['?', '？', '؟'])
}

/// The question of a line that is marked as one ("Open question: …").
#[must_use]
pub fn marked_question(line: &str) -> Option<&str> {
    QUESTION.find(line).map(|found| line[found.end()..].trim()).filter(|question| !question.is_empty())
}

/// The first due phrase of a text ("by Friday", "nächste Woche"), as it stands there.
#[must_use]
pub fn due_phrase(text: &str) -> Option<&str> {
    DUE.find(text).map(|found| found.as_str())
}

/// The participants' names, ready to be found in sentences.
#[derive(Debug)]
pub struct Names {
    /// By lower-cased name; full names, and first names that only one person bears.
    bearers: HashMap<String, usize>,
}

/// The most words of a name that are looked at.
const NAME_WORDS_MAX: usize = 6;
/// How far from a verb a name may begin, characters: a sentence can be as long as a document.
const NAME_CHARS_MAX: usize = 200;

impl Names {
    /// The names of these people; a person is told by the index.
    #[must_use]
    pub fn of(people: &[Person]) -> Names {
        let mut firsts: HashMap<String, Vec<usize>> = HashMap::new();
        let mut bearers = HashMap::new();
        for (index, person) in people.iter().enumerate() {
            let name = spaced(&person.name);
            if let Some(first) = name.split(' ').next().filter(|first| first.chars().count() > 1) {
                firsts.entry(first.to_owned()).or_default().push(index);
            }
            // A name that several bear says nothing of whose the task is.
            bearers.entry(name).and_modify(|bearer| *bearer = None).or_insert(Some(index));
        }
        for (first, of) in firsts {
            if let [only] = of[..] {
                bearers.entry(first).or_insert(Some(only));
            }
        }
        let bearers = bearers.into_iter().filter_map(|(name, bearer)| Some((name, bearer?)));
        Names { bearers: bearers.filter(|(name, _)| !name.is_empty()).collect() }
    }

    /// The name that a text ends with, a comma aside: where it begins, in bytes, and whose it is.
    #[must_use]
    pub fn before(&self, text: &str) -> Option<(usize, usize)> {
        let text = text.trim_end_matches([',', ' ']);
        let skipped = text.char_indices().rev().nth(NAME_CHARS_MAX).map_or(0, |(at, _)| at);
        let starts = word_starts(&text[skipped..]);
        let longest = starts.len().saturating_sub(NAME_WORDS_MAX);
        let starts = starts[longest..].iter().map(|start| skipped + start);
        starts.into_iter().find_map(|start| Some((start, self.bearer(&text[start..])?)))
    }

    /// The name that a text begins with: where it ends, in bytes, and whose it is.
    #[must_use]
    pub fn after(&self, text: &str) -> Option<(usize, usize)> {
        let text = text.char_indices().nth(NAME_CHARS_MAX).map_or(text, |(at, _)| &text[..at]);
        let mut ends = word_ends(text);
        ends.truncate(NAME_WORDS_MAX);
        ends.iter().rev().find_map(|&end| Some((end, self.bearer(&text[..end])?)))
    }

    fn bearer(&self, name: &str) -> Option<usize> {
        self.bearers.get(&spaced(name.trim_start_matches('@'))).copied()
    }
}

/// A name as it is compared.
fn spaced(name: &str) -> String {
    lowered(&name.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Where words begin: after white space, an opening bracket or a quotation mark.
fn word_starts(text: &str) -> Vec<usize> {
    let opens = |c: char| c.is_whitespace() || "([{\"“„«—–:".contains(c);
    let mut starts = Vec::new();
    let mut inside = false;
    for (at, c) in text.char_indices() {
        if !opens(c) && !inside {
            starts.push(at);
        }
        inside = !opens(c);
    }
    starts
}

/// Where words end: before white space or a mark that can follow a name.
fn word_ends(text: &str) -> Vec<usize> {
    let closes = |c: char| c.is_whitespace() || ",:;!?)]}—–".contains(c);
    let mut ends = Vec::new();
    let mut inside = false;
    for (at, c) in text.char_indices() {
        if closes(c) && inside {
            ends.push(at);
        }
        inside = !closes(c);
    }
    if inside {
        ends.push(text.len());
    }
    ends
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn people(names: &[&str]) -> Vec<Person> {
        names.iter().map(|name| Person { name: (*name).to_owned(), ..Person::default() }).collect()
    }

    fn found(sentence: &str) -> Vec<(String, AnnouncedBy)> {
        let names = Names::of(&people(&["Ada Lovelace", "Bob", "Zoë Müller-Łuk"]));
        let all = announcements(sentence, &names);
        all.into_iter().map(|one| (sentence[one.place].to_owned(), one.by)).collect()
    }

    fn only(sentence: &str) -> AnnouncedBy {
        let all = found(sentence);
        assert_eq!(all.len(), 1, "{sentence}: {all:?}");
        all[0].1
    }

    #[test]
    fn every_pattern_compiles() {
        for pattern in [&SPEAKER, &NAMED, &EVERYBODY, &REQUEST, &LABEL, &NO_TASK, &DECISION, &QUESTION, &DUE] {
            assert!(!pattern.as_str().is_empty());
        }
    }

    #[test]
    fn tasks_are_announced_in_three_languages() {
        use AnnouncedBy::{Everybody, Label, Named, Request, Speaker};
        let sentences = [
            ("So I'll send the report.", Speaker),
            ("I’ll send the report.", Speaker),
            ("I am going to call them.", Speaker),
            ("Ich werde den Bericht schicken.", Speaker),
            ("Je vais envoyer le rapport.", Speaker),
            ("Bob will send it.", Named(1)),
            ("and ada lovelace will send it", Named(0)),
            ("Ada'll send it.", Named(0)),
            ("Zoë Müller-Łuk wird das prüfen.", Named(2)),
            ("Bob doit appeler le client.", Named(1)),
            ("We need to update the docs.", Everybody),
            ("Let's write to the vendor.", Everybody),
            ("Wir müssen die Tests reparieren.", Everybody),
            ("Il faut prévenir le client.", Everybody),
            ("Could you please check the numbers?", Request(None)),
            ("Bob, can you check the numbers?", Request(Some(1))),
            ("Ada, pourrais-tu relire le texte ?", Request(Some(0))),
            ("TODO: fix the build", Label),
            ("Action item: Bob sends the deck", Label),
        ];
        for (sentence, by) in sentences {
            assert_eq!(only(sentence), by, "{sentence}");
        }
    }

    #[test]
    fn a_sentence_can_hold_several() {
        let all = found("I'll write the text and Bob will send it.");
        assert_eq!(all, [("I'll".to_owned(), AnnouncedBy::Speaker), ("Bob will".to_owned(), AnnouncedBy::Named(1))]);
    }

    #[test]
    fn questions_and_other_people_announce_nothing() {
        for sentence in
            ["Will Bob send it?", "What will Bob send?", "The vendor will send it.", "I sent it.", "Bobby will go."]
        {
            assert_eq!(found(sentence), [], "{sentence}");
        }
    }

    #[test]
    fn a_first_name_that_two_bear_is_nobodys() {
        let names = Names::of(&people(&["Anna Berg", "Anna Dahl", "Bob", "Bob"]));
        assert_eq!(names.before("so anna"), None);
        assert_eq!(names.before("so anna dahl,"), Some((3, 1)));
        assert_eq!(names.before("Bob"), None);
        assert_eq!(names.after("Anna Berg: call"), Some((9, 0)));
    }

    #[test]
    fn politeness_and_negations_are_no_tasks() {
        for text in [
            "be honest with you",
            "see what happens",
            "not do that",
            "do that this week",
            "go",
            "",
            "get started now",
            "nicht kommen",
        ] {
            assert!(!is_task(text), "{text}");
        }
        for text in ["send the report", "be the contact for the vendor", "start the migration", "notify Bob"] {
            assert!(is_task(text), "{text}");
        }
    }

    #[test]
    fn due_phrases_are_found_as_they_stand() {
        let sentences = [
            ("send it by Friday, please", Some("by Friday")),
            ("send it before the end of the week.", Some("before the end of the week")),
            ("call on March 3rd", Some("on March 3rd")),
            ("do it tomorrow morning", Some("tomorrow morning")),
            ("ship next week", Some("next week")),
            ("answer within two days", Some("within two days")),
            ("be done by 5 pm today", Some("by 5 pm")),
            ("deliver by 2025-03-01", Some("by 2025-03-01")),
            ("fix it ASAP", Some("ASAP")),
            ("den Bericht bis Freitag schicken", Some("bis Freitag")),
            ("das bis zum 12. März klären", Some("bis zum 12. März")),
            ("es nächste Woche prüfen", Some("nächste Woche")),
            ("envoyer le rapport d’ici vendredi", Some("d’ici vendredi")),
            ("appeler la semaine prochaine", Some("la semaine prochaine")),
            ("send the report to Bob", None),
            ("dismay the weekly sunshine", None),
        ];
        for (text, due) in sentences {
            assert_eq!(due_phrase(text), due, "{text}");
        }
    }

    #[test]
    fn decisions_are_told_in_three_languages() {
        for sentence in [
            "We decided to use Postgres.",
            "So we've agreed on the date.",
            "Decision: no release in May.",
            "Okay, we'll go with the second draft.",
            "Wir haben uns gestern für Postgres entschieden.",
            "On a décidé de reporter la livraison.",
        ] {
            assert!(is_decision(sentence), "{sentence}");
        }
        for sentence in
            ["We have not decided yet.", "Have we decided on that?", "Bob decided to stay.", "Wir haben Hunger."]
        {
            assert!(!is_decision(sentence), "{sentence}");
        }
    }

    #[test]
    fn questions_are_known_in_any_script() {
        for sentence in ["Who does it?", "“Who does it?”", "誰がしますか？", "هل نبدأ؟", "Vraiment ?"]
        {
            assert!(is_question(sentence), "{sentence}");
        }
        assert!(!is_question("He asked why."));
        assert_eq!(marked_question("Open question: who pays"), Some("who pays"));
        assert_eq!(marked_question("Question:"), None);
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "\\PC{0,80}") {
            let names = Names::of(&people(&["Ada", "Bob B", "🦀", ""]));
            let all = announcements(&text, &names);
            let mut end = 0;
            for one in all {
                prop_assert!(one.place.start >= end && text.get(one.place.clone()).is_some());
                end = one.place.end;
            }
            let _ = (names.before(&text), names.after(&text), due_phrase(&text), is_decision(&text));
        }
    }
}
