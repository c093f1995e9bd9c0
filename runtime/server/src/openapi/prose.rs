//! From doc comments to Markdown for readers who do not know the code.

use std::collections::BTreeSet;

use heck::ToLowerCamelCase as _;

/// A parsed doc comment.
pub(crate) struct Prose {
    /// The paragraphs, without code and without `# Errors`.
    pub(crate) text: String,
    /// The section `# Errors`.
    pub(crate) errors: String,
}

impl Prose {
    /// Parses a doc comment. `functions` are the names of all functions in snake_case; a link to a function becomes the
    /// name that clients use.
    pub(crate) fn of(doc: &str, functions: &BTreeSet<&str>) -> Self {
        let (mut text, mut errors) = (String::new(), String::new());
        let (mut section, mut is_code) = (Section::Text, false);
        for line in doc.lines() {
            match (line.trim(), section) {
                (fence, _) if fence.starts_with("```") => is_code = !is_code,
                _ if is_code => {}
                ("# Errors", _) => section = Section::Errors,
                (heading, _) if heading.starts_with("# ") => section = Section::Other,
                (_, Section::Text) => push_line(&mut text, line),
                (_, Section::Errors) => push_line(&mut errors, line),
                (_, Section::Other) => {}
            }
        }
        Self { text: without_links(text.trim(), functions), errors: without_links(errors.trim(), functions) }
    }

    /// Returns the first sentence, on one line and without its full stop.
    pub(crate) fn summary(&self) -> String {
        let paragraph = self.text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
        let end = paragraph.find(". ").unwrap_or(paragraph.len());
        paragraph[..end].trim_end_matches(['.', ':']).to_owned()
    }

    /// Returns the text after the first sentence.
    pub(crate) fn rest(&self) -> &str {
        let paragraph_end = self.text.find("\n\n").unwrap_or(self.text.len());
        let end = [". ", ".\n"].iter().filter_map(|stop| self.text[..paragraph_end].find(stop)).min();
        self.text[end.map_or(paragraph_end, |end| end + 1)..].trim()
    }
}

/// The section of a line.
#[derive(Clone, Copy)]
enum Section {
    Text,
    Errors,
    Other,
}

/// Adds a line. Joins consecutive blank lines.
fn push_line(text: &mut String, line: &str) {
    if line.trim().is_empty() && (text.is_empty() || text.ends_with("\n\n")) {
        return;
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Replaces links: `` [`leave_meeting`] `` by `` `leaveMeeting` ``, and `` [`Limits`](crate::Limits) `` by `` `Limits`
/// ``.
fn without_links(text: &str, functions: &BTreeSet<&str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("[`") {
        let (before, link) = rest.split_at(start);
        out.push_str(before);
        let Some(end) = link.find("`]") else { break };
        let name = link[2..end].rsplit("::").next().unwrap_or_default().trim_end_matches("()");
        out.push('`');
        match functions.contains(name) {
            true => out.push_str(&name.to_lower_camel_case()),
            false => out.push_str(name),
        }
        out.push('`');
        rest = &link[end + 2..];
        if let Some(target) = rest.strip_prefix('(')
            && let Some(end) = target.find(')')
        {
            rest = &target[end + 1..];
        }
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(doc: &str) -> Prose {
        Prose::of(doc, &BTreeSet::from(["leave_meeting"]))
    }

    #[test]
    fn doc_comment_is_parsed() {
        let doc = "What [`leave_meeting`]\ntakes. And [`Id`](convoke_core::id::Id).\n\n```json\n{\"a\":\n 1}\n```\n\nMore.\n\n# Errors\n- `NOT_FOUND`: gone.";
        let prose = read(doc);
        assert_eq!(prose.text, "What `leaveMeeting`\ntakes. And `Id`.\n\nMore.");
        assert_eq!(prose.errors, "- `NOT_FOUND`: gone.");
        assert_eq!(prose.summary(), "What `leaveMeeting` takes");
        assert_eq!(prose.rest(), "And `Id`.\n\nMore.");
    }
}
