//! Deadlines: their words, and the days that they mean.
//!
//! Days are relative to the day of the meeting, in UTC. A week ends on Friday; a weekday is the next one in the future.
//! If the words leave the day open ("next week", "soon") there is no date.

use chrono::{Datelike as _, Days, Months, NaiveDate, Weekday};
use rustc_hash::FxHashMap;
use serde::Deserialize;

use super::token::{Break, Token};

/// A deadline, or a time of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// Its tokens.
    pub start: usize,
    pub end: usize,
    /// True for a deadline ("by", "until").
    pub is_deadline: bool,
    /// The day, if the words and the day of the meeting determine it.
    pub day: Option<NaiveDate>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct CalendarFile {
    /// Monday to Sunday, each with all its spellings.
    weekdays: Vec<String>,
    months: Vec<String>,
    today: Vec<String>,
    tomorrow: Vec<String>,
    after_tomorrow: Vec<String>,
    /// Words before a deadline.
    before: Vec<String>,
    /// Words before a time.
    at: Vec<String>,
    /// Words between these and the time.
    articles: String,
    /// Words for the following week, month, …; before or behind its name.
    next: Vec<String>,
    /// Words for the coming one, before or behind its name.
    coming: Vec<String>,
    this: Vec<String>,
    last: Vec<String>,
    end_of: Vec<String>,
    middle_of: Vec<String>,
    within: Vec<String>,
    day: String,
    week: String,
    month: String,
    quarter: String,
    year: String,
    weekend: Vec<String>,
    hour: String,
    parts: Vec<String>,
    /// One, two, three, … in words; several spellings with `|`.
    numbers: String,
    /// First, second, … in words; several spellings with `|`, words of one number with `_`.
    ordinals: String,
    /// Endings of the digits of a day ("th").
    suffixes: String,
    /// Words before the number of a day without a month ("le 15").
    day_markers: String,
    clock: String,
    soon: Vec<String>,
    /// Deadlines other than dates ("the meeting").
    events: String,
}

/// The meaning of a word or a run of words in a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Weekday(u32),
    Month(u32),
    Day(u64),
    Before,
    At,
    Next,
    Coming,
    This,
    Last,
    EndOf,
    MiddleOf,
    Within,
    Unit(Unit),
    Weekend,
    Part,
    Number(u64),
    Ordinal(u32),
    Clock,
    Soon,
    Event,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
}

/// The words of a language for times.
#[derive(Debug)]
pub struct Calendar {
    /// Runs of words by their first word, longest first.
    words: FxHashMap<String, Vec<(Vec<String>, Word)>>,
    articles: Vec<String>,
    suffixes: Vec<String>,
    day_markers: Vec<String>,
}

