//! The attributes of Convoke: `#[query]`, `#[mutation]`, `#[action]`, `#[cron]`, `#[args]`, `#[value]`, `#[table]`.
//!
//! They parse, check and write what the runtime registers; they know nothing of HTTP or SQL. Every attribute works in
//! three stages, one file each: `parse` reads tokens, `check` finds all mistakes at once, `expand` writes. What they
//! write names `::convoke::__private` and nothing else, so a crate with functions depends on `convoke` alone. The docs
//! for authors stand where the attributes are re-exported, in the crate `convoke`.

mod attributes;
mod cron;
mod defaults;
mod errors;
mod function;
#[cfg(test)]
mod golden;
mod names;
mod object;
mod table;
mod types;
mod value;

use proc_macro::TokenStream;

use crate::function::Kind;

/// Registers a function that reads one snapshot.
#[proc_macro_attribute]
pub fn query(options: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(Kind::Query, options.into(), item.into()).into()
}

/// Registers a function that reads and writes one transaction.
#[proc_macro_attribute]
pub fn mutation(options: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(Kind::Mutation, options.into(), item.into()).into()
}

/// Registers a function that works outside the database.
#[proc_macro_attribute]
pub fn action(options: TokenStream, item: TokenStream) -> TokenStream {
    function::expand(Kind::Action, options.into(), item.into()).into()
}

/// Lets a mutation or action run by itself.
#[proc_macro_attribute]
pub fn cron(expression: TokenStream, item: TokenStream) -> TokenStream {
    cron::expand(expression.into(), item.into()).into()
}

/// Gives the arguments of a function their wire form.
#[proc_macro_attribute]
pub fn args(options: TokenStream, item: TokenStream) -> TokenStream {
    object::expand_args(options.into(), item.into()).into()
}

/// Gives a value its wire form, its stored form and its rule.
#[proc_macro_attribute]
pub fn value(options: TokenStream, item: TokenStream) -> TokenStream {
    value::expand(options.into(), item.into()).into()
}

/// Makes a struct a table.
#[proc_macro_attribute]
pub fn table(options: TokenStream, item: TokenStream) -> TokenStream {
    table::expand(options.into(), item.into()).into()
}
