//! The search of the documentation.
//!
//! The sections are those of the guide for agents, and what the program itself knows: its functions, commands, settings
//! and error codes. The book is not part of a program: its 400 kB would be in every binary.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::agents::GUIDE;
use crate::program;
use convoke_calls::registry::Registry;
use convoke_core::error::Code;
use convoke_server::settings::describe::{Table, describe};

/// The sections.
pub(super) struct Library {
    sections: Vec<Section>,
}

struct Section {
    title: String,
    text: String,
}

/// Largest number of sections in a result.
const FOUND_MAX: usize = 6;
/// Weight of a word in a title, relative to the same word in the text.
const TITLE_WEIGHT: usize = 4;

impl Library {
    pub(super) fn of(registry: &Registry, mut commands: clap::Command) -> Self {
        let mut sections = Vec::new();
        for part in program::own(GUIDE).split("\n## ").skip(1) {
            let (title, text) = part.split_once('\n').unwrap_or((part, ""));
            sections.push(Section { title: title.to_owned(), text: text.trim().to_owned() });
        }
        commands.build();
        for command in commands.get_subcommands_mut().filter(|command| !command.is_hide_set()) {
            let title = format!("command {}", command.get_name());
            sections.push(Section { title, text: command.render_long_help().to_string() });
        }
        add_settings(&describe(), &mut sections);
        for code in Code::ALL {
            let retry = if code.retryable() { " A retry can succeed." } else { "" };
            let text = format!("{} HTTP status {}.{retry}", code.meaning(), code.status());
            sections.push(Section { title: format!("error code {code}"), text });
        }
        for function in registry.all() {
            let title = format!("{} {}", function.kind().as_str(), function.path);
            sections.push(Section { title, text: function.def.doc.trim().to_owned() });
        }
        Self { sections }
    }

    /// Returns the sections that fit the words best, the best first.
    pub(super) fn search(&self, query: &str) -> Vec<Value> {
        let words: Vec<String> = words(query).collect();
        let mut found: Vec<(usize, &Section)> = self
            .sections
            .iter()
            .map(|section| (section.score(&words), section))
            .filter(|(score, _)| *score > 0)
            .collect();
        found.sort_by_key(|(score, section)| (std::cmp::Reverse(*score), section.text.len()));
        let shown = found.into_iter().take(FOUND_MAX);
        shown.map(|(_, Section { title, text })| json!({ "title": title, "text": text })).collect()
    }
}

impl Section {
    /// Counts the words of the query that occur. A section with all words comes before one with many of the same.
    fn score(&self, wanted: &[String]) -> usize {
        let (title, text) = (self.title.to_lowercase(), self.text.to_lowercase());
        let weight = |word: &String| match (title.contains(word.as_str()), text.contains(word.as_str())) {
            (true, _) => TITLE_WEIGHT,
            (false, true) => 1,
            (false, false) => 0,
        };
        wanted.iter().map(weight).sum()
    }
}

/// Returns the words of a text in lower case, without a plural's `s`.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1);
    words.map(|word| {
        let word = word.to_lowercase();
        word.strip_suffix('s').filter(|stem| stem.len() > 3).map(str::to_owned).unwrap_or(word)
    })
}

fn add_settings(table: &Table, sections: &mut Vec<Section>) {
    for setting in &table.settings {
        let mut text = setting.doc.clone();
        if let Some(default) = &setting.default {
            let _ = write!(text, "\nDefault: {default}");
        }
        if let Some(variable) = &setting.variable {
            let _ = write!(text, "\nVariable: {variable}");
        }
        sections.push(Section { title: format!("setting {}", table.path_of(&setting.name)), text });
    }
    table.tables.iter().for_each(|table| add_settings(table, sections));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library() -> Library {
        let section = |title: &str, text: &str| Section { title: title.to_owned(), text: text.to_owned() };
        Library {
            sections: vec![
                section("Tables", "A struct with #[table]. Queries read indexes."),
                section("setting limits.live_refresh", "Interval of live queries."),
                section("command backup", "Copies the database."),
            ],
        }
    }

    #[test]
    fn section_with_more_of_the_words_comes_first() {
        let titles = |query: &str| {
            let found = library().search(query);
            found.iter().map(|section| section["title"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(titles("live queries"), ["setting limits.live_refresh", "Tables"]);
        assert_eq!(titles("How do TABLES work?"), ["Tables"]);
        assert!(titles("zebra").is_empty() && titles("").is_empty());
    }
}