impl Calendar {
    pub(super) fn new(file: CalendarFile) -> Calendar {
        let mut words: FxHashMap<String, Vec<(Vec<String>, Word)>> = FxHashMap::default();
        let mut add = |phrase: &str, word: Word| {
            let mut parts = phrase.split([' ', '_']).map(str::to_owned);
            if let Some(first) = parts.next().filter(|first| !first.is_empty()) {
                words.entry(first).or_default().push((parts.collect(), word));
            }
        };
        for (at, names) in (0..).zip(&file.weekdays) {
            names.split_whitespace().for_each(|name| add(name, Word::Weekday(at)));
        }
        for (at, names) in (1..).zip(&file.months) {
            names.split_whitespace().for_each(|name| add(name, Word::Month(at)));
        }
        let lists = [
            (&file.today, Word::Day(0)),
            (&file.tomorrow, Word::Day(1)),
            (&file.after_tomorrow, Word::Day(2)),
            (&file.before, Word::Before),
            (&file.at, Word::At),
            (&file.next, Word::Next),
            (&file.coming, Word::Coming),
            (&file.this, Word::This),
            (&file.last, Word::Last),
            (&file.end_of, Word::EndOf),
            (&file.middle_of, Word::MiddleOf),
            (&file.within, Word::Within),
            (&file.weekend, Word::Weekend),
            (&file.parts, Word::Part),
            (&file.soon, Word::Soon),
        ];
        for (phrases, word) in lists {
            phrases.iter().for_each(|phrase| add(phrase, word));
        }
        let singles = [
            (&file.day, Word::Unit(Unit::Day)),
            (&file.week, Word::Unit(Unit::Week)),
            (&file.month, Word::Unit(Unit::Month)),
            (&file.quarter, Word::Unit(Unit::Quarter)),
            (&file.year, Word::Unit(Unit::Year)),
            (&file.hour, Word::Unit(Unit::Hour)),
            (&file.clock, Word::Clock),
            (&file.events, Word::Event),
        ];
        for (listed, word) in singles {
            listed.split_whitespace().for_each(|one| add(one, word));
        }
        for (number, spellings) in (1..).zip(file.numbers.split_whitespace()) {
            spellings.split('|').for_each(|spelling| add(spelling, Word::Number(number)));
        }
        for (number, spellings) in (1..).zip(file.ordinals.split_whitespace()) {
            spellings.split('|').for_each(|spelling| add(spelling, Word::Ordinal(number)));
        }
        for phrases in words.values_mut() {
            phrases.sort_by_key(|(further, _)| std::cmp::Reverse(further.len()));
        }
        let owned = |text: &str| text.split_whitespace().map(str::to_owned).collect();
        Calendar {
            words,
            articles: owned(&file.articles),
            suffixes: owned(&file.suffixes),
            day_markers: owned(&file.day_markers),
        }
    }

    /// Returns true if a word alone is a day, a month or a period: it is neither a name nor a topic.
    #[must_use]
    pub fn is_word(&self, lower: &str) -> bool {
        self.words.get(lower).is_some_and(|phrases| {
            phrases.iter().any(|(further, word)| {
                further.is_empty()
                    && matches!(
                        word,
                        Word::Weekday(_)
                            | Word::Month(_)
                            | Word::Day(_)
                            | Word::Unit(_)
                            | Word::Weekend
                            | Word::Part
                            | Word::Number(_)
                            | Word::Ordinal(_)
                            | Word::Clock
                            | Word::Next
                            | Word::This
                            | Word::Last
                    )
            })
        })
    }

    /// Returns true if a word is a number.
    #[must_use]
    pub fn is_number(&self, lower: &str) -> bool {
        self.words.get(lower).is_some_and(|all| {
            all.iter().any(|(further, word)| further.is_empty() && matches!(word, Word::Number(n) if *n > 1))
        })
    }

