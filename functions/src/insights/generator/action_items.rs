//! Who said to do what, and by when.
//!
//! Owns how a sentence becomes an action item; the words that announce one are in `commitments`.

use std::collections::HashMap;

use super::commitments::{AnnouncedBy, Announcement, Names, announcements, due_phrase, is_task};
use super::insights::{ACTION_ITEMS_MAX, LINE_CHARS_MAX, capitalized, clipped};
use super::material::{Material, Person};
use super::text::{Sentence, Source, Text, normalized};

/// Something that somebody, or all, are to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionItem {
    /// None where nobody was named.
    pub owner: Option<Owner>,
    /// What is to be done, in the words of the meeting.
    pub task: String,
    /// By when, as it was said, if it was.
    pub due: Option<String>,
}

/// Whose an action item is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    pub id: String,
    pub name: String,
}

impl ActionItem {
    /// The item as a line: "Ada: send the report by Friday". A due phrase that the task does not contain stands behind
    /// it in brackets.
    #[must_use]
    pub fn line(&self) -> String {
        let task = match &self.owner {
            Some(owner) => format!("{}: {}", owner.name, self.task),
            None => capitalized(&self.task),
        };
        match &self.due {
            Some(due) if !self.task.contains(due.as_str()) => {
                let room = LINE_CHARS_MAX.saturating_sub(due.chars().count() + 3);
                format!("{} ({due})", clipped(&task, room))
            }
            _ => clipped(&task, LINE_CHARS_MAX),
        }
    }

    /// Whether it is this person's.
    #[must_use]
    pub fn is_of(&self, person_id: &str) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.id == person_id)
    }
}

/// The action items of a meeting, each once, in order.
#[must_use]
pub fn action_items(text: &Text, material: &Material, names: &Names) -> Vec<ActionItem> {
    let finder = Finder { material, names };
    let mut items = Items::default();
    for item in text.sentences.iter().flat_map(|sentence| finder.items(sentence)) {
        items.add(item);
    }
    items.found
}

/// The lines for one reader: his own items first, then the others', ten at most.
#[must_use]
pub fn lines_for(items: &[ActionItem], reader_id: &str) -> Vec<String> {
    let own = items.iter().filter(|item| item.is_of(reader_id));
    let others = items.iter().filter(|item| !item.is_of(reader_id));
    own.chain(others).take(ACTION_ITEMS_MAX).map(ActionItem::line).collect()
}

/// The items found so far.
#[derive(Default)]
struct Items {
    found: Vec<ActionItem>,
    /// Where the items of a task stand, by its normalized text.
    by_task: HashMap<String, Vec<usize>>,
}

impl Items {
    /// Adds an item unless it is there already. Of the same task with and without an owner, the one with him stays.
    fn add(&mut self, item: ActionItem) {
        let same = self.by_task.entry(normalized(&item.task)).or_default();
        let is_same = |known: &ActionItem| known.owner == item.owner || known.owner.is_none() || item.owner.is_none();
        let Some(&at) = same.iter().find(|&&at| is_same(&self.found[at])) else {
            same.push(self.found.len());
            self.found.push(item);
            return;
        };
        let known = &mut self.found[at];
        known.owner = known.owner.take().or(item.owner);
        known.due = known.due.take().or(item.due);
    }
}

struct Finder<'a> {
    material: &'a Material,
    names: &'a Names,
}

