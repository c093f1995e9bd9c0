//! Sentence frames of insights and prompts, in the language of the meeting.
//!
//! This module fills frames; the language files contain them. `{name}` is a placeholder.

use serde::Deserialize;

/// The frames of a language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frames {
    pub minute: String,
    pub minutes: String,
    pub speaker: String,
    pub speakers: String,
    /// After the names of some speakers: `{count}` others.
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
    /// Task of an owner who takes a thing.
    pub handle: String,
    /// Task of an owner who gives a thing to the others.
    pub deliver: String,
    /// Task for a needed thing.
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

/// Returns a frame with its placeholders filled.
#[must_use]
pub fn filled(frame: &str, places: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(frame.len() + 64);
    let mut rest = frame;
    // From the left, so that filled-in text is not taken for a placeholder.
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
    fn filled_in_text_is_not_a_placeholder() {
        let text = filled("{a} and {b}, {c}", &[("a", "{b}"), ("b", "two")]);
        assert_eq!(text, "{b} and two, {c}");
    }
}