    /// Returns all times of a sentence, from the left. `held` is the day of the meeting.
    #[must_use]
    pub fn all(&self, tokens: &[Token], held: Option<NaiveDate>) -> Vec<Due> {
        let mut found = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            match self.at(tokens, at, held) {
                Some(due) => {
                    at = due.end;
                    found.push(due);
                }
                None => at += 1,
            }
        }
        found
    }

    fn word(&self, tokens: &[Token], at: usize) -> Option<(Word, usize)> {
        self.words_at(tokens, at).next()
    }

    /// Returns the runs that may begin at a token, longest first.
    fn words_at<'a>(&'a self, tokens: &'a [Token], at: usize) -> impl Iterator<Item = (Word, usize)> + 'a {
        let listed = tokens.get(at).and_then(|token| self.words.get(&token.lower));
        listed.into_iter().flatten().filter_map(move |(further, word)| {
            let end = at + 1 + further.len();
            let fits = tokens.len() >= end
                && further
                    .iter()
                    .zip(&tokens[at + 1..end])
                    .all(|(word, token)| *word == token.lower && token.before == Break::None);
            fits.then_some((*word, end))
        })
    }

    fn is(&self, tokens: &[Token], at: usize, fits: impl Fn(Word) -> bool) -> Option<(Word, usize)> {
        if at > 0 && tokens.get(at).is_some_and(Token::is_after_stop) {
            return None;
        }
        self.words_at(tokens, at).find(|(word, _)| fits(*word))
    }

    fn article(&self, tokens: &[Token], mut at: usize) -> usize {
        while tokens.get(at).is_some_and(|token| self.articles.contains(&token.lower)) {
            at += 1;
        }
        at
    }

    /// Returns the time that begins at a token.
    fn at(&self, tokens: &[Token], start: usize, held: Option<NaiveDate>) -> Option<Due> {
        // "last Friday" is in the past.
        if start > 0 && self.is(tokens, start - 1, |word| word == Word::Last).is_some() {
            return None;
        }
        let mut at = start;
        let (mut is_deadline, mut is_said_at) = (false, false);
        for _ in 0..3 {
            // "ce soir" is longer than "ce".
            let longest = self.words_at(tokens, at).next().filter(|(word, _)| !matches!(word, Word::Before | Word::At));
            match self.is(tokens, at, |word| matches!(word, Word::Before | Word::At)) {
                Some((_, end)) if longest.is_some_and(|(_, longest)| longest > end) => break,
                // "before" can be the end of the beginning of a longer phrase.
                Some((word, end)) if at == start || tokens[at].before == Break::None => {
                    is_deadline |= word == Word::Before;
                    is_said_at = true;
                    at = end;
                }
                _ => break,
            }
        }
        let marked = at > start;
        let core = self.core(tokens, at, held, marked).or_else(|| {
            let after = self.article(tokens, at);
            if after > at { self.core(tokens, after, held, marked) } else { None }
        });
        // "Deze week", "this morning": a word before a time can be part of it.
        let core = core.or_else(|| self.core(tokens, start, held, false));
        let Some((mut day, mut end, is_sure)) = core else { return self.event(tokens, start, at, is_deadline) };
        if !is_sure && !is_said_at {
            return None;
        }
        // "tomorrow by noon", "Thursday, the 6th of March".
        for _ in 0..2 {
            let Some(next) = tokens.get(end).filter(|token| token.before != Break::Stop) else { break };
            if next.before == Break::Comma
                && !next.lower.chars().any(char::is_numeric)
                && self.word(tokens, end).is_none()
            {
                break;
            }
            let mut at = end;
            while let Some((word, after)) = self.is(tokens, at, |word| matches!(word, Word::Before | Word::At)) {
                is_deadline |= word == Word::Before;
                at = after;
            }
            let marked = at > end;
            let further = self
                .core(tokens, at, held, marked)
                .or_else(|| self.core(tokens, self.article(tokens, at), held, marked));
            match further {
                Some((further, after, is_sure)) if is_sure || marked => {
                    day = match (day, further) {
                        // A numeric date is more specific than the name of the day.
                        (_, Some(second)) if Some(second) != held => Some(second),
                        (first, second) => first.or(second),
                    };
                    end = after;
                }
                _ => break,
            }
        }
        Some(Due { start, end, is_deadline, day })
    }

    /// "before the next meeting": a deadline without a day.
    fn event(&self, tokens: &[Token], start: usize, at: usize, is_deadline: bool) -> Option<Due> {
        if !is_deadline {
            return None;
        }
        let mut at = self.article(tokens, at);
        if let Some((_, end)) = self.is(tokens, at, |word| matches!(word, Word::Next | Word::Coming | Word::This)) {
            at = end;
        }
        let (_, end) = self.is(tokens, at, |word| word == Word::Event)?;
        // "Before the Christmas boxes come": the noun is another one.
        let is_attribute = tokens
            .get(end)
            .is_some_and(|next| next.before == Break::None && next.is_unlisted() && !self.is_word(&next.lower));
        if is_attribute {
            return None;
        }
        Some(Due { start, end, is_deadline, day: None })
    }

    /// Parses a time without the words before it: its day, its end, and if it is one without those words, too.
    fn core(
        &self,
        tokens: &[Token],
        at: usize,
        held: Option<NaiveDate>,
        marked: bool,
    ) -> Option<(Option<NaiveDate>, usize, bool)> {
        if let Some(found) = self.figures(tokens, at, held) {
            return Some(found);
        }
        if at > 0 && tokens.get(at).is_some_and(Token::is_after_stop) {
            return None;
        }
        for (word, end) in self.words_at(tokens, at) {
            let found = match word {
                Word::Day(days) => {
                    let end = self.part(tokens, end);
                    Some((held.and_then(|held| held.checked_add_days(Days::new(days))), end, true))
                }
                Word::EndOf | Word::MiddleOf => self.end_of(tokens, end, held, word == Word::EndOf),
                Word::Next | Word::Coming | Word::This => self.relative(tokens, end, held, word),
                Word::Weekday(weekday) => Some(self.weekday(tokens, end, held, weekday)),
                Word::Unit(unit) => self.behind(tokens, end, held, unit),
                Word::Weekend => {
                    let next = self.is(tokens, end, |word| matches!(word, Word::Next | Word::Coming));
                    // "The weekend" is the coming one; "next" is ambiguous.
                    let day = if next.is_none() { held.and_then(|held| on_weekday(held, SATURDAY, 0)) } else { None };
                    Some((day, next.map_or(end, |next| next.1), true))
                }
                Word::Within => self.within(tokens, end, held),
                Word::Soon => Some((None, end, true)),
                Word::Part => {
                    let is_sure = false;
                    marked.then_some((held.filter(|_| false), end, is_sure))
                }
                Word::Month(month) => self.month(tokens, end, held, month, marked),
                Word::Ordinal(number) => self.ordinal(tokens, at, end, held, number, marked),
                Word::Number(number) => self.clock(tokens, end).or_else(|| self.days_ahead(tokens, end, held, number)),
                Word::Before | Word::At | Word::Last | Word::Clock | Word::Event => None,
            };
            if found.is_some() {
                return found;
            }
        }
        None
    }

    fn part(&self, tokens: &[Token], at: usize) -> usize {
        let after = self.article(tokens, at);
        match self.is(tokens, after, |word| word == Word::Part) {
            Some((_, end)) => end,
            None => at,
        }
    }

    fn weekday(
        &self,
        tokens: &[Token],
        mut end: usize,
        held: Option<NaiveDate>,
        weekday: u32,
    ) -> (Option<NaiveDate>, usize, bool) {
        let mut weeks = 0;
        if let Some((word, after)) = self.is(tokens, end, |word| matches!(word, Word::Next | Word::Coming)) {
            // "Friday next week" and "vendredi prochain".
            weeks = u64::from(word == Word::Next);
            end = self.is(tokens, after, |word| word == Word::Unit(Unit::Week)).map_or(after, |unit| unit.1);
        }
        let end = self.part(tokens, end);
        (held.and_then(|held| on_weekday(held, weekday, weeks)), end, true)
    }

    fn relative(
        &self,
        tokens: &[Token],
        at: usize,
        held: Option<NaiveDate>,
        word: Word,
    ) -> Option<(Option<NaiveDate>, usize, bool)> {
        if tokens.get(at).is_none_or(|token| token.before != Break::None) {
            return None;
        }
        let (next, end) = self.is(tokens, at, |word| {
            matches!(word, Word::Weekday(_) | Word::Unit(_) | Word::Weekend | Word::Part | Word::Month(_))
        })?;
        match next {
            Word::Weekday(weekday) => {
                let weeks = u64::from(word == Word::Next);
                let end = self.part(tokens, end);
                Some((held.and_then(|held| on_weekday(held, weekday, weeks)), end, true))
            }
            // "this afternoon".
            Word::Part if word == Word::This => Some((held, end, true)),
            Word::Part | Word::Unit(Unit::Hour) => None,
            _ => Some((None, end, true)),
        }
    }

    /// "semaine prochaine", "mes que viene".
    fn behind(
        &self,
        tokens: &[Token],
        at: usize,
        _held: Option<NaiveDate>,
        unit: Unit,
    ) -> Option<(Option<NaiveDate>, usize, bool)> {
        if unit == Unit::Hour || tokens.get(at).is_none_or(|token| token.before != Break::None) {
            return None;
        }
        let (_, end) = self.is(tokens, at, |word| matches!(word, Word::Next | Word::Coming))?;
        Some((None, end, true))
    }

    fn end_of(
        &self,
        tokens: &[Token],
        at: usize,
        held: Option<NaiveDate>,
        is_end: bool,
    ) -> Option<(Option<NaiveDate>, usize, bool)> {
        let mut at = self.article(tokens, at);
        let mut ahead = 0;
        if let Some((word, end)) = self.is(tokens, at, |word| matches!(word, Word::Next | Word::Coming | Word::This)) {
            ahead = u32::from(word != Word::This);
            at = end;
        }
        let (word, mut end) =
            self.is(tokens, at, |word| matches!(word, Word::Unit(_) | Word::Month(_) | Word::Weekend | Word::Day(0)))?;
        if let Some((word, after)) = self.is(tokens, end, |word| matches!(word, Word::Next | Word::Coming)) {
            let _ = word;
            ahead = 1;
            end = after;
        }
        let day = held.filter(|_| is_end).and_then(|held| match word {
            Word::Unit(Unit::Day) | Word::Day(_) => Some(held),
            Word::Unit(Unit::Week) => end_of_week(held, ahead),
            Word::Unit(Unit::Month) => end_of_month(first_of_month(held)?.checked_add_months(Months::new(ahead))?),
            Word::Unit(Unit::Quarter) => {
                let left = 2 - held.month0() % 3;
                end_of_month(first_of_month(held)?.checked_add_months(Months::new(left + 3 * ahead))?)
            }
            Word::Unit(Unit::Year) => NaiveDate::from_ymd_opt(held.year() + i32::try_from(ahead).ok()?, 12, 31),
            Word::Month(month) => end_of_month(coming(held, month, 28)?),
            _ => None,
        });
        Some((day, end, true))
    }

    fn within(&self, tokens: &[Token], at: usize, held: Option<NaiveDate>) -> Option<(Option<NaiveDate>, usize, bool)> {
        let at = self.article(tokens, at);
        let at = self.is(tokens, at, |word| matches!(word, Word::Next | Word::Coming)).map_or(at, |next| next.1);
        let token = tokens.get(at)?;
        let (number, at) = match token.lower.parse::<u64>() {
            Ok(number) => (number, at + 1),
            Err(_) => match self.is(tokens, at, |word| matches!(word, Word::Number(_)))? {
                (Word::Number(number), end) => (number, end),
                _ => return None,
            },
        };
        let (unit, end) = match self.is(tokens, at, |word| matches!(word, Word::Unit(_)))? {
            (Word::Unit(unit), end) => (unit, end),
            _ => return None,
        };
        let months = u32::try_from(number).ok();
        let day = held.and_then(|held| match unit {
            Unit::Hour => Some(held),
            Unit::Day => held.checked_add_days(Days::new(number)),
            Unit::Week => held.checked_add_days(Days::new(number.checked_mul(7)?)),
            Unit::Month => held.checked_add_months(Months::new(months?)),
            Unit::Quarter => held.checked_add_months(Months::new(months?.checked_mul(3)?)),
            Unit::Year => held.checked_add_months(Months::new(months?.checked_mul(12)?)),
        });
        Some((day, end, true))
    }

    /// "Two weeks from today".
    fn days_ahead(
        &self,
        tokens: &[Token],
        at: usize,
        held: Option<NaiveDate>,
        number: u64,
    ) -> Option<(Option<NaiveDate>, usize, bool)> {
        let (unit, end) = self.is(tokens, at, |word| matches!(word, Word::Unit(_)))?;
        let (_, end) = self.is(tokens, end, |word| word == Word::At).filter(|_| tokens[end].lower == "from")?;
        let is_now = self.is(tokens, end, |word| word == Word::Day(0)).map(|today| today.1);
        let end = is_now.or_else(|| (tokens.get(end)?.lower == "now").then_some(end + 1))?;
        let days = match unit {
            Word::Unit(Unit::Day) => number,
            Word::Unit(Unit::Week) => number.checked_mul(7)?,
            _ => return Some((None, end, true)),
        };
        Some((held.and_then(|held| held.checked_add_days(Days::new(days))), end, true))
    }

    fn month(
        &self,
        tokens: &[Token],
        at: usize,
        held: Option<NaiveDate>,
        month: u32,
        marked: bool,
    ) -> Option<(Option<NaiveDate>, usize, bool)> {
        // "March 6th", "March the sixth".
        let after = self.article(tokens, at);
        if let Some(token) = tokens.get(after).filter(|token| token.before != Break::Stop) {
            if let Some(day) = self.day_number(&token.lower) {
                return Some((held.and_then(|held| coming(held, month, day)), after + 1, true));
            }
            if let Some((Word::Ordinal(day), end)) = self.is(tokens, after, |word| matches!(word, Word::Ordinal(_))) {
                return Some((held.and_then(|held| coming(held, month, day)), end, true));
            }
        }
        marked.then_some((None, at, false))
    }

    fn ordinal(
        &self,
        tokens: &[Token],
        start: usize,
        at: usize,
        held: Option<NaiveDate>,
        number: u32,
        marked: bool,
    ) -> Option<(Option<NaiveDate>, usize, bool)> {
        let after = self.article(tokens, at);
        if let Some((Word::Month(month), end)) = self.is(tokens, after, |word| matches!(word, Word::Month(_))) {
            return Some((held.and_then(|held| coming(held, month, number)), end, true));
        }
        let is_day = marked && (start > 0 && self.day_markers.contains(&tokens[start - 1].lower));
        // "the first thing", "el primer borrador": a noun follows.
        use super::classes::Class;
        let stands_alone = tokens.get(at).is_none_or(|next| {
            next.before != Break::None || next.has_any(&[Class::Joint, Class::Pronoun, Class::Between])
        });
        (is_day && stands_alone).then(|| (held.and_then(|held| next_day(held, number)), at, false))
    }

    /// "at five o'clock" in words.
    fn clock(&self, tokens: &[Token], at: usize) -> Option<(Option<NaiveDate>, usize, bool)> {
        let (_, end) = self.is(tokens, at, |word| word == Word::Clock)?;
        Some((None, end, true))
    }

    /// Dates and times in figures.
    fn figures(
        &self,
        tokens: &[Token],
        at: usize,
        held: Option<NaiveDate>,
    ) -> Option<(Option<NaiveDate>, usize, bool)> {
        let token = tokens.get(at)?;
        if !token.lower.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        let number = |at: usize| tokens.get(at).and_then(|token| token.lower.parse::<u32>().ok());
        let is_next = |at: usize| tokens.get(at).is_some_and(|next| next.place.start == tokens[at - 1].place.end + 1);
        // 2025-03-01
        if token.lower.len() == 4 && is_next(at + 1) && is_next(at + 2) {
            let year = token.lower.parse::<i32>().ok()?;
            if let (Some(month), Some(day)) = (number(at + 1), number(at + 2))
                && let Some(date) = NaiveDate::from_ymd_opt(year, month, day)
            {
                return Some((Some(date), at + 3, true));
            }
        }
        // 15.3., 15.03.2025
        let parts: Vec<&str> = token.lower.split('.').collect();
        if let [day, month, ..] = parts[..]
            && let (Ok(day), Ok(month)) = (day.parse::<u32>(), month.parse::<u32>())
            && (1..=31).contains(&day)
            && (1..=12).contains(&month)
            && parts.len() <= 3
        {
            let year = parts.get(2).and_then(|year| year.parse::<i32>().ok());
            let date = match year {
                Some(year) => NaiveDate::from_ymd_opt(if year < 100 { 2000 + year } else { year }, month, day),
                None => held.and_then(|held| coming(held, month, day)),
            };
            return Some((date, at + 1, false));
        }
        // "15 March", "15th of March", "3. März"
        if let Some(day) = self.day_number(&token.lower) {
            let suffixed =
                tokens.get(at + 1).filter(|next| next.before == Break::None && self.suffixes.contains(&next.lower));
            let after = at + 1 + usize::from(suffixed.is_some());
            let month = self.is(tokens, self.article(tokens, after), |word| matches!(word, Word::Month(_)));
            if let Some((Word::Month(month), end)) = month {
                let year = tokens
                    .get(end)
                    .and_then(|token| token.lower.parse::<i32>().ok())
                    .filter(|year| (2000..2100).contains(year));
                let date = match year {
                    Some(year) => NaiveDate::from_ymd_opt(year, month, day),
                    None => held.and_then(|held| coming(held, month, day)),
                };
                return Some((date, end + usize::from(year.is_some()), true));
            }
            if let Some((_, end)) = self.is(tokens, at + 1, |word| word == Word::Clock) {
                return Some((None, self.part(tokens, end), true));
            }
            let marker = at > 0 && self.day_markers.contains(&tokens[at - 1].lower);
            let is_ordinal = token.lower.parse::<u32>().is_err() || suffixed.is_some();
            if marker && (is_ordinal || !self.suffixes.iter().any(|suffix| suffix == "th")) {
                let is_noun_ahead =
                    tokens.get(after).is_some_and(|next| next.before == Break::None && next.has_capital);
                if !is_noun_ahead {
                    return Some((held.and_then(|held| next_day(held, day)), after, false));
                }
            }
            return None;
        }
        // "5pm", "15h"
        let digits = token.lower.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == '.');
        let is_clock = self.words.get(digits).is_some_and(|all| all.iter().any(|(_, word)| *word == Word::Clock));
        let is_time = token.lower.contains(':') && digits.is_empty();
        (is_clock || is_time).then_some((None, at + 1, is_clock))
    }

    /// Returns the number of a day, with or without its ending ("6th").
    fn day_number(&self, lower: &str) -> Option<u32> {
        let digits = lower.trim_end_matches(|c: char| !c.is_ascii_digit());
        let rest = &lower[digits.len()..];
        let is_suffix = rest.is_empty() || rest == "." || self.suffixes.iter().any(|suffix| suffix == rest);
        digits.parse().ok().filter(|day| is_suffix && (1..=31).contains(day))
    }
}

