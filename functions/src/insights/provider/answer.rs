//! Validation of a language model's response.
//!
//! A response must have the requested form. Even then, a URL counts only if it occurs in the meeting, and an action
//! item only if its evidence does: a model may invent one, or follow an instruction in what a participant said.

use std::collections::{BTreeMap, HashSet};

use chrono::{DateTime, NaiveDate};

use serde::Deserialize;

use super::super::generator::insights::{
    Insights, LINKS_MAX, Link, RECOMMENDATIONS_MAX, Recommendation, RecommendationKind, SUMMARY_CHARS_MAX,
};
use reading::action_items::item::{ACTION_ITEMS_MAX, ActionItem, Owner};
use reading::languages::meanings::Meaning;
use reading::languages::phrases::Phrases;
use reading::material::Material;
use reading::people::{Named, Names};
use reading::text::addresses::spans;
use reading::text::lines::{LINE_CHARS_MAX, clipped, rounded};
use reading::text::sentences::{Text, normalized};
use reading::text::tokens::tokens;

/// Reason why a response cannot be used, for the operator's log. The client only learns that the provider failed.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error("the answer is not that of a chat completion: {0}")]
    Envelope(serde_json::Error),
    #[error("the answer has no choice")]
    Empty,
    #[error("the model refused")]
    Refused,
    #[error("the answer was cut off")]
    CutOff,
    #[error("the answer does not match the schema: {0}")]
    Schema(serde_json::Error),
    #[error("{0} is out of its bounds")]
    Bounds(&'static str),
}

/// Minimum number of words in the evidence of an action item.
pub const EVIDENCE_WORDS_MIN: usize = 3;

/// The material to verify a response.
#[derive(Debug)]
pub struct Sources<'m> {
    /// Links of the meeting by URL.
    pub links: BTreeMap<String, Link>,
    /// All words of the meeting, normalized.
    words: String,
    names: Names,
    phrases: &'static Phrases,
    held: Option<NaiveDate>,
    material: &'m Material,
}

impl<'m> Sources<'m> {
    /// Returns the material of a meeting.
    #[must_use]
    pub fn of(material: &'m Material, links: BTreeMap<String, Link>) -> Sources<'m> {
        let text = Text::of(material);
        let said = text.turns.iter().map(|turn| normalized(&turn.text)).collect::<Vec<_>>().join("\n");
        Sources {
            links,
            words: format!("{said}\n{}", normalized(&material.notes)),
            names: Names::of(&material.people),
            phrases: text.phrases(),
            held: material.held_ms.and_then(DateTime::from_timestamp_millis).map(|time| time.date_naive()),
            material,
        }
    }

    /// Returns true if these words occur in the meeting.
    fn has(&self, evidence: &str) -> bool {
        let evidence = normalized(evidence);
        evidence.split(' ').count() >= EVIDENCE_WORDS_MIN && self.words.contains(&evidence)
    }

    /// Returns the owner with a name from the model: a participant, or another person named in the meeting.
    fn owner(&self, name: &str) -> Option<Owner> {
        let found = self.names.participant_at(&tokens(name, self.phrases), 0, name);
        if let Some((Named::Participant(index), _)) = found {
            let person = self.material.people.get(index)?;
            return Some(Owner { id: Some(person.id.clone()), name: person.name.clone() });
        }
        let normal = normalized(name);
        let is_named = !normal.is_empty() && self.words.contains(&normal);
        is_named.then(|| Owner { id: None, name: clipped(name.trim(), LINE_CHARS_MAX) })
    }

    /// Returns a task without introductory words ("I'll", "can you").
    fn unannounced<'t>(&self, task: &'t str) -> &'t str {
        let tokens = tokens(task, self.phrases);
        let found = self.phrases.at(&tokens, 0, Meaning::announces).filter(|found| !found.has_verb);
        found.and_then(|found| tokens.get(found.end)).map_or(task, |first| &task[first.place.start..])
    }

    /// Returns an action item if it has the required form and its evidence occurs in the meeting.
    fn checked(&self, item: Item) -> Option<ActionItem> {
        let task = line(&item.task, &self.links, LINE_CHARS_MAX);
        if task.split_whitespace().nth(1).is_none() || !self.has(&item.evidence) {
            return None;
        }
        let due = item.due.filter(|due| self.words.contains(&normalized(due)) && !due.trim().is_empty());
        let due_day = due
            .as_deref()
            .and_then(|due| self.phrases.calendar.all(&tokens(due, self.phrases), self.held).first()?.day);
        let owner = item.owner.and_then(|name| self.owner(&name));
        let task = self.unannounced(&task).to_owned();
        ActionItem { owner, task, due, due_day, evidence: vec![item.evidence] }.bounded()
    }
}

