//! Experience levels, from the words or years in a profile.

use unicode_segmentation::UnicodeSegmentation;

/// Experience level; adjacent levels have a gap of 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    Entry = 1,
    Junior = 2,
    Mid = 3,
    Senior = 4,
    Lead = 5,
    Executive = 6,
}

/// Words for levels. Ambiguous words ("manager", "graduate", "associate") are omitted.
const WORDS: [(Level, &[&str]); 6] = [
    (Level::Entry, &["entry", "intern", "internship", "trainee", "apprentice", "student", "beginner", "novice"]),
    (Level::Junior, &["junior", "jr"]),
    (Level::Mid, &["mid", "middle", "midlevel", "intermediate"]),
    (Level::Senior, &["senior", "sr", "expert", "veteran"]),
    (Level::Lead, &["lead", "leader", "principal", "staff", "head"]),
    (
        Level::Executive,
        &["executive", "exec", "director", "vp", "president", "chief", "ceo", "cto", "cfo", "coo", "cio", "cmo", "cpo"],
    ),
];

const YEARS: [&str; 5] = ["years", "year", "yrs", "yr", "y"];
const MONTHS: [&str; 4] = ["months", "month", "mos", "mo"];
const NUMBERS: [&str; 13] =
    ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

/// Returns the level of a text: by its words (the highest of several), otherwise by its years; none without both.
///
/// Of a range ("3–5 years"), the lower end counts; of several spans, the longest. A text that is only a number means
/// years.
pub fn level(experience: &str) -> Option<Level> {
    let words: Vec<String> = experience.unicode_words().map(str::to_lowercase).collect();
    named(&words).or_else(|| years(&words).map(of_years))
}

/// Returns the value of the feature `experienceGap`: best for a gap of one or two, .5 if a level is unknown.
pub fn gap_value(a: Option<Level>, b: Option<Level>) -> f64 {
    let (Some(a), Some(b)) = (a, b) else {
        return 0.5;
    };
    match (a as i32 - b as i32).abs() {
        0 => 0.7,
        1 | 2 => 1.0,
        3 => 0.6,
        _ => 0.3,
    }
}

fn named(words: &[String]) -> Option<Level> {
    WORDS
        .iter()
        .rev()
        .find(|(_, names)| words.iter().any(|word| names.contains(&word.as_str())))
        .map(|(level, _)| *level)
}

fn of_years(years: f64) -> Level {
    match years {
        years if years < 1.0 => Level::Entry,
        years if years < 3.0 => Level::Junior,
        years if years < 6.0 => Level::Mid,
        years if years < 10.0 => Level::Senior,
        years if years < 15.0 => Level::Lead,
        _ => Level::Executive,
    }
}

/// Returns the longest time span in the words, in years.
fn years(words: &[String]) -> Option<f64> {
    if let [only] = words
        && let Some((number, "")) = number(only)
    {
        return Some(number);
    }
    let mut longest: Option<f64> = None;
    // The number to which a following unit belongs; for a range, the first number stays.
    let mut open: Option<f64> = None;
    for word in words {
        let (number, unit) = match number(word) {
            Some((number, unit)) => (open.or(Some(number)), unit),
            None => (open, word.as_str()),
        };
        open = if unit.is_empty() || matches!(unit, "to" | "or") { number } else { None };
        let span = number.and_then(|number| in_years(number, unit));
        longest = match (longest, span) {
            (Some(longest), Some(span)) => Some(longest.max(span)),
            (longest, span) => longest.or(span),
        };
    }
    longest
}

fn in_years(number: f64, unit: &str) -> Option<f64> {
    if YEARS.contains(&unit) {
        Some(number)
    } else if MONTHS.contains(&unit) {
        Some(number / 12.0)
    } else {
        None
    }
}

/// Splits a number from the start of a word: "5" and "", "5yrs" and "yrs", "1.5" and "", "five" and "".
fn number(word: &str) -> Option<(f64, &str)> {
    if let Some(value) = NUMBERS.iter().position(|name| *name == word) {
        return Some((value as f64, ""));
    }
    let end =
        word.find(|letter: char| !letter.is_ascii_digit() && letter != '.' && letter != ',').unwrap_or(word.len());
    let value: f64 = word[..end].replace(',', ".").parse().ok()?;
    Some((value, &word[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_a_level_and_the_highest_counts() {
        for (text, expected) in [
            ("Entry level", Level::Entry),
            ("junior", Level::Junior),
            ("mid-level", Level::Mid),
            ("Senior", Level::Senior),
            ("Sr. engineer, tech lead", Level::Lead),
            ("C-level: CTO", Level::Executive),
            ("Senior, 2 years", Level::Senior),
        ] {
            assert_eq!(level(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn years_give_a_level_at_their_bounds() {
        for (text, expected) in [
            ("6 months", Level::Entry),
            ("1 year", Level::Junior),
            ("18 months", Level::Junior),
            ("2.9 years", Level::Junior),
            ("3 years", Level::Mid),
            ("3-5 years", Level::Mid),
            ("two to four years", Level::Junior),
            ("6yrs", Level::Senior),
            ("over 10 years, 2 years of them abroad", Level::Lead),
            ("10+ years", Level::Lead),
            ("15 years", Level::Executive),
            ("7", Level::Senior),
        ] {
            assert_eq!(level(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn a_text_that_says_neither_has_no_level() {
        for text in ["", "I like chess", "since 2015", "3 cats and many years"] {
            assert_eq!(level(text), None, "{text}");
        }
    }

    #[test]
    fn a_gap_of_one_or_two_is_best() {
        assert_eq!(gap_value(Some(Level::Mid), Some(Level::Mid)), 0.7);
        assert_eq!(gap_value(Some(Level::Entry), Some(Level::Mid)), 1.0);
        assert_eq!(gap_value(Some(Level::Senior), Some(Level::Mid)), 1.0);
        assert_eq!(gap_value(Some(Level::Entry), Some(Level::Senior)), 0.6);
        assert_eq!(gap_value(Some(Level::Executive), Some(Level::Entry)), 0.3);
        assert_eq!(gap_value(None, Some(Level::Mid)), 0.5);
    }
}
