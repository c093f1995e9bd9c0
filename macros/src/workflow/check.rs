//! All checks of a workflow, in one pass.

use quote::ToTokens as _;
use syn::visit::{self, Visit};
use syn::{Expr, ExprLit, FnArg, ItemFn, Lit, PatType, Path, ReturnType, Type};

use super::parse::Written;
use crate::associated;
use crate::attributes::{self, Choice};
use crate::errors::Errors;
use crate::types::last_name;

/// The context parameter, as a workflow writes it.
const CONTEXT: &str = "ctx: &WorkflowCtx";

/// A workflow as far as it can be read.
pub(super) struct Checked<'a> {
    /// The function.
    pub item: &'a ItemFn,
    /// Version of its code.
    pub version: u32,
    /// True if it only ends the runs of its version.
    pub retired: bool,
    /// Type of its arguments, if it takes any.
    pub args: Option<Type>,
    /// Return type.
    pub output: Type,
}

/// Checks a workflow. Returns nothing if it has no result.
pub(super) fn check<'a>(written: &'a Written, errors: &mut Errors) -> Option<Checked<'a>> {
    let item = &written.item;
    let (mut version, mut retired) = (1, false);
    for choice in &written.options {
        match choice.name.to_string().as_str() {
            "version" => version = number(choice, errors).unwrap_or(1),
            "retired" => retired = choice.flag(errors),
            _ => attributes::unknown(choice, &["version", "retired"], errors),
        }
    }
    signature(item, errors);
    let args = parameters(item, errors);
    Outside { errors }.visit_block(&item.block);
    let output = match &item.sig.output {
        ReturnType::Type(_, ty) => Some((**ty).clone()),
        ReturnType::Default => {
            let message = "a #[workflow] returns `Result<T>`; write `-> Result<()>` if it has nothing to return";
            errors.add(syn::Error::new(item.sig.paren_token.span.close(), message));
            None
        }
    };
    output.map(|output| Checked { item, version, retired, args, output })
}

fn number(choice: &Choice, errors: &mut Errors) -> Option<u32> {
    let value = choice.expression(errors)?;
    let number = match &value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse::<u32>().ok(),
        _ => None,
    };
    let number = number.filter(|number| *number > 0);
    if number.is_none() {
        errors.at(&value, "write a version greater than zero, such as `version = 2`");
    }
    number
}

fn signature(item: &ItemFn, errors: &mut Errors) {
    let signature = &item.sig;
    if signature.asyncness.is_none() {
        errors.at(signature.fn_token, "a #[workflow] waits for its steps; write `async fn`");
    }
    if !signature.generics.params.is_empty() {
        errors.at(
            &signature.generics.params,
            "a #[workflow] is stored by its path and cannot be generic; write concrete types",
        );
    }
    associated::reject(item, "a #[workflow] is stored by its path", errors);
}

/// Checks the parameters, and returns the type of the arguments.
fn parameters(item: &ItemFn, errors: &mut Errors) -> Option<Type> {
    let mut typed = item.sig.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    });
    match typed.next() {
        Some(first) => context(first, errors),
        None => errors.at(&item.sig.ident, format!("a #[workflow] takes its context first: `{CONTEXT}`")),
    }
    let args = typed.next().and_then(|args| match context_of_calls(&args.ty) {
        Some(context) => {
            errors.at(&args.ty, not_replayable(&context));
            None
        }
        None => Some((*args.ty).clone()),
    });
    for surplus in typed {
        let message = match context_of_calls(&surplus.ty) {
            Some(context) => not_replayable(&context),
            None => "a #[workflow] takes `(ctx)` or `(ctx, args)`; move further values into the args".to_owned(),
        };
        errors.at(surplus, message);
    }
    args
}

fn context(parameter: &PatType, errors: &mut Errors) {
    if let Some(context) = context_of_calls(&parameter.ty) {
        errors.at(&parameter.ty, not_replayable(&context));
        return;
    }
    match &*parameter.ty {
        Type::Reference(reference) if reference.mutability.is_none() => {}
        _ => errors.at(&parameter.ty, format!("a #[workflow] borrows its context; write `{CONTEXT}`")),
    }
}

/// Returns the name of the context of a query, mutation or action.
fn context_of_calls(ty: &Type) -> Option<String> {
    let ty = match ty {
        Type::Reference(reference) => &*reference.elem,
        other => other,
    };
    let name = last_name(ty)?.to_string();
    ["QueryCtx", "MutationCtx", "ActionCtx"].contains(&name.as_str()).then_some(name)
}

fn not_replayable(context: &str) -> String {
    format!(
        "a #[workflow] cannot use `{context}`: its code runs again at each step and must take the same path; write \
         `{CONTEXT}`, and call a function as a step: `ctx.run::<f>(args).await?`"
    )
}

/// Finds names whose values differ from one pass of the code to the next.
struct Outside<'e> {
    errors: &'e mut Errors,
}

/// Names whose values a replay cannot repeat, and the step to use instead.
const OUTSIDE: [(&str, &str); 10] = [
    ("SystemTime", "`ctx.now()`"),
    ("Instant", "`ctx.now()`"),
    ("Utc", "`ctx.now()`"),
    ("Local", "`ctx.now()`"),
    ("tokio", "`ctx.sleep(…)`, `ctx.join(…)` or `ctx.run::<f>(…)`"),
    ("rand", "`ctx.run::<f>(…)`"),
    ("getrandom", "`ctx.run::<f>(…)`"),
    ("reqwest", "`ctx.run::<f>(…)` with an action"),
    ("thread", "`ctx.sleep(…)` or `ctx.run::<f>(…)`"),
    ("env", "`ctx.run::<f>(…)`"),
];

impl Visit<'_> for Outside<'_> {
    fn visit_path(&mut self, path: &Path) {
        let outside = path.segments.iter().find_map(|segment| {
            let is_path = path.segments.len() > 1;
            OUTSIDE.iter().find(|(name, _)| is_path && segment.ident == name)
        });
        let context = path
            .segments
            .iter()
            .find(|segment| ["QueryCtx", "MutationCtx", "ActionCtx"].iter().any(|context| segment.ident == context));
        if let Some(context) = context {
            self.errors.at(path.to_token_stream(), not_replayable(&context.ident.to_string()));
        } else if let Some((name, instead)) = outside {
            let message = format!(
                "a #[workflow] cannot use `{name}`: its code runs again at each step and must take the same path; use \
                 {instead}"
            );
            self.errors.at(path.to_token_stream(), message);
        }
        visit::visit_path(self, path);
    }
}
