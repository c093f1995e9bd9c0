//! What words mean, alike in all languages, so that a meeting in one language teaches the reading of another.

use rustc_hash::FxHashMap;

/// What a form of a word means where people work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sense {
    /// The plainest English word for it.
    pub lemma: &'static str,
    /// The group of words that it belongs to ("document"), with the form of a verb ("give/past").
    pub group: &'static str,
}

/// The senses of the words of a language.
pub(super) struct Senses(FxHashMap<&'static str, Sense>);

impl Senses {
    /// From lines of a form, its lemma and its group. What is no such line is left out.
    pub(super) fn read(lines: &'static str) -> Senses {
        let sense = |line: &'static str| {
            let (form, sense) = line.split_once('\t')?;
            let (lemma, group) = sense.split_once('\t')?;
            Some((form, Sense { lemma, group }))
        };
        Senses(lines.lines().filter(|line| !line.starts_with('#')).filter_map(sense).collect())
    }

    /// Of a lower-cased word.
    pub(super) fn of(&self, lower: &str) -> Option<Sense> {
        self.0.get(lower).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::phrases::Phrases;
    use super::*;

    #[test]
    fn a_form_means_the_same_in_every_language() {
        let senses = [("en", "send"), ("de", "schicken"), ("fr", "envoyer"), ("es", "mandar"), ("it", "mandare")]
            .map(|(code, form)| Phrases::of(code).unwrap().sense(form));
        assert_eq!(senses, [Some(Sense { lemma: "send", group: "give/inf" }); 5]);
        assert_eq!(Phrases::english().sense("zzz"), None);
    }

    #[test]
    fn lines_that_are_none_are_left_out() {
        let senses = Senses::read("# forms\nsend\tsend\tgive/inf\nbroken\tline\n\n");
        assert_eq!(senses.0.len(), 1);
        assert_eq!(senses.of("send"), Some(Sense { lemma: "send", group: "give/inf" }));
    }
}
