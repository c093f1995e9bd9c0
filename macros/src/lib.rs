//! The attributes of Convoke: `#[query]`, `#[mutation]`, `#[action]`, `#[workflow]`, `#[cron]`, `#[args]`, `#[value]`, `#[table]`.
//!
//! They parse and check an item, and generate the code that the runtime registers. They do not use HTTP or SQL. Each
//! attribute has three stages in separate files: `parse` reads tokens, `check` finds all mistakes in one pass, and
//! `expand` generates code. The code names only `::convoke::__private`, so a crate with functions depends only on
//! `convoke`. The docs for authors are in the crate `convoke`, which re-exports the attributes.

mod associated;
mod attributes;
mod cron;
mod defaults;
mod errors;
mod function;
#[cfg(test)]
mod golden;
mod names;
mod object;
mod route;
mod table;
mod types;
mod value;
mod workflow;

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

/// Registers a function that runs for days, as a journal of its steps.
#[proc_macro_attribute]
pub fn workflow(options: TokenStream, item: TokenStream) -> TokenStream {
    workflow::expand(options.into(), item.into()).into()
}

/// Registers a function that answers requests of its own path.
#[proc_macro_attribute]
pub fn route(options: TokenStream, item: TokenStream) -> TokenStream {
    route::expand(options.into(), item.into()).into()
}

/// Runs a mutation or action on a schedule.
#[proc_macro_attribute]
pub fn cron(expression: TokenStream, item: TokenStream) -> TokenStream {
    cron::expand(expression.into(), item.into()).into()
}

/// Implements the wire form of a function's arguments.
#[proc_macro_attribute]
pub fn args(options: TokenStream, item: TokenStream) -> TokenStream {
    object::expand_args(options.into(), item.into()).into()
}

/// Implements the wire form, the stored form and the rule of a value.
#[proc_macro_attribute]
pub fn value(options: TokenStream, item: TokenStream) -> TokenStream {
    value::expand(options.into(), item.into()).into()
}

/// Makes a struct a table.
#[proc_macro_attribute]
pub fn table(options: TokenStream, item: TokenStream) -> TokenStream {
    table::expand(options.into(), item.into()).into()
}