/// Reads the body of a chat completion about a meeting.
///
/// # Errors
/// [`Unusable`]: the response does not have the requested form.
pub fn read(body: &[u8], sources: &Sources<'_>) -> Result<Insights, Unusable> {
    let known = &sources.links;
    let answer: Answer = serde_json::from_str(unfenced(&content(body)?)).map_err(Unusable::Schema)?;
    if answer.summary.trim().is_empty() {
        return Err(Unusable::Bounds("summary"));
    }
    let recommendations =
        answer.recommendations.into_iter().map(|found| found.checked(known)).collect::<Result<Vec<_>, _>>()?;
    Ok(bounded(Insights {
        summary: line(&answer.summary, known, SUMMARY_CHARS_MAX),
        action_items: answer.action_items.into_iter().filter_map(|item| sources.checked(item)).collect(),
        recommendations,
        links: answer.links.into_iter().filter_map(|found| found.checked(known)).collect(),
    }))
}

/// Merges the insights of the parts of a meeting, in order.
#[must_use]
pub fn merged(parts: Vec<Insights>) -> Insights {
    let summaries: Vec<&str> = parts.iter().map(|part| part.summary.as_str()).collect();
    let summary = clipped(&summaries.join(" "), SUMMARY_CHARS_MAX);
    let mut whole = Insights { summary, ..Insights::default() };
    for part in parts {
        whole.action_items.extend(part.action_items);
        whole.recommendations.extend(part.recommendations);
        whole.links.extend(part.links);
    }
    whole.recommendations.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    bounded(whole)
}

/// Returns insights without duplicates and empty texts, within the limits.
fn bounded(mut insights: Insights) -> Insights {
    let mut seen = HashSet::new();
    insights.action_items.retain(|item| seen.insert(normalized(&item.line())));
    insights.action_items.truncate(ACTION_ITEMS_MAX);
    let mut seen = HashSet::new();
    insights.recommendations.retain(|one| !one.content.is_empty() && seen.insert(normalized(&one.content)));
    insights.recommendations.truncate(RECOMMENDATIONS_MAX);
    let mut seen = HashSet::new();
    insights.links.retain(|link| seen.insert(link.url.clone()));
    insights.links.truncate(LINKS_MAX);
    insights
}

