//! A complete `convoke.toml` with the description and the default of every setting.
//!
//! A line that begins with `#` and a name is a setting at its default; removing the `#` changes nothing. A setting that
//! is off by default is indented and has an example value. So is a table that needs all its settings.

use std::fmt::Write as _;

use super::describe::{Setting, Table};

/// Longest line of a comment, in characters.
const WIDTH: usize = 100;

/// Writes the file.
pub fn write(root: &Table) -> String {
    let mut out = String::from(
        "# All settings of Convoke. Flags take precedence over environment variables, and those over this file.\n\
         #\n\
         # A line such as `#listen = …` is a setting at its default: remove the `#` to change it.\n\
         # A setting that is off by default is indented and has an example value. So is a table that needs all its settings.\n\
         # `convoke config check FILE` checks a file; `convoke config show` prints the effective settings.\n\
         # Secrets are not settings: they are CONVOKE_SECRET_<NAME> in the environment, or files in <data>/secrets.\n",
    );
    table(&mut out, root, Style::Settings);
    out
}

/// The style of a table.
#[derive(Clone, Copy, PartialEq)]
enum Style {
    /// Settings at their defaults.
    Settings,
    /// An example to add.
    Example,
}

fn table(out: &mut String, described: &Table, style: Style) {
    // A table with required settings is valid only with all of them, so single lines of it are no settings.
    let style = if described.many || described.has_required { Style::Example } else { style };
    if !described.path.is_empty() {
        out.push('\n');
        comment(out, &described.doc);
        let (open, close) = if described.many { ("[[", "]]") } else { ("[", "]") };
        let before = match style {
            Style::Example => "#     ",
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
    // An example table shows example values rather than defaults.
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

/// Uncomments every setting at its default. The result has the same meaning.
pub fn uncommented(text: &str) -> String {
    lines(text, |line| line.strip_prefix('#').filter(|bare| bare.starts_with(|c: char| c.is_ascii_alphabetic())))
}

/// Uncomments the examples too.
pub fn with_examples(text: &str) -> String {
    lines(&uncommented(text), |line| line.strip_prefix("#     "))
}

fn lines(text: &str, bare: impl Fn(&str) -> Option<&str>) -> String {
    text.lines().map(|line| bare(line).unwrap_or(line)).flat_map(|line| [line, "\n"]).collect()
}
