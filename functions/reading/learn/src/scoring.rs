//! Scores of the findings in a labelled meeting.
//!
//! An item counts if it reads like a written to-do: at most 25 words with owner and time, no brackets except those of
//! the time, and no words of sentences that are not its evidence. The task alone must contain the words of the label.

use std::ops::AddAssign;

use reading::action_items::item::{ActionItem, EVIDENCE_MAX, LINE_WORDS_MAX};
use reading::findings::Findings;
use reading::languages::phrases::Phrases;
use reading::model::weights::Learned;
use reading::text::sentences::normalized;

use crate::corpus::{Label, Meeting, holds};

/// Number of topics in a summary.
const TOPICS: usize = 3;
/// Most consecutive words that an item may share with a sentence that is not its evidence.
const SHARED_MAX: usize = 4;

/// Counts over meetings.
#[derive(Default, Clone, Copy)]
pub struct Score {
    items: Hits,
    /// Number of found items with the right date.
    dates: usize,
    dates_right: usize,
    decisions: Hits,
    topics: usize,
    topics_apt: usize,
    no_tasks: usize,
    /// Number of these that were reported as tasks.
    no_tasks_taken: usize,
}

#[derive(Default, Clone, Copy)]
struct Hits {
    labelled: usize,
    found: usize,
    right: usize,
}

impl Hits {
    fn precision(self) -> f64 {
        if self.found == 0 { 1.0 } else { self.right as f64 / self.found as f64 }
    }

    fn recall(self) -> f64 {
        if self.labelled == 0 { 1.0 } else { self.right as f64 / self.labelled as f64 }
    }

    fn f1(self) -> f64 {
        if self.right == 0 { 0.0 } else { 2.0 * self.right as f64 / (self.labelled + self.found) as f64 }
    }
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Score) {
        for (sum, more) in [(&mut self.items, other.items), (&mut self.decisions, other.decisions)] {
            sum.labelled += more.labelled;
            sum.found += more.found;
            sum.right += more.right;
        }
        self.dates += other.dates;
        self.dates_right += other.dates_right;
        self.topics += other.topics;
        self.topics_apt += other.topics_apt;
        self.no_tasks += other.no_tasks;
        self.no_tasks_taken += other.no_tasks_taken;
    }
}

impl Score {
    pub const HEADER: &str = "      items  found right precision recall   F1 | dates right | decisions found right precision recall | topics apt | no tasks taken\n";

    pub fn line(&self, name: &str) -> String {
        let Score { items, decisions, .. } = self;
        format!(
            "{name:5} {:5} {:6} {:5} {:9.2} {:6.2} {:4.2} | {:5} {:5} | {:9} {:5} {:5} {:9.2} {:6.2} | {:6} {:3} | {:8} {:5}\n",
            items.labelled,
            items.found,
            items.right,
            items.precision(),
            items.recall(),
            items.f1(),
            self.dates,
            self.dates_right,
            decisions.labelled,
            decisions.found,
            decisions.right,
            decisions.precision(),
            decisions.recall(),
            self.topics,
            self.topics_apt,
            self.no_tasks,
            self.no_tasks_taken,
        )
    }
}

fn is_owner(item: &ActionItem, owner: &str) -> bool {
    match &item.owner {
        Some(named) => owner != "-" && named.name.to_lowercase().contains(&owner.to_lowercase()),
        None => owner == "-",
    }
}

/// Returns the score of a meeting, and descriptions of what was missed or wrong.
pub fn score(meeting: &Meeting, language: &str, learned: &Learned) -> (Score, Vec<String>) {
    let findings = Findings::weighed(&meeting.material(), TOPICS, learned);
    let mut misses = Vec::new();
    let mut score = Score::default();
    assert_eq!(findings.text.language(), language, "{}", meeting.name);
    if Phrases::of(language).is_some() {
        score_items(meeting, &findings.items, &mut score, &mut misses);
        score_decisions(meeting, &findings, &mut score, &mut misses);
    }
    // The topics of a scene are not labelled.
    for topic in findings.topics.iter().filter(|_| !meeting.topics.is_empty()) {
        let is_apt = meeting.has_topic(&topic.phrase);
        score.topics += 1;
        score.topics_apt += usize::from(is_apt);
        if !is_apt {
            misses.push(format!("- topic: {}", topic.phrase.to_lowercase()));
        }
    }
    (score, misses)
}

