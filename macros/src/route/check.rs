//! All checks of a route, in one pass.

use quote::ToTokens as _;
use syn::{FnArg, Ident, ItemFn, LitStr, Pat, PatType, ReturnType, Safety, Type, Visibility};

use super::options::{self, Options};
use super::parse::Written;
use super::pattern;
use super::siblings::{self, Sibling};
use crate::associated;
use crate::errors::Errors;
use crate::function::Kind;
use crate::types::last_name;

/// A route without visible mistakes.
pub(super) struct Checked<'a> {
    /// The method.
    pub method: &'a Ident,
    /// The path.
    pub path: &'a LitStr,
    /// The options.
    pub options: Options,
    /// The function.
    pub item: &'a ItemFn,
    /// Kind of its context.
    pub kind: Kind,
    /// Type of its context as written, without the reference.
    pub context: &'a Type,
    /// Names and types of the parameters after the context.
    pub parameters: Vec<(String, &'a Type)>,
    /// Return type.
    pub output: &'a Type,
    /// Routes of the same crate with the same method that were expanded before.
    pub siblings: Vec<Sibling>,
}

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// Checks a route.
pub(super) fn check(written: &Written) -> syn::Result<Checked<'_>> {
    let mut errors = Errors::default();
    if let Some(error) = &written.errors {
        errors.add(error.clone());
    }
    let method = written.method.to_string();
    if !METHODS.contains(&method.as_str()) {
        errors.at(&written.method, "the methods of a route are GET (with HEAD), POST, PUT, PATCH and DELETE");
    }
    let in_path = pattern::parameters(&written.path, &mut errors);
    let options = options::read(&written.options, &mut errors);
    plain_function(&written.item, &mut errors);
    let context = context(&written.item, &mut errors);
    let parameters = parameters(&written.item, &written.path, &in_path, &mut errors);
    let output = output(&written.item, &mut errors);
    if let Some((kind, _)) = context {
        fits_kind(written, kind, &options, &mut errors);
    }
    let siblings = siblings::before(&method, &written.path.value());
    let checked = context.zip(output).map(|((kind, context), output)| Checked {
        method: &written.method,
        path: &written.path,
        options,
        item: &written.item,
        kind,
        context,
        parameters,
        output,
        siblings,
    });
    errors.finish(checked)
}

fn plain_function(item: &ItemFn, errors: &mut Errors) {
    let signature = &item.sig;
    let is_private = match &item.vis {
        Visibility::Inherited => true,
        Visibility::Restricted(to) => to.path.is_ident("self"),
        Visibility::Public(_) => false,
    };
    if is_private {
        let (fn_token, ident) = (&signature.fn_token, &signature.ident);
        let message =
            format!("`{ident}` is private, but clients can call a #[route] over the network; write `pub fn {ident}`");
        errors.at(quote::quote!(#fn_token #ident), message);
    }
    if let Some(word) = &signature.constness {
        errors.at(word, "a #[route] runs when it is called; remove `const`");
    }
    if let Safety::Unsafe(word) = &signature.safety {
        errors.at(word, "a #[route] is called by the runtime; remove `unsafe`, and use it inside the body");
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, "a #[route] is called over the wire, not by other languages; remove `extern`");
    }
    if !signature.generics.params.is_empty() {
        errors.at(
            &signature.generics.params,
            "a #[route] is called by its path and cannot be generic; write concrete types",
        );
    }
    associated::reject(item, "a #[route] is called by its path", errors);
}

/// Returns the kind and the type of the context.
fn context<'a>(item: &'a ItemFn, errors: &mut Errors) -> Option<(Kind, &'a Type)> {
    const FORM: &str = "a #[route] takes its context as the first parameter: `ctx: &QueryCtx` reads, `ctx: &mut \
                        MutationCtx` writes, `ctx: &ActionCtx` waits";
    let Some(first) = item.sig.inputs.first() else {
        errors.at(&item.sig.ident, FORM);
        return None;
    };
    let found = match first {
        FnArg::Typed(PatType { ty, .. }) => match &**ty {
            Type::Reference(reference) => last_name(&reference.elem)
                .and_then(|name| match (name.to_string().as_str(), reference.mutability.is_some()) {
                    ("QueryCtx", false) => Some(Kind::Query),
                    ("MutationCtx", true) => Some(Kind::Mutation),
                    ("ActionCtx", false) => Some(Kind::Action),
                    _ => None,
                })
                .map(|kind| (kind, &*reference.elem)),
            _ => None,
        },
        FnArg::Receiver(_) => None,
    };
    if found.is_none() {
        errors.at(first, FORM);
    }
    found
}