impl Finder<'_> {
    fn items(&self, sentence: &Sentence) -> Vec<ActionItem> {
        match sentence.source {
            Source::DoneTask => Vec::new(),
            Source::OpenTask => self.labelled(&sentence.text, None).into_iter().collect(),
            Source::Chunk(_) | Source::Notes => self.announced(sentence),
        }
    }

    fn announced(&self, sentence: &Sentence) -> Vec<ActionItem> {
        let found = announcements(&sentence.text, self.names);
        let Some(first) = found.first() else { return Vec::new() };
        // "By Friday, I'll send it": the due phrase of a sentence that begins with it.
        let ahead = due_phrase(&sentence.text[..first.place.start]);
        let mut items = Vec::new();
        for (at, announcement) in found.iter().enumerate() {
            let end = found.get(at + 1).map_or(sentence.text.len(), |next| next.place.start);
            let said = &sentence.text[announcement.place.end..end];
            let ahead = if at == 0 { ahead } else { None };
            // After "Action item: Bob will …" the label has nothing of its own to say.
            let item = match announcement.by {
                AnnouncedBy::Label => self.labelled(said, ahead),
                AnnouncedBy::Speaker | AnnouncedBy::Named(_) | AnnouncedBy::Everybody | AnnouncedBy::Request(_) => {
                    self.item(sentence.source, announcement, said, ahead)
                }
            };
            items.extend(item);
        }
        items
    }

    fn item(&self, source: Source, announcement: &Announcement, said: &str, ahead: Option<&str>) -> Option<ActionItem> {
        let task = trimmed(said);
        let (owner, task) = match announcement.by {
            AnnouncedBy::Speaker => (self.speaker(source), task),
            AnnouncedBy::Named(person) | AnnouncedBy::Request(Some(person)) => (self.person(person), task),
            AnnouncedBy::Request(None) => self.addressed(task),
            AnnouncedBy::Everybody | AnnouncedBy::Label => (None, task),
        };
        is_task(task).then(|| made(owner, task, ahead))
    }

    /// A task of which a label or a check box says that it is one; a name at its beginning is its owner's.
    fn labelled(&self, said: &str, ahead: Option<&str>) -> Option<ActionItem> {
        let task = trimmed(said);
        let (owner, task) = match self.names.after(task) {
            Some((end, person)) => (self.person(person), without_verb(&task[end..])),
            None => (None, task),
        };
        (!task.is_empty()).then(|| made(owner, task, ahead))
    }

    /// "please, Bob, send it" and "can you send it, Bob?".
    fn addressed<'t>(&self, task: &'t str) -> (Option<Owner>, &'t str) {
        if let Some((end, person)) = self.names.after(task)
            && let Some(rest) = task[end..].strip_prefix(',')
        {
            return (self.person(person), trimmed(rest));
        }
        if let Some((start, person)) = self.names.before(task)
            && let Some(rest) = task[..start].trim_end().strip_suffix(',')
        {
            return (self.person(person), trimmed(rest));
        }
        (None, task)
    }

    fn speaker(&self, source: Source) -> Option<Owner> {
        let Source::Chunk(index) = source else { return None };
        let chunk = &self.material.chunks[index];
        let person = self.material.people.iter().find(|person| person.id == chunk.speaker_id);
        Some(person.map_or_else(|| Owner { id: chunk.speaker_id.clone(), name: chunk.speaker_name.clone() }, owner))
    }

    fn person(&self, index: usize) -> Option<Owner> {
        self.material.people.get(index).map(owner)
    }
}

fn owner(person: &Person) -> Owner {
    Owner { id: person.id.clone(), name: person.name.clone() }
}

fn made(owner: Option<Owner>, task: &str, ahead: Option<&str>) -> ActionItem {
    let due = due_phrase(task).or(ahead).map(str::to_owned);
    ActionItem { owner, task: task.to_owned(), due }
}

/// Words that join a task with the next one and belong to neither.
const JOINTS: &[&str] = &["and", "so", "but", "then", "und", "aber", "dann", "et", "mais", "puis"];

/// A task without the punctuation and the joining words around it.
fn trimmed(said: &str) -> &str {
    let mut task = said;
    loop {
        let inner = task
            .trim_start_matches(|c: char| c.is_whitespace() || ",:;–—-".contains(c))
            .trim_end_matches(|c: char| c.is_whitespace() || ",:;.!?。！？؟–—-".contains(c));
        let last = inner.rsplit(char::is_whitespace).next().unwrap_or_default();
        let joined = JOINTS.iter().any(|joint| last.eq_ignore_ascii_case(joint)) && last.len() < inner.len();
        task = if joined { &inner[..inner.len() - last.len()] } else { inner };
        if !joined {
            return task;
        }
    }
}

/// What stands after an owner's name in a labelled task, without the mark or verb between them ("Bob to send …").
fn without_verb(rest: &str) -> &str {
    let rest = trimmed(rest);
    let verbs = ["to ", "will ", "should ", "must ", "needs to ", "has to ", "wird ", "soll ", "muss ", "va ", "doit "];
    verbs.iter().find_map(|verb| rest.strip_prefix(verb)).unwrap_or(rest)
}

#[cfg(test)]
mod tests {
    use super::super::material::Chunk;
    use super::*;

    fn person(name: &str) -> Person {
        Person { id: format!("user_{}", name.to_lowercase()), name: name.to_owned(), ..Person::default() }
    }

    fn meeting(said: &[(&str, &str)], notes: &str) -> Material {
        let chunk = |(name, text): &(&str, &str)| Chunk {
            speaker_id: person(name).id,
            speaker_name: (*name).to_owned(),
            text: (*text).to_owned(),
            language: Some("en".to_owned()),
            ..Chunk::default()
        };
        Material {
            chunks: said.iter().map(chunk).collect(),
            notes: notes.to_owned(),
            people: vec![person("Ada"), person("Bob")],
        }
    }

