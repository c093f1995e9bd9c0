//! `#[cron("…")]`: the schedule of a function.
//!
//! The attribute of the kind reads a schedule below it. A schedule above it moves itself below.

use croner::Cron;
use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Item, LitStr};

use crate::attributes;
use crate::errors::beside;

/// Moves the attribute below the kind's attribute, which reads it.
pub(crate) fn expand(expression: TokenStream, item: TokenStream) -> TokenStream {
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
    let message = "#[cron] belongs above a function that also has #[mutation] or #[action]";
    syn::Error::new(proc_macro2::Span::call_site(), message)
}

/// Returns the expression of one attribute.
pub(crate) fn expression(attribute: &Attribute) -> syn::Result<LitStr> {
    let example = "write a schedule, such as `#[cron(\"*/5 * * * *\")]` for every five minutes";
    let text: LitStr =
        attribute.parse_args().map_err(|error| syn::Error::new(error.span(), format!("{example} ({error})")))?;
    match valid(&text.value()) {
        Ok(()) => Ok(text),
        Err(why) => Err(syn::Error::new(text.span(), why)),
    }
}

/// Checks an expression with the parser of the scheduler.
fn valid(expression: &str) -> Result<(), String> {
    Cron::new(expression).with_seconds_optional().parse().map(|_| ()).map_err(|error| {
        let error = error.to_string();
        let reason = error.trim_end_matches('.');
        format!(
            "{reason}; a cron expression has five fields (minute, hour, day of the month, month, day of the week), or \
             six with the seconds first"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_five_fields_or_six() {
        for good in ["* * * * *", "*/5 * * * *", "0 0 1,15 jan-mar MON-fri", "30 */2 * * * *", "* * * * 7", "@daily"] {
            assert_eq!(valid(good), Ok(()), "{good}");
        }
        for bad in ["* * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * foo *", "", "* * * * * * * *", "soon"] {
            let message = valid(bad).unwrap_err();
            assert!(message.contains("a cron expression has five fields"), "{bad}: {message}");
        }
    }
}
