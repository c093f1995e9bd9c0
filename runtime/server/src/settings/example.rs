//! A complete `convoke.toml`, commented: every setting with what it means and what holds unless it is set.
//!
//! A line that begins with `#` and a name is a setting at its default; without its `#` nothing changes. What is off
//! unless it is set stands four spaces deeper, as an example.

use std::fmt::Write as _;

use super::describe::{Setting, Table};

/// Characters of a line of comment.
const WIDTH: usize = 100;

/// The file's text.
pub fn write(root: &Table) -> String {
    let mut out = String::from(
        "# Settings of Convoke, all of them. Flags come before the environment, that before this file.\n\
         #\n\
         # A line such as `#listen = …` is a setting at its default: take its `#` away to change it.\n\
         # What is off unless it is set stands deeper, as an example.\n\
         # `convoke config check FILE` holds a file against this; `convoke config show` says what is in force.\n\
         # Secrets never stand here: they are CONVOKE_SECRET_<NAME> in the environment, or files in <data>/secrets.\n",
    );
    table(&mut out, root, Style::Settings);
    out
}

/// How a table is written.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// To be changed.
    Settings,
    /// As what could be added.
    Example,
}

fn table(out: &mut String, described: &Table, style: Style) {
    let has_defaults = described.settings.iter().all(|setting| setting.default.is_some());
    // What needs something and has it by default can be written down as it is; else it is an example.
    let style = if described.many || described.needs_something && !has_defaults { Style::Example } else { style };
    if !described.path.is_empty() {
        out.push('\n');
        comment(out, &described.doc);
        let (open, close) = if described.many { ("[[", "]]") } else { ("[", "]") };
        let before = match style {
            Style::Example => "#     ",
            Style::Settings if described.needs_something => "#",
            Style::Settings => "",
        };
        let _ = writeln!(out, "{before}{open}{}{close}", described.path);
    }
    for one in &described.settings {
        setting(out, one, style);
    }
    for inner in &described.tables {
        table(out, inner, style);
    }
}

fn setting(out: &mut String, setting: &Setting, style: Style) {
    let mut doc = setting.doc.clone();
    if !setting.choices.is_empty() {
        let _ = write!(doc, ": {}", setting.choices.join(", "));
    }
    let places: Vec<&str> = setting.flag.iter().chain(&setting.variable).map(String::as_str).collect();
    if !places.is_empty() {
        let _ = write!(doc, " ({})", places.join(", "));
    }
    if setting.default.is_none() && style == Style::Settings {
        doc.push_str(if doc.ends_with('.') { " Not set, e.g.:" } else { ". Not set, e.g.:" });
    }
    let is_empty = setting.default.as_ref().and_then(toml::Value::as_array).is_some_and(Vec::is_empty);
    if let (true, Some(example)) = (is_empty, &setting.example) {
        let _ = write!(doc, "{} e.g. {example}", if doc.ends_with('.') { " Not set," } else { "," });
    }
    out.push('\n');
    comment(out, &doc);
    let Some(value) = setting.default.as_ref().or(setting.example.as_ref()) else { return };
    let before = if setting.default.is_some() && style == Style::Settings { "#" } else { "#     " };
    // A provider's example names somebody, whatever the default would be.
    let value = if style == Style::Example { setting.example.as_ref().unwrap_or(value) } else { value };
    let _ = writeln!(out, "{before}{} = {value}", setting.name);
}

fn comment(out: &mut String, text: &str) {
    let mut line = String::new();
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "# {line}");
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    let _ = writeln!(out, "# {line}");
}

/// Takes the comment from every setting that stands at its default: what results means the same.
pub fn uncommented(text: &str) -> String {
    lines(text, |line| {
        let bare = line.strip_prefix('#')?;
        bare.starts_with(|c: char| c.is_ascii_alphabetic() || c == '[').then_some(bare)
    })
}

/// Takes the comment from the examples as well.
pub fn with_examples(text: &str) -> String {
    lines(&uncommented(text), |line| line.strip_prefix("#     "))
}

fn lines(text: &str, bare: impl Fn(&str) -> Option<&str>) -> String {
    text.lines().map(|line| bare(line).unwrap_or(line)).flat_map(|line| [line, "\n"]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::describe::describe;
    use super::*;
    use crate::config::Config;

    fn resolve(text: &str) -> Config {
        Config::of_text(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn the_example_holds_the_defaults_commented_and_uncommented() {
        let text = write(&describe());
        let bare = uncommented(&text);
        let nothing = format!("{:?}", Config { sections: toml::Table::new(), ..resolve("") });
        for file in [&text, &bare] {
            let config = Config { sections: toml::Table::new(), ..resolve(file) };
            assert_eq!(format!("{config:?}"), nothing);
        }
        assert!(bare.lines().filter(|line| line.starts_with("mutation_timeout = \"1s\"")).count() == 1, "{bare}");
    }

    #[test]
    fn the_examples_in_it_could_be_taken() {
        let config = resolve(&with_examples(&write(&describe())));
        assert_eq!(config.auth.providers.len(), 1);
        config.auth.check().unwrap();
        assert!(config.http.tls.is_some() && config.http.ops_listen.is_some());
    }
}
