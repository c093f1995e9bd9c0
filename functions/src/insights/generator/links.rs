//! The URLs in a meeting's transcript and notes.
//!
//! A link is a URL that `reading` finds, of at most 2,048 characters. Nothing else becomes a link.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use super::insights::{LINKS_MAX, Link, LinkKind};
use reading::material::Material;
use reading::text::addresses::spans;
use reading::text::lines::{LINE_CHARS_MAX, clipped};
use schema::HttpUrl;

/// Longest URL, in characters.
const URL_CHARS_MAX: usize = HttpUrl::CHARS_MAX;

/// Returns the links of a meeting in order without duplicates, those of the transcript first.
#[must_use]
pub fn links(material: &Material) -> Vec<Link> {
    let mut links = all_links(material);
    links.truncate(LINKS_MAX);
    links
}

/// Returns every URL of a meeting with its link, to verify the links of a model.
#[must_use]
pub fn known_links(material: &Material) -> BTreeMap<String, Link> {
    all_links(material).into_iter().map(|link| (link.url.clone(), link)).collect()
}

fn all_links(material: &Material) -> Vec<Link> {
    let spoken = material.chunks.iter().map(|chunk| (LinkKind::Transcript, chunk.text.as_str()));
    let mut seen = HashSet::new();
    let mut links = Vec::new();
    for (kind, text) in spoken.chain([(LinkKind::Notes, material.notes.as_str())]) {
        for span in spans(text) {
            let url = &text[span.clone()];
            if url.chars().count() <= URL_CHARS_MAX && seen.insert(url) {
                links.push(Link { kind, url: url.to_owned(), title: title(text, &span) });
            }
        }
    }
    links
}

/// Returns the title from a Markdown link, otherwise the URL without scheme and query.
fn title(text: &str, span: &Range<usize>) -> String {
    let named = text[..span.start]
        .strip_suffix("](")
        .and_then(|before| before.rsplit_once('['))
        .map(|(_, name)| name.trim())
        .filter(|name| !name.is_empty() && !name.contains(['\n', ']']));
    clipped(named.unwrap_or_else(|| without_scheme(&text[span.clone()])), LINE_CHARS_MAX)
}

fn without_scheme(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or(rest);
    path.trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use reading::material::Chunk;

    fn said(text: &str) -> Material {
        Material { chunks: vec![Chunk { text: text.to_owned(), ..Chunk::default() }], ..Material::default() }
    }

    #[test]
    fn addresses_lose_the_punctuation_of_the_sentence() {
        let links = links(&said("See https://example.org/a?b=c. (Or http://example.com/x_(y), as Bob said.)"));
        let urls: Vec<&str> = links.iter().map(|link| link.url.as_str()).collect();
        assert_eq!(urls, ["https://example.org/a?b=c", "http://example.com/x_(y)"]);
        assert_eq!(links[0].title, "example.org/a");
        assert_eq!(links[0].kind, LinkKind::Transcript);
    }

    #[test]
    fn a_markdown_link_gives_its_title() {
        let material = Material {
            notes: "- [The plan](https://example.org/plan)\n- [ ] read https://example.org/other/".to_owned(),
            ..Material::default()
        };
        let links = links(&material);
        assert_eq!(
            links[0],
            Link { kind: LinkKind::Notes, url: "https://example.org/plan".into(), title: "The plan".into() }
        );
        assert_eq!(links[1].title, "example.org/other");
    }

    #[test]
    fn an_address_that_is_said_and_written_is_one_link() {
        let mut material = said("https://example.org/plan and https://example.org/plan");
        material.notes = "https://example.org/plan".to_owned();
        assert_eq!(links(&material).len(), 1);
    }

    #[test]
    fn other_schemes_bare_domains_and_mail_addresses_are_no_links() {
        let text = "ftp://example.org javascript:alert(1) example.org ada@example.org file:///etc/passwd";
        assert!(links(&said(text)).is_empty());
        assert!(links(&said(&format!("https://example.org/{}", "a".repeat(2100)))).is_empty());
    }

    #[test]
    fn no_more_than_twenty_are_shown_but_all_are_known() {
        let text: String = (0..30).map(|i| format!("https://example.org/{i} ")).collect();
        assert_eq!(links(&said(&text)).len(), LINKS_MAX);
        assert_eq!(known_links(&said(&text)).len(), 30);
    }

    proptest! {
        #[test]
        fn every_link_stands_in_the_text(text in "(https?://[a-z]{1,5}\\.org/[a-z?=.,)]{0,8}|[ a-z().,\n]){0,20}") {
            for link in links(&said(&text)) {
                prop_assert!(text.contains(&link.url));
            }
        }
    }
}