#[derive(Deserialize)]
struct Completion {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    message: Message,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Message {
    content: Option<String>,
    refusal: Option<String>,
}

fn content(body: &[u8]) -> Result<String, Unusable> {
    let completion: Completion = serde_json::from_slice(body).map_err(Unusable::Envelope)?;
    let choice = completion.choices.into_iter().next().ok_or(Unusable::Empty)?;
    if choice.message.refusal.is_some_and(|refusal| !refusal.is_empty()) {
        return Err(Unusable::Refused);
    }
    if choice.finish_reason.as_deref() == Some("length") {
        return Err(Unusable::CutOff);
    }
    choice.message.content.ok_or(Unusable::Empty)
}

/// Returns the text inside a Markdown code fence, which models without an enforced format like to add.
fn unfenced(content: &str) -> &str {
    let content = content.trim();
    let Some(inner) = content.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) else { return content };
    inner.strip_prefix("json").unwrap_or(inner).trim()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Answer {
    summary: String,
    action_items: Vec<Item>,
    recommendations: Vec<Recommended>,
    links: Vec<Linked>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Item {
    owner: Option<String>,
    task: String,
    /// As it was said.
    due: Option<String>,
    /// Evidence: words of the meeting.
    evidence: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recommended {
    #[serde(rename = "type")]
    kind: RecommendationKind,
    content: String,
    confidence: f64,
}

impl Recommended {
    fn checked(self, known: &BTreeMap<String, Link>) -> Result<Recommendation, Unusable> {
        if !(0.0..=1.0).contains(&self.confidence) {
            return Err(Unusable::Bounds("confidence"));
        }
        let content = line(&self.content, known, LINE_CHARS_MAX);
        Ok(Recommendation { kind: self.kind, content, confidence: rounded(self.confidence) })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Linked {
    url: String,
    title: String,
}

impl Linked {
    /// Returns the link if its URL occurs in the meeting.
    fn checked(self, known: &BTreeMap<String, Link>) -> Option<Link> {
        let found = known.get(&self.url)?;
        let title = line(&self.title, known, LINE_CHARS_MAX);
        Some(Link { title: if title.is_empty() { found.title.clone() } else { title }, ..found.clone() })
    }
}

/// Returns a text within its limit and without URLs that do not occur in the meeting.
fn line(text: &str, known: &BTreeMap<String, Link>, chars_max: usize) -> String {
    // Truncates first, because a truncated URL may be another one; then repeats, because the texts around a removed URL
    // can form a new one.
    let mut kept = clipped(text.trim(), chars_max);
    while let Some(span) = spans(&kept).into_iter().find(|span| !known.contains_key(&kept[span.clone()])) {
        let (before, after) = (&kept[..span.start], &kept[span.end..]);
        kept =
            if before.ends_with(' ') { format!("{before}{}", after.trim_start()) } else { format!("{before}{after}") };
    }
    kept.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::super::super::generator::insights::LinkKind;
    use super::*;
    use reading::action_items::item::LINE_WORDS_MAX;
    use reading::material::{Chunk, Person};

    /// A meeting of Ada.
    fn meeting() -> Material {
        let person = Person { id: "user_ada".into(), name: "Ada".into(), ..Person::default() };
        let chunk = |start_ms, text: &str| Chunk {
            speaker_id: "user_ada".into(),
            speaker_name: "Ada".into(),
            start_ms,
            text: text.to_owned(),
            ..Chunk::default()
        };
        let held_ms = Some(1_767_225_600_000);
        let chunks = vec![chunk(0, "I'll write to the"), chunk(5_000, "vendor by Friday.")];
        Material { chunks, people: vec![person], held_ms, ..Material::default() }
    }

    fn read(body: &[u8], links: &BTreeMap<String, Link>) -> Result<Insights, Unusable> {
        super::read(body, &Sources::of(&meeting(), links.clone()))
    }

    fn known() -> BTreeMap<String, Link> {
        let url = "https://example.org/plan".to_owned();
        [(url.clone(), Link { kind: LinkKind::Notes, url, title: "example.org/plan".to_owned() })].into()
    }

    fn completion(content: &str) -> Vec<u8> {
        json!({"choices": [{"message": {"role": "assistant", "content": content}, "finish_reason": "stop"}]})
            .to_string()
            .into_bytes()
    }

    fn good() -> Value {
        json!({
            "summary": "They planned.",
            "actionItems": [item("write to the vendor"), item("Write to the  vendor!"), item("")],
            "recommendations": [{"type": "learning", "content": "Read about plans", "confidence": 0.456}],
            "links": [{"url": "https://example.org/plan", "title": "The plan"}, {"url": "https://evil.example", "title": "x"}],
        })
    }

    fn item(task: &str) -> Value {
        json!({"owner": "Ada", "task": task, "due": "by Friday", "evidence": "I'll write to the vendor"})
    }

    fn with(field: &str, value: Value) -> Vec<u8> {
        let mut answer = good();
        answer[field] = value;
        completion(&answer.to_string())
    }

    #[test]
    fn a_good_answer_is_taken_without_repetitions_and_foreign_addresses() {
        let read = read(&completion(&good().to_string()), &known()).unwrap();
        assert_eq!(read.lines(), ["Ada: write to the vendor (by Friday)"]);
        assert_eq!(read.action_items[0].due_day, NaiveDate::from_ymd_opt(2026, 1, 2));
        assert!(read.action_items[0].is_of("user_ada"));
        assert_eq!(read.recommendations[0].confidence, 0.46);
        let plan = Link { kind: LinkKind::Notes, url: "https://example.org/plan".into(), title: "The plan".into() };
        assert_eq!(read.links, [plan]);
    }

    #[test]
    fn item_without_evidence_in_the_meeting_is_omitted() {
        let with_evidence = |evidence: &str| {
            let mut item = item("write to the vendor");
            item["evidence"] = json!(evidence);
            let body = with("actionItems", json!([item]));
            read(&body, &known()).unwrap().action_items.len()
        };
        assert_eq!(with_evidence("i'll WRITE to the vendor, by Friday"), 1, "across chunks, whatever the punctuation");
        for evidence in ["I'll call the vendor", "", "vendor", "to the"] {
            assert_eq!(with_evidence(evidence), 0, "{evidence:?}");
        }
        let mut stranger = item("write to the vendor");
        stranger["owner"] = json!("Mallory");
        stranger["due"] = json!("by Monday");
        let read = read(&with("actionItems", json!([stranger])), &known()).unwrap();
        assert_eq!(read.lines(), ["Write to the vendor"], "neither a name nor a date that nobody said");
    }

    #[test]
    fn item_keeps_to_the_form_of_a_line() {
        let lines = |task: &str| {
            let body = with("actionItems", json!([item(task)]));
            read(&body, &known()).unwrap().lines()
        };
        assert_eq!(lines("I'll write to the vendor by Friday"), ["Ada: write to the vendor (by Friday)"]);
        assert_eq!(lines("write to the vendor (Yesterday I finished it)"), ["Ada: write to the vendor (by Friday)"]);
        let long = lines(&"write to the vendor and ".repeat(20));
        assert!(long[0].split_whitespace().count() <= LINE_WORDS_MAX, "{long:?}");
    }

    #[test]
    fn a_made_up_address_goes_from_every_text() {
        let body = with("summary", json!("See https://evil.example/a?b and https://example.org/plan."));
        assert_eq!(read(&body, &known()).unwrap().summary, "See and https://example.org/plan.");
    }

    #[test]
    fn response_that_does_not_match_the_schema_is_rejected() {
        let wrong = [
            with("summary", json!("  ")),
            with("summary", json!(5)),
            with("surprise", json!(1)),
            with("actionItems", json!("one")),
            with("links", json!([{"url": "https://example.org/plan"}])),
            with("recommendations", json!([{"type": "advice", "content": "x", "confidence": 0.5}])),
            with("recommendations", json!([{"type": "learning", "content": "x", "confidence": 1.5}])),
            completion("Certainly! Here is the JSON:"),
            completion("{\"summary\": \"x\"}"),
            b"not json".to_vec(),
            json!({"choices": []}).to_string().into_bytes(),
            json!({"choices": [{"message": {"content": null}}]}).to_string().into_bytes(),
        ];
        for body in wrong {
            assert!(read(&body, &known()).is_err(), "{}", String::from_utf8_lossy(&body));
        }
    }

    #[test]
    fn refused_and_truncated_responses_are_distinguished() {
        let refused = json!({"choices": [{"message": {"content": null, "refusal": "No."}}]}).to_string();
        assert!(matches!(read(refused.as_bytes(), &known()), Err(Unusable::Refused)));
        let content = good().to_string();
        let cut = json!({"choices": [{"message": {"content": content}, "finish_reason": "length"}]}).to_string();
        assert!(matches!(read(cut.as_bytes(), &known()), Err(Unusable::CutOff)));
    }

    #[test]
    fn a_code_fence_around_the_object_does_not_matter() {
        let fenced = format!("```json\n{}\n```", good());
        assert!(read(&completion(&fenced), &known()).is_ok());
    }

    #[test]
    fn long_answers_are_cut_to_their_bounds() {
        let body = with("summary", json!("word ".repeat(1000)));
        assert!(read(&body, &known()).unwrap().summary.chars().count() <= SUMMARY_CHARS_MAX);
        let items: Vec<Value> = (0..50).map(|i| item(&format!("task {i}"))).collect();
        assert_eq!(read(&with("actionItems", json!(items)), &known()).unwrap().action_items.len(), ACTION_ITEMS_MAX);
    }

    #[test]
    fn parts_become_one_with_the_surest_first() {
        let task = |task: &str| ActionItem {
            owner: None,
            task: task.to_owned(),
            due: None,
            due_day: None,
            evidence: Vec::new(),
        };
        let part = |summary: &str, item: &str, confidence: f64| Insights {
            summary: summary.to_owned(),
            action_items: [item, "share it"].map(task).to_vec(),
            recommendations: vec![Recommendation {
                kind: RecommendationKind::Learning,
                content: format!("Read {item}"),
                confidence,
            }],
            links: known().into_values().collect(),
        };
        let whole = merged(vec![part("One.", "a", 0.3), part("Two.", "b", 0.6)]);
        assert_eq!(whole.summary, "One. Two.");
        assert_eq!(whole.lines(), ["A", "Share it", "B"]);
        assert_eq!(whole.recommendations[0].content, "Read b");
        assert_eq!(whole.links.len(), 1);
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic_and_no_foreign_address_passes(content in "(\\PC|https://[a-z]{2}\\.org){0,60}") {
            let body = with("summary", json!(format!("x {content}")));
            if let Ok(read) = read(&body, &known()) {
                prop_assert!(spans(&read.summary).into_iter().all(|span| known().contains_key(&read.summary[span])));
            }
            let _ = read(content.as_bytes(), &known());
        }
    }
}
