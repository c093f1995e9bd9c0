//! `#[cron("…")]`: when a function runs by itself.
//!
//! Below the kind's attribute it is read by that one; above, it moves itself below.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Item, LitStr};

use crate::attributes;
use crate::errors::beside;

/// The fields of an expression of six, the first of which may be left out.
const FIELDS: [Field; 6] = [
    Field { name: "second", min: 0, max: 59, words: &[] },
    Field { name: "minute", min: 0, max: 59, words: &[] },
    Field { name: "hour", min: 0, max: 23, words: &[] },
    Field { name: "day of the month", min: 1, max: 31, words: &[] },
    Field {
        name: "month",
        min: 1,
        max: 12,
        words: &["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
    },
    Field { name: "day of the week", min: 0, max: 7, words: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"] },
];

struct Field {
    name: &'static str,
    min: u32,
    max: u32,
    /// Names of the values, from `min` on.
    words: &'static [&'static str],
}

/// Moves the attribute below the kind's, which reads it.
pub fn expand(expression: TokenStream, item: TokenStream) -> TokenStream {
    let Ok(Item::Fn(mut function)) = syn::parse2::<Item>(item.clone()) else {
        return beside(&item, Err(misplaced()));
    };
    let stands_above_a_kind = function
        .attrs
        .iter()
        .any(|attribute| ["query", "mutation", "action"].iter().any(|kind| attributes::is(attribute, kind)));
    if !stands_above_a_kind {
        return beside(&item, Err(misplaced()));
    }
    function.attrs.push(syn::parse_quote!(#[cron(#expression)]));
    quote!(#function)
}

fn misplaced() -> syn::Error {
    let message = "#[cron] stands above a function that also has #[mutation] or #[action]";
    syn::Error::new(proc_macro2::Span::call_site(), message)
}

/// The expression of one attribute.
pub fn expression(attribute: &Attribute) -> syn::Result<LitStr> {
    let example = "write when it runs: `#[cron(\"*/5 * * * *\")]` is every five minutes";
    let text: LitStr =
        attribute.parse_args().map_err(|error| syn::Error::new(error.span(), format!("{example} ({error})")))?;
    match valid(&text.value()) {
        Ok(()) => Ok(text),
        Err(why) => Err(syn::Error::new(text.span(), why)),
    }
}

/// Checks an expression of five fields (from the minute on) or six (from the second on).
fn valid(expression: &str) -> Result<(), String> {
    let parts: Vec<&str> = expression.split_whitespace().collect();
    let fields = match parts.len() {
        5 => &FIELDS[1..],
        6 => &FIELDS[..],
        count => {
            return Err(format!(
                "a cron expression has five fields (minute, hour, day of the month, month, day of the week), or six \
                 with the second first; this one has {count}"
            ));
        }
    };
    fields.iter().zip(parts).try_for_each(|(field, part)| part.split(',').try_for_each(|part| field.valid(part)))
}

impl Field {
    fn valid(&self, part: &str) -> Result<(), String> {
        let (range, step) = match part.split_once('/') {
            Some((range, step)) => (range, Some(step)),
            None => (part, None),
        };
        if let Some(step) = step
            && !step.parse::<u32>().is_ok_and(|step| step > 0 && step <= self.max)
        {
            return Err(format!("the step `/{step}` of the {} is a number from 1 to {}", self.name, self.max));
        }
        if range == "*" {
            return Ok(());
        }
        let Some((from, to)) = range.split_once('-') else {
            return self.number(range).map(|_| ());
        };
        if self.number(from)? > self.number(to)? {
            return Err(format!("the range `{range}` of the {} runs backward", self.name));
        }
        Ok(())
    }

    fn number(&self, text: &str) -> Result<u32, String> {
        let word = self.words.iter().position(|word| text.eq_ignore_ascii_case(word));
        let number = match word {
            Some(at) => self.min + u32::try_from(at).unwrap_or(0),
            None => text.parse().map_err(|_| format!("`{text}` is no {}", self.name))?,
        };
        if (self.min..=self.max).contains(&number) {
            Ok(number)
        } else {
            Err(format!("the {} is between {} and {}, not {number}", self.name, self.min, self.max))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_five_fields_or_six() {
        for good in
            ["* * * * *", "*/5 * * * *", "0 3 * * *", "0 0 1,15 jan-mar MON-fri", "30 */2 * * * *", "5/10 * * * 7"]
        {
            assert_eq!(valid(good), Ok(()), "{good}");
        }
        for (bad, why) in [
            ("* * * *", "this one has 4"),
            ("60 * * * *", "the minute is between 0 and 59, not 60"),
            ("* 24 * * *", "the hour is between 0 and 23, not 24"),
            ("* * 0 * *", "the day of the month is between 1 and 31, not 0"),
            ("* * * foo *", "`foo` is no month"),
            ("*/0 * * * *", "is a number from 1 to 59"),
            ("9-3 * * * *", "runs backward"),
            ("", "this one has 0"),
        ] {
            let said = valid(bad).unwrap_err();
            assert!(said.contains(why), "{bad}: {said}");
        }
    }
}
