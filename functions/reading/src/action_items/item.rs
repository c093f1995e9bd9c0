//! Action items, their owners, and the items of one reader.

use chrono::NaiveDate;

use crate::text::lines::{LINE_CHARS_MAX, capitalized, clipped};

/// Most action items of one reader.
pub const ACTION_ITEMS_MAX: usize = 10;

/// Most words of an item as a line, with owner and time.
pub const LINE_WORDS_MAX: usize = 25;

/// Most words of a task.
pub const TASK_WORDS_MAX: usize = 16;

/// Longest task in characters, which limits scripts without spaces.
pub const TASK_CHARS_MAX: usize = 160;

/// Most sentences of evidence, and the longest in characters.
pub const EVIDENCE_MAX: usize = 2;
const EVIDENCE_CHARS_MAX: usize = LINE_CHARS_MAX;

/// A task of a person, or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionItem {
    /// None if no person was named.
    pub owner: Option<Owner>,
    /// The task: a verb, its object, its target.
    pub task: String,
    /// Due time as it was said.
    pub due: Option<String>,
    /// Due day, if the words and the day of the meeting determine it.
    pub due_day: Option<NaiveDate>,
    /// The sentence that says it, and the one that it answers.
    pub evidence: Vec<String>,
}

impl ActionItem {
    /// Returns the item as a line: "Ada: send the report (by Friday)".
    #[must_use]
    pub fn line(&self) -> String {
        let task = match &self.owner {
            Some(owner) => format!("{}: {}", owner.name, self.task),
            None => capitalized(&self.task),
        };
        match &self.due {
            Some(due) => {
                let room = LINE_CHARS_MAX.saturating_sub(due.chars().count() + 3);
                format!("{} ({due})", clipped(&task, room))
            }
            None => clipped(&task, LINE_CHARS_MAX),
        }
    }

    /// Returns the item within its limits: a line of 25 words without quotations. None if no task is left.
    #[must_use]
    pub fn bounded(mut self) -> Option<ActionItem> {
        let words = |text: &str| text.split_whitespace().count();
        let due = self.due.as_deref().map_or(0, words);
        let room = LINE_WORDS_MAX.saturating_sub(due + self.owner.as_ref().map_or(0, |owner| words(&owner.name)));
        let said = unquoted(&self.task);
        // The line has the time in its brackets.
        let said = self.due.as_ref().map_or_else(|| said.clone(), |due| said.replacen(due.as_str(), "", 1));
        let said: Vec<&str> = said.split_whitespace().take(room.min(TASK_WORDS_MAX)).collect();
        let said = said.join(" ");
        let task = said.trim_matches(|c: char| c.is_whitespace() || ",.;:!?–—-".contains(c));
        self.task = clipped(task, TASK_CHARS_MAX);
        self.evidence.truncate(EVIDENCE_MAX);
        self.evidence.iter_mut().for_each(|said| *said = clipped(said, EVIDENCE_CHARS_MAX));
        (!self.task.is_empty()).then_some(self)
    }

    /// Returns true if this person owns it.
    #[must_use]
    pub fn is_of(&self, person_id: &str) -> bool {
        self.owner.as_ref().is_some_and(|owner| owner.id.as_deref() == Some(person_id))
    }
}

/// Returns a text without brackets and the words in them.
fn unquoted(text: &str) -> String {
    let mut depth = 0_usize;
    let mut kept = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '(' | '[' | '（' => depth += 1,
            ')' | ']' | '）' => depth = depth.saturating_sub(1),
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
    }
    kept
}

/// The owner of an action item.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// None for a person outside the meeting, or an ambiguous name.
    pub id: Option<String>,
    /// Display name, or the name as it was said.
    pub name: String,
}

/// Returns the items for one reader: the reader's own first, then the others', at most ten.
#[must_use]
pub fn items_for<'i>(items: &'i [ActionItem], reader_id: &str) -> Vec<&'i ActionItem> {
    let own = items.iter().filter(|item| item.is_of(reader_id));
    let others = items.iter().filter(|item| !item.is_of(reader_id));
    own.chain(others).take(ACTION_ITEMS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn item(task: &str, due: Option<&str>) -> ActionItem {
        let owner = Some(Owner { id: None, name: "Ada".to_owned() });
        ActionItem { owner, task: task.to_owned(), due: due.map(str::to_owned), due_day: None, evidence: Vec::new() }
    }

    fn line(task: &str, due: Option<&str>) -> Option<String> {
        item(task, due).bounded().map(|item| item.line())
    }

    #[test]
    fn time_stands_in_brackets_once() {
        assert_eq!(line("send the plan by Friday.", Some("by Friday")).unwrap(), "Ada: send the plan (by Friday)");
        assert_eq!(line("send the plan", None).unwrap(), "Ada: send the plan");
    }

    #[test]
    fn brackets_of_a_task_are_no_part_of_it() {
        assert_eq!(line("send the plan (I did it last week)", None).unwrap(), "Ada: send the plan");
        assert_eq!(line("(by Friday)", Some("by Friday")), None);
    }

    proptest! {
        #[test]
        fn line_keeps_to_its_bound(task in "([a-z(]{1,9}[ ,)]){0,80}", due in proptest::option::of("[a-z]{1,5}( [a-z]{1,5}){0,4}")) {
            if let Some(line) = line(&task, due.as_deref()) {
                prop_assert!(line.split_whitespace().count() <= LINE_WORDS_MAX, "{}", line);
                prop_assert!(line.chars().count() <= LINE_CHARS_MAX);
            }
        }
    }
}
