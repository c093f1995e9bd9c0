//! The sentences in which insights and prompts are written, in the language of the meeting.
//!
//! Owns how a frame is filled; the frames stand in the language files. `{name}` is a place to fill.

use serde::Deserialize;

/// A language's frames.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    pub minute: String,
    pub minutes: String,
    pub speaker: String,
    pub speakers: String,
    /// After the names of some speakers: `{count}` further ones.
    pub more: String,
    pub notes_only: String,
    pub main_topic: String,
    pub main_topics: String,
    pub decided: String,
    pub open: String,
    pub and: String,
    pub follow_up_one: String,
    pub follow_up: String,
    pub find_owner_one: String,
    pub find_owner: String,
    /// The task of an owner who takes on a thing.
    pub handle: String,
    /// The task of an owner who gives a thing to the others.
    pub deliver: String,
    /// The task for a thing that is needed.
    pub get: String,
    pub connect: String,
    pub learn: String,
    pub silent: String,
    pub little_talk: String,
    pub much_talk: String,
    pub still_open: String,
    pub next_step: String,
    pub earlier_item: String,
    pub earlier_people: String,
    pub roles: String,
    pub shared_interest: String,
    pub title: String,
    pub invitation_asks: String,
    pub invitation_topic: String,
}

/// A frame with its places filled.
#[must_use]
pub fn filled(frame: &str, places: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(frame.len() + 64);
    let mut rest = frame;
    // From the left, so that what is filled in is not taken for a place.
    while let Some(start) = rest.find('{') {
        let Some(end) = rest[start..].find('}').map(|end| start + end) else { break };
        text.push_str(&rest[..start]);
        let name = &rest[start + 1..end];
        match places.iter().find(|(place, _)| *place == name) {
            Some((_, value)) => text.push_str(value),
            None => text.push_str(&rest[start..=end]),
        }
        rest = &rest[end + 1..];
    }
    text.push_str(rest);
    text
}

impl Frames {
    /// "1 minute", "2 minutes".
    #[must_use]
    pub fn minutes(&self, number: i64) -> String {
        format!("{number} {}", if number == 1 { &self.minute } else { &self.minutes })
    }

    /// "1 speaker", "2 speakers".
    #[must_use]
    pub fn speakers(&self, number: usize) -> String {
        format!("{number} {}", if number == 1 { &self.speaker } else { &self.speakers })
    }

    /// "a", "a and b", "a, b and c".
    #[must_use]
    pub fn listed(&self, names: &[&str]) -> String {
        match names {
            [] => String::new(),
            [only] => (*only).to_owned(),
            [rest @ .., last] => format!("{} {} {last}", rest.join(", "), self.and),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_filled_in_is_no_place_itself() {
        let text = filled("{a} and {b}, {c}", &[("a", "{b}"), ("b", "two")]);
        assert_eq!(text, "{b} and two, {c}");
    }
}
