//! What is found: an action item, whose it is, and the items of one reader.

use chrono::NaiveDate;

use crate::reading::lines::{LINE_CHARS_MAX, capitalized, clipped};

/// The most action items of one reader.
pub const ACTION_ITEMS_MAX: usize = 10;

/// Something that somebody, or all, are to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionItem {
    /// None where nobody was named.
    pub owner: Option<Owner>,
    /// What is to be done, in the words of the meeting.
    pub task: String,
    /// By when, as it was said, if it was.
    pub due: Option<String>,
    /// The same as a day, if the words and the day of the meeting tell it.
    pub due_day: Option<NaiveDate>,
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
        self.owner.as_ref().is_some_and(|owner| owner.id.as_deref() == Some(person_id))
    }
}

/// Whose an action item is.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Owner {
    /// None of somebody who is not in the meeting, or whose name several bear.
    pub id: Option<String>,
    /// As the others see them, or as it was said.
    pub name: String,
}

/// The items for one reader: the reader's own first, then the others', ten at most.
#[must_use]
pub fn items_for<'i>(items: &'i [ActionItem], reader_id: &str) -> Vec<&'i ActionItem> {
    let own = items.iter().filter(|item| item.is_of(reader_id));
    let others = items.iter().filter(|item| !item.is_of(reader_id));
    own.chain(others).take(ACTION_ITEMS_MAX).collect()
}