    fn items(material: &Material) -> Vec<ActionItem> {
        action_items(&Text::of(material), material, &Names::of(&material.people))
    }

    fn lines(said: &[(&str, &str)], notes: &str) -> Vec<String> {
        items(&meeting(said, notes)).iter().map(ActionItem::line).collect()
    }

    #[test]
    fn a_commitment_is_its_speakers_and_a_request_his_who_is_named() {
        let said = [
            ("Ada", "Fine, I'll send the report by Friday."),
            ("Bob", "Ada will call the vendor."),
            ("Ada", "Bob, could you check the numbers?"),
            ("Ada", "Can you book a room, Bob?"),
            ("Bob", "We need to update the docs."),
        ];
        let expected = [
            "Ada: send the report by Friday",
            "Ada: call the vendor",
            "Bob: check the numbers",
            "Bob: book a room",
            "Update the docs",
        ];
        assert_eq!(lines(&said, ""), expected);
    }

    #[test]
    fn tasks_of_the_notes_say_whose_they_are() {
        let notes = "- [ ] Bob: order the cables by Monday\n- [ ] @ada review\n- [x] done already\nTODO: clean up\nAction item: Bob to write the minutes";
        let expected = ["Bob: order the cables by Monday", "Ada: review", "Clean up", "Bob: write the minutes"];
        assert_eq!(lines(&[], notes), expected);
    }

    #[test]
    fn a_sentence_with_two_tasks_makes_two_items() {
        let said = [("Ada", "I'll write the text, and Bob will translate it tomorrow.")];
        assert_eq!(lines(&said, ""), ["Ada: write the text", "Bob: translate it tomorrow"]);
    }

    #[test]
    fn a_due_phrase_before_the_commitment_is_kept() {
        let item = items(&meeting(&[("Ada", "By Friday, I'll send the report.")], "")).remove(0);
        assert_eq!(item.due.as_deref(), Some("By Friday"));
        assert_eq!(item.line(), "Ada: send the report (By Friday)");
    }

    #[test]
    fn the_same_task_said_and_written_is_one_item_with_its_owner() {
        let said = [("Ada", "I'll send the report."), ("Ada", "As I said, I will send the report!")];
        assert_eq!(lines(&said, "- [ ] Send the report\n"), ["Ada: send the report"]);
        assert_eq!(lines(&[("Ada", "I'll read the draft."), ("Bob", "I'll read the draft.")], "").len(), 2);
    }

    #[test]
    fn talk_is_no_task() {
        let said = [
            ("Ada", "I'll be honest, that is late."),
            ("Bob", "Let's see. Let's go. We'll not do that."),
            ("Ada", "I think Bob is right. Will Bob come?"),
            ("Bob", "The weather will be fine."),
        ];
        assert_eq!(lines(&said, ""), [] as [&str; 0]);
    }

    #[test]
    fn german_and_french_commitments_count() {
        let said = [
            ("Ada", "Ich werde den Bericht bis Freitag schicken."),
            ("Bob", "Je vais appeler le client demain."),
            ("Bob", "Wir müssen die Tests reparieren."),
        ];
        let expected =
            ["Ada: den Bericht bis Freitag schicken", "Bob: appeler le client demain", "Die Tests reparieren"];
        assert_eq!(lines(&said, ""), expected);
    }

    #[test]
    fn the_readers_own_come_first_and_ten_is_the_most() {
        let mut said: Vec<(&str, String)> = (0..12).map(|i| ("Ada", format!("I'll write page {i} today."))).collect();
        said.push(("Bob", "I'll read all of it.".to_owned()));
        let said: Vec<(&str, &str)> = said.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let all = items(&meeting(&said, ""));
        let bobs = lines_for(&all, "user_bob");
        assert_eq!(bobs.len(), 10);
        assert_eq!(bobs[0], "Bob: read all of it");
        assert_eq!(bobs[1], "Ada: write page 0 today");
        assert!(!lines_for(&all, "user_ada").iter().any(|line| line.starts_with("Bob")));
    }

    #[test]
    fn a_commitment_in_the_notes_is_nobodys() {
        assert_eq!(lines(&[], "I'll send the report."), ["Send the report"]);
    }

    #[test]
    fn a_long_item_is_cut() {
        let text = format!("I'll {}", "write and ".repeat(100));
        let line = lines(&[("Ada", &text)], "").remove(0);
        assert!(line.chars().count() <= LINE_CHARS_MAX);
    }
}
