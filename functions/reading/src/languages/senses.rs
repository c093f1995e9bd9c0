//! The meanings of words, common to all languages, so that a meeting in one language helps to read others.
//!
//! A file has one form per line: the form, the plainest English word for it in British spelling, and its group of
//! words, separated by tabs. The groups:
//!
//! - of verbs, and of forms of verbs behind a slash: `give` (send, bring), `contact` (call, ask), `make` (write, build),
//!   `change` (repair, clean), `check` (test, look, search), `arrange` (book, plan), `get` (buy, fetch), `pay`, `handle`
//!   (take over, do), `finish`, `put` (hang, install), `remove` (delete, cancel), `come` (visit, meet), `go` (travel),
//!   `decide` (agree, vote), `keep`, `think` (know, remember), `say`, `feel` (want, hope), `must`, `can`, `be` (have,
//!   become), `happen` (break, rain), `begin` (stop, wait, try), `help`, `use` (everyday doings). The forms: `inf`, `imp`
//!   (an order), `1` `2` `3` (of the singular), `4` (of "we"), `5` (of the plural), `fut1` `fut3` `fut4` (the future),
//!   `past`, `part` (a participle), `ger` ("-ing"), `cond` (a wish, a condition);
//! - of nouns: `person`, `group`, `document`, `money`, `tech`, `tool` (things, vehicles), `place`, `event`, `when` (what
//!   tells a time), `nature` (food, animals, the body, weather), `trouble`, `idea`, `job`, `amount`, `name`;
//! - of other words: `good`, `bad` and `quality` (adjectives), `maybe` (how sure), `often`, `again` (adverbs and
//!   particles), `degree`, `where`, `i` `you` `we` `they` `it` `who` (pronouns), `what` (asking), `yes`, `no`, `oh`
//!   (fillers), `thanks`, `if`, `but`, `and` (joining), `of` (prepositions), `by` (those of a deadline), `the` (articles),
//!   `number`.

use std::sync::LazyLock;

use fst::Map;

/// The meaning of a form of a word in a work context.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sense {
    /// The plainest English word for it.
    pub lemma: &'static str,
    /// Its group of words ("document"), with the form of a verb ("give/past").
    pub group: &'static str,
}

/// The lemmas of all languages, and their groups, as the build script has packed them.
static LEMMAS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!(concat!(env!("OUT_DIR"), "/lemmas")).lines().collect());
static GROUPS: LazyLock<Vec<&str>> =
    LazyLock::new(|| include_str!(concat!(env!("OUT_DIR"), "/groups")).lines().collect());

/// The senses of the words of a language.
#[derive(Debug)]
pub(super) struct Senses(Map<&'static [u8]>);

impl Senses {
    /// Returns the senses that the build script has packed (`packing`).
    ///
    /// # Panics
    /// They are of another form, which no build makes.
    pub(super) fn packed(forms: &'static [u8]) -> Senses {
        Senses(Map::new(forms).expect("the build script packs what can be read"))
    }

    /// Returns the sense of a lower-case word.
    pub(super) fn of(&self, lower: &str) -> Option<Sense> {
        let place = usize::try_from(self.0.get(lower)?).ok()?;
        Some(Sense { lemma: LEMMAS.get(place >> 16)?, group: GROUPS.get(place & 0xffff)? })
    }
}

#[cfg(test)]
mod tests {
    use super::super::packing::packed;
    use super::super::phrases::Phrases;
    use super::super::token::lowered;
    use super::*;

    const VERBS: &str = "give contact make change check arrange get pay handle finish put remove come go decide keep think \
                         say feel must can be happen begin help use";
    const FORMS: &str = "inf imp 1 2 3 4 5 fut1 fut3 fut4 past part ger cond";
    const OTHERS: &str = "person group document money tech tool place event when nature trouble idea job amount name good bad \
                          quality maybe often again degree where i you we they it who what yes no oh thanks if but and of by \
                          the number";

    fn is_group(group: &str) -> bool {
        let is_one_of = |all: &str, one: &str| all.split_whitespace().any(|other| other == one);
        let (group, form) = group.split_once('/').map_or((group, None), |(group, form)| (group, Some(form)));
        let is_verb = is_one_of(VERBS, group);
        form.map_or(is_verb || is_one_of(OTHERS, group), |form| is_verb && is_one_of(FORMS, form))
    }

    #[test]
    fn a_form_means_the_same_in_every_language() {
        let sense = |(code, form)| Phrases::of(code).unwrap().sense(form);
        let send = ["schicken", "send", "enviar", "envoyer", "mandare", "sturen", "enviar"];
        let send = ["de", "en", "es", "fr", "it", "nl", "pt"].into_iter().zip(send);
        assert!(send.map(sense).all(|sense| sense == Some(Sense { lemma: "send", group: "give/inf" })));
        let i = ["ich", "i", "yo", "je", "io", "ik", "eu"];
        let i = ["de", "en", "es", "fr", "it", "nl", "pt"].into_iter().zip(i);
        assert!(i.map(sense).all(|sense| sense == Some(Sense { lemma: "i", group: "i" })));
        assert_eq!(Phrases::english().sense("zzz"), None);
    }

    #[test]
    fn every_line_of_the_files_is_one() {
        for code in ["en", "de", "fr", "es", "pt", "it", "nl"] {
            let senses = std::fs::read_to_string(format!("src/languages/{code}.tsv")).unwrap();
            let phrases = Phrases::of(code).unwrap();
            let mut before = "";
            for line in senses.lines().filter(|line| !line.starts_with('#')) {
                let columns: Vec<&str> = line.split('\t').collect();
                let [form, lemma, group] = columns[..] else { panic!("languages/{code}.tsv: {line}") };
                let is_small = |word: &str| !word.is_empty() && lowered(word) == word;
                assert!(is_small(form) && is_small(lemma) && is_group(group), "languages/{code}.tsv: {line}");
                assert!(before < form, "languages/{code}.tsv: {line}");
                let is_packed = |sense: Sense| sense.lemma == lemma && sense.group == group;
                assert!(phrases.sense(form).is_some_and(is_packed), "languages/{code}.tsv: {line}");
                before = form;
            }
        }
    }

    #[test]
    fn comments_and_invalid_lines_are_not_packed() {
        let packed = packed(&["# forms\nsend\tsend\tgive/inf\nbroken\tline\n\n".to_owned()]).unwrap();
        assert_eq!((packed.lemmas.as_str(), packed.groups.as_str()), ("send", "give/inf"));
        assert_eq!(Map::new(packed.forms[0].clone()).unwrap().len(), 1);
    }
}