fn parameters<'a>(item: &'a ItemFn, path: &LitStr, in_path: &[String], errors: &mut Errors) -> Vec<(String, &'a Type)> {
    let mut parameters = Vec::new();
    let (mut has_request, mut bodies) = (false, Vec::new());
    for parameter in item.sig.inputs.iter().skip(1) {
        let FnArg::Typed(PatType { pat, ty, .. }) = parameter else { continue };
        let name = match &**pat {
            Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => name.ident.to_string(),
            Pat::Wild(_) => String::new(),
            other => {
                errors.at(other, "give the parameter a name, and destructure it in the body");
                continue;
            }
        };
        if let Type::Reference(reference) = &**ty {
            errors.at(reference, "an extractor is passed by value; write its type without `&`");
        }
        match extractor(ty).as_deref() {
            Some("Path") if !in_path.contains(&name) => {
                let name = if name.is_empty() { "_" } else { &name };
                errors.at(pat, format!("the path has no `{{{name}}}`; a `Path` has the name of its part of the path"));
            }
            Some("Request" | "RouteRequest") => has_request = true,
            Some("Json" | "Form") => bodies.push(ty),
            Some(_) | None => {}
        }
        parameters.push((name, &**ty));
    }
    if let [_, second, ..] = bodies[..] {
        errors.at(second, "a request has one body; read it with one `Json` or `Form`");
    }
    let is_read = |name: &&String| {
        has_request || parameters.iter().any(|(own, ty)| own == *name && extractor(ty).as_deref() == Some("Path"))
    };
    if let Some(unread) = in_path.iter().find(|name| !is_read(name)) {
        errors.at(path, format!("no parameter reads `{{{unread}}}`; add `{unread}: Path<…>` to the function"));
    }
    parameters
}

/// Returns the name of an extractor's type.
fn extractor(ty: &Type) -> Option<String> {
    let Type::Path(path) = ty else { return None };
    path.path.segments.last().map(|last| last.ident.to_string())
}

fn output<'a>(item: &'a ItemFn, errors: &mut Errors) -> Option<&'a Type> {
    match &item.sig.output {
        ReturnType::Type(_, ty) => Some(ty),
        ReturnType::Default => {
            let message = "a #[route] returns `Result<T>`; write `-> Result<Response>`, or a type that is sent as JSON";
            errors.add(syn::Error::new(item.sig.paren_token.span.close(), message));
            None
        }
    }
}

fn fits_kind(written: &Written, kind: Kind, options: &Options, errors: &mut Errors) {
    let option = |name: &str| written.options.iter().find(|choice| choice.name == name).map(|choice| &choice.name);
    match (kind, &written.item.sig.asyncness) {
        (Kind::Query | Kind::Mutation, Some(word)) => {
            errors.at(word, "this context belongs to one transaction, so the function cannot be `async`; use `&ActionCtx` for work that waits");
        }
        (Kind::Action, None) => {
            errors.at(
                written.item.sig.fn_token,
                "a route with an `&ActionCtx` waits for work outside the database; write `async fn`",
            );
        }
        (Kind::Query | Kind::Mutation, None) | (Kind::Action, Some(_)) => {}
    }
    if options.once.is_some() && kind != Kind::Mutation {
        errors.at(
            option("once").to_token_stream(),
            "the id of an event is stored in the transaction of a mutation; use `&mut MutationCtx`, and schedule further work",
        );
    }
    if options.timeout.is_some() && kind != Kind::Action {
        errors.at(
            option("timeout").to_token_stream(),
            "only a route with an `&ActionCtx` waits; the settings limit queries and mutations. Remove `timeout`",
        );
    }
}