/// Returns true if an item reads like a written to-do: within its limit, without brackets except those of its time, and
/// without surrounding talk.
fn is_told_short(item: &ActionItem, said: &str) -> bool {
    let task = normalized(&item.task);
    let evidence: Vec<String> = item.evidence.iter().map(|one| normalized(one)).collect();
    let words: Vec<&str> = task.split(' ').collect();
    let holds = |text: &str, run: &str| format!(" {text} ").contains(&format!(" {run} "));
    let lines: Vec<String> = said.lines().filter_map(|line| Some(normalized(line.split_once(": ")?.1))).collect();
    let is_foreign = |run: &[&str]| {
        let run = run.join(" ");
        lines.iter().any(|line| holds(line, &run)) && !evidence.iter().any(|one| holds(one, &run))
    };
    // A sentence of evidence with additional words is a quotation.
    let is_quoted = |one: &String| one.split(' ').count() > SHARED_MAX && *one != task && holds(&task, one);
    item.line().split_whitespace().count() <= LINE_WORDS_MAX
        && item.evidence.len() <= EVIDENCE_MAX
        && !item.task.contains(['(', ')', '[', ']', '…', '“', '”', '"'])
        && !evidence.iter().any(is_quoted)
        && !words.windows(SHARED_MAX + 1).any(is_foreign)
}

/// Scores the items of a meeting against its labels. A label must be found in the task alone: owner, time and evidence
/// do not count.
fn score_items(meeting: &Meeting, items: &[ActionItem], score: &mut Score, misses: &mut Vec<String>) {
    let mut left: Vec<&ActionItem> = items.iter().collect();
    score.items.labelled = meeting.items.len();
    score.items.found = left.len();
    for item in &meeting.items {
        let Label { owner, words, date, .. } = Label::of(item);
        let is_meant = |found: &&ActionItem| {
            is_owner(found, owner) && is_told_short(found, &meeting.said) && holds(&found.task, words)
        };
        let Some(found) = left.iter().position(is_meant) else {
            misses.push(format!("+ {item}"));
            continue;
        };
        let found = left.remove(found);
        score.items.right += 1;
        let day = found.due_day.map_or_else(|| "?".to_owned(), |day| day.to_string());
        score.dates += usize::from(date != "?");
        score.dates_right += usize::from(date != "?" && day == date);
        if day != date {
            misses.push(format!("  {date} is {day}: {}", found.line()));
        }
    }
    left.iter().for_each(|item| misses.push(format!("- {}", item.line())));
    for words in &meeting.no_tasks {
        score.no_tasks += 1;
        if left.iter().any(|item| holds(&item.task, words)) {
            score.no_tasks_taken += 1;
            misses.push(format!("! {words}"));
        }
    }
}

fn score_decisions(meeting: &Meeting, findings: &Findings, score: &mut Score, misses: &mut Vec<String>) {
    let mut left: Vec<&str> = findings.decisions.iter().map(|decision| decision.text.as_str()).collect();
    score.decisions.labelled = meeting.decisions.len();
    score.decisions.found = left.len();
    for words in &meeting.decisions {
        match left.iter().position(|text| holds(text, words)) {
            Some(found) => {
                left.remove(found);
                score.decisions.right += 1;
            }
            None => misses.push(format!("+ decision {words}")),
        }
    }
    left.iter().for_each(|text| misses.push(format!("- decision {text}")));
}

#[cfg(test)]
mod tests {
    use reading::action_items::item::Owner;

    use super::*;

    /// A meeting of four sentences with one item.
    fn small_meeting() -> Meeting {
        let said = [
            "Ana: The wiki page on releases is older than the team.",
            "Ana: Could somebody update the wiki page before the audit?",
            "Tom: I can do that by Thursday, it's basically one line.",
            "Ana: Yesterday I finished the retry logic for the payments.",
        ];
        let meeting = format!(
            r#"
            name = "wiki"
            date = "2025-03-04"
            people = ["Ana", "Tom"]
            said = """{}"""
            items = ["Tom | wiki page | 2025-03-06"]
            topics = []
            "#,
            said.join("\n")
        );
        toml::from_str(&meeting).unwrap()
    }

    fn item(task: &str, evidence: &[&str]) -> ActionItem {
        let owner = Some(Owner { id: Some("tom".to_owned()), name: "Tom".to_owned() });
        let evidence = evidence.iter().map(|said| (*said).to_owned()).collect();
        ActionItem { owner, task: task.to_owned(), due: Some("by Thursday".to_owned()), due_day: None, evidence }
    }

    #[test]
    fn item_that_quotes_its_evidence_fails() {
        let (says, asks) = (
            "I can do that by Thursday, it's basically one line.",
            "Could somebody update the wiki page before the audit?",
        );
        let meeting = small_meeting();
        let right = |task: &str| {
            let mut score = Score::default();
            score_items(&meeting, &[item(task, &[says, asks])], &mut score, &mut Vec::new());
            score.items.right
        };
        assert_eq!(right("update the wiki page before the audit"), 1);
        let quotations = [
            "do that (Could somebody update the wiki page before the audit?)",
            "do that, could somebody update the wiki page before the audit",
            "update the wiki page, yesterday I finished the retry logic",
            "update the wiki page which is older than the team and so on and so on and so on and so on and so on",
        ];
        for task in quotations {
            assert_eq!(right(task), 0, "{task}");
        }
        assert_eq!(right("do that"), 0, "the evidence holds no label");
    }
}
