//! Recognizes tasks that no person would write: with a verb of a second sentence in them, or a pronoun that is left over.

use super::draft::Here;
use crate::languages::classes::Class;
use crate::languages::token::{Break, Token};
use crate::text::tokens::{is_determined, tokens};

/// Forms of verbs with a subject.
const FINITE: [&str; 7] = ["1", "3", "4", "5", "past", "cond", "fut"];

/// Returns a task that reads like one: without left-over pronouns and the words of a second sentence. None if that is no
/// task. English is exempt: its forms are too ambiguous.
pub(super) fn tidied(here: Here<'_>, task: &str) -> Option<String> {
    if here.phrases.code == "en" {
        // "Get the drafts over to (you)."
        let loose = ["to", "with", "for", "from"];
        let (rest, last) = task.rsplit_once(' ').unwrap_or((task, ""));
        return Some(if loose.contains(&last) { rest } else { task }.to_owned());
    }
    let task = &with_infinitive(here, task);
    let all = tokens(task, here.phrases);
    let verbs_last = here.phrases.sets_verbs_last();
    let is_subordinate = |token: &Token| {
        token.has_any(&[Class::Complement, Class::Condition, Class::Temporal])
            || matches!(here.phrases.group(&token.lower), "what" | "who" | "where" | "if" | "but")
    };
    let main = all.iter().position(is_subordinate).unwrap_or(all.len());
    let second = (0..main).find(|at| is_second_verb(here, &all, *at));
    let end = second.unwrap_or(all.len());
    let mut kept: Vec<usize> = (0..end).filter(|at| *at >= main || !is_left_over(here, &all, *at)).collect();
    let is_loose = |at: usize| {
        let is_article = all[at].has(Class::Determiner) && (second.is_some() || !all[at].has(Class::Object));
        let others = [Class::Preposition, Class::Between, Class::Interjection, Class::Pronoun, Class::Negation];
        all[at].has_any(&[Class::Joint, Class::Complement])
            || is_article
            || (second.is_some() && all[at].has_any(&others))
    };
    let is_infinitive = |at: usize| has_verb(here, &all[at..=at]);
    while kept.last().is_some_and(|last| is_loose(*last) && !(verbs_last && is_infinitive(*last))) {
        kept.pop();
    }
    // "Eine Routine die ist fertig bauen."
    let last = all.len().saturating_sub(1);
    if second.is_some()
        && verbs_last
        && last >= end
        && is_infinitive(last)
        && !kept.last().is_some_and(|at| is_infinitive(*at))
    {
        kept.push(last);
    }
    let mut text = String::new();
    for (number, at) in kept.iter().enumerate() {
        let before = number.checked_sub(1).map(|before| kept[before]);
        match before {
            Some(before) if before + 1 == *at => text.push_str(&task[all[before].place.end..all[*at].place.start]),
            Some(_) => text.push(' '),
            None => {}
        }
        text.push_str(&task[all[*at].place.clone()]);
    }
    let left: Vec<Token> = kept.iter().map(|at| all[*at].clone()).collect();
    (left.len() > 1 && has_verb(here, &left)).then_some(text)
}

/// "Telefono al cliente": returns a task with the infinitive of its first verb.
fn with_infinitive(here: Here<'_>, task: &str) -> String {
    let phrases = here.phrases;
    let (verb, rest) = task.split_at(task.find(' ').unwrap_or(task.len()));
    let classes = phrases.classes(verb);
    let is_own = classes.has(Class::Me) || classes.has(Class::MeLater) || phrases.form(verb) == Some("1");
    let infinitive = phrases.infinitive(verb).map(str::to_owned).or_else(|| phrases.related(verb));
    match infinitive.or_else(|| phrases.guessed(verb)) {
        Some(infinitive) if is_own && !phrases.sets_verbs_last() && !classes.has(Class::Infinitive) => {
            format!("{infinitive}{rest}")
        }
        _ => task.to_owned(),
    }
}

fn is_finite(here: Here<'_>, token: &Token) -> bool {
    let form = here.phrases.form(&token.lower);
    form.is_some_and(|form| FINITE.contains(&form)) && !token.has(Class::Infinitive) && !token.has_capital
}

fn is_infinitive(here: Here<'_>, token: &Token) -> bool {
    let phrases = here.phrases;
    let is_known = token.has(Class::Infinitive) || phrases.form(&token.lower) == Some("inf");
    is_known || (!phrases.sets_verbs_last() && phrases.can_be_infinitive(&token.lower))
}

