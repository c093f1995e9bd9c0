//! The packed form of the files of senses.
//!
//! The build script includes this file, so that the program contains the senses in their lookup form.

use std::collections::BTreeSet;

use fst::{Error, MapBuilder};

/// The senses of all languages.
pub(crate) struct Packed {
    /// A finite-state map for each language, from each form to `lemma << 16 | group`: the line numbers of its lemma and of
    /// its group.
    pub(crate) forms: Vec<Vec<u8>>,
    /// The lemmas of all languages, one per line.
    pub(crate) lemmas: String,
    /// Their groups, one per line.
    pub(crate) groups: String,
}

/// Packs the files of all languages.
///
/// # Errors
/// A file contains a form twice.
pub(crate) fn packed(files: &[String]) -> Result<Packed, Error> {
    let lines = |file: &str| -> Vec<[String; 3]> { file.lines().filter_map(senses).collect() };
    let files: Vec<Vec<[String; 3]>> = files.iter().map(|file| lines(file)).collect();
    let all = |column: usize| -> Vec<&String> {
        let distinct: BTreeSet<&String> = files.iter().flatten().map(|line| &line[column]).collect();
        distinct.into_iter().collect()
    };
    let (lemmas, groups) = (all(1), all(2));
    let number = |all: &[&String], one: &String| all.binary_search(&one).unwrap_or_default() as u64;
    let pack = |file: &Vec<[String; 3]>| -> Result<Vec<u8>, Error> {
        let mut forms = MapBuilder::memory();
        let mut file: Vec<&[String; 3]> = file.iter().collect();
        file.sort_unstable();
        for [form, lemma, group] in file {
            forms.insert(form, number(&lemmas, lemma) << 16 | number(&groups, group))?;
        }
        forms.into_inner()
    };
    let forms = files.iter().map(pack).collect::<Result<_, Error>>()?;
    let text = |lines: &[&String]| lines.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("\n");
    Ok(Packed { forms, lemmas: text(&lemmas), groups: text(&groups) })
}

/// Returns the form, the lemma and the group of a line. Other lines are comments.
fn senses(line: &str) -> Option<[String; 3]> {
    let mut columns = line.split('\t').map(str::to_owned);
    let sense = [columns.next()?, columns.next()?, columns.next()?];
    (columns.next().is_none() && !line.starts_with('#')).then_some(sense)
}