/// Returns the next such weekday after a day, or that of the following week.
fn on_weekday(held: NaiveDate, weekday: u32, weeks: u64) -> Option<NaiveDate> {
    let today = held.weekday().num_days_from_monday();
    if weeks > 0 {
        let monday = held.checked_sub_days(Days::new(u64::from(today)))?;
        return monday.checked_add_days(Days::new(7 * weeks + u64::from(weekday)));
    }
    let ahead = (weekday + 7 - today) % 7;
    held.checked_add_days(Days::new(u64::from(if ahead == 0 { 7 } else { ahead })))
}

/// Counted from Monday.
const SATURDAY: u32 = 5;

/// Returns the Friday of the week, or of one of the next ones; on a weekend that of the coming week.
fn end_of_week(held: NaiveDate, ahead: u32) -> Option<NaiveDate> {
    let today = held.weekday().num_days_from_monday();
    let friday = Weekday::Fri.num_days_from_monday();
    let days = if today > friday { friday + 7 - today } else { friday - today };
    held.checked_add_days(Days::new(u64::from(days + 7 * ahead)))
}

fn first_of_month(day: NaiveDate) -> Option<NaiveDate> {
    day.with_day(1)
}

fn end_of_month(day: NaiveDate) -> Option<NaiveDate> {
    first_of_month(day)?.checked_add_months(Months::new(1))?.pred_opt()
}

/// Returns the next such day of a month; a day less than two months ago does not count.
fn coming(held: NaiveDate, month: u32, day: u32) -> Option<NaiveDate> {
    let this_year = NaiveDate::from_ymd_opt(held.year(), month, day)?;
    if this_year >= held { Some(this_year) } else { NaiveDate::from_ymd_opt(held.year() + 1, month, day) }
}

/// Returns the next such day of this month or the following one.
fn next_day(held: NaiveDate, day: u32) -> Option<NaiveDate> {
    (0..3)
        .filter_map(|months| first_of_month(held)?.checked_add_months(Months::new(months))?.with_day(day))
        .find(|date| *date >= held)
}