/// Returns true for a pronoun without a preposition.
fn is_left_over(here: Here<'_>, tokens: &[Token], at: usize) -> bool {
    let token = &tokens[at];
    let next = tokens.get(at + 1).filter(|next| next.before == Break::None);
    let before = at.checked_sub(1).map(|before| &tokens[before]);
    // "Dafür", "das": a thing that was said.
    let is_person = if here.phrases.sets_verbs_last() {
        matches!(token.lower.as_str(), "sie" | "ihm" | "ihn" | "ihnen" | "es" | "ze" | "hem" | "het")
            && !token.has_capital
    } else {
        token.has(Class::Object) && !matches!(here.phrases.group(&token.lower), "this" | "it")
    };
    let is_behind_infinitive = before.is_some_and(|before| is_infinitive(here, before));
    let is_article = token.has(Class::Determiner)
        && next.is_some_and(|next| !next.has(Class::Pronoun) && (is_behind_infinitive || !is_finite(here, next)));
    is_person
        && !token.has(Class::Preposition)
        && !token.classes.is_verb()
        && !is_article
        && !before.is_some_and(|before| before.has(Class::Preposition))
}

/// Returns true for the verb of another sentence.
fn is_second_verb(here: Here<'_>, tokens: &[Token], at: usize) -> bool {
    let is_last = here.phrases.sets_verbs_last() && at + 1 == tokens.len();
    // "Pour le lit", "dessiner la coupe".
    let governs = |at: usize| tokens[at].has(Class::Preposition) || is_infinitive(here, &tokens[at]);
    // "Nieuwe sla."
    let is_described = at > 0 && ["quality", "good", "number"].contains(&here.phrases.group(&tokens[at - 1].lower));
    let is_noun = is_determined(tokens, at, here.phrases)
        || is_described
        || (at > 0 && tokens[at - 1].has(Class::Determiner) && !tokens[at - 1].has(Class::Object))
        || (at > 0 && tokens[at - 1].has(Class::Preposition))
        || (at > 1 && tokens[at - 1].has(Class::Determiner) && governs(at - 2));
    let is_be = here.phrases.group(&tokens[at].lower).starts_with("be/");
    at > 0 && !is_last && (is_be || !is_noun) && is_finite(here, &tokens[at])
}

/// Returns true if an infinitive is in its place.
fn has_verb(here: Here<'_>, tokens: &[Token]) -> bool {
    let phrases = here.phrases;
    if phrases.sets_verbs_last() {
        let others = [Class::Determiner, Class::Preposition, Class::Object, Class::Pronoun];
        let ends = |token: &Token| !token.has_capital && token.lower.ends_with("en") && !token.has_any(&others);
        return tokens.iter().any(|token| is_infinitive(here, token) || ends(token));
    }
    let is_reflexive = |token: &&Token| matches!(token.lower.as_str(), "s'" | "se");
    let first = tokens.iter().find(|token| !is_reflexive(token));
    first.is_some_and(|first| is_infinitive(here, first))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::material::{Chunk, Material};
    use crate::text::sentences::Text;

    fn tidy(language: &str, task: &str) -> Option<String> {
        let chunks = Chunk::of_talk(&[("Eva", task)], Some(language));
        let text = Text::of(&Material { chunks, ..Material::default() });
        let sentence = &text.sentences[0];
        let phrases = sentence.language.phrases()?;
        tidied(Here { index: 0, sentence, phrases, turn: 0, speaker: None, opens_turn: true }, task)
    }

    #[test]
    fn words_of_a_second_sentence_and_left_over_pronouns_are_removed() {
        let tasks = [
            ("es", "revisar el convenio y lo devuelve", "revisar el convenio"),
            ("pt", "fechar a escala e passa", "fechar a escala"),
            ("fr", "dessiner la coupe sur l'escalier", "dessiner la coupe sur l'escalier"),
            ("nl", "ze een nette afwijzing mailen", "een nette afwijzing mailen"),
            ("de", "eine Routine die ist fertig bauen", "eine Routine bauen"),
            ("en", "get the drafts over to", "get the drafts over"),
        ];
        for (language, task, expected) in tasks {
            assert_eq!(tidy(language, task).as_deref(), Some(expected), "{task}");
        }
    }

    #[test]
    fn words_without_an_infinitive_are_no_task() {
        for (language, words) in [("it", "vanno ripuliti"), ("fr", "les lots en occupe"), ("de", "den Laptop an")] {
            assert_eq!(tidy(language, words), None, "{words}");
        }
    }
}
