//! The context parameter: its type for each kind, and messages about wrong types.

use syn::{PatType, Type};

use super::parse::Kind;
use crate::errors::Errors;
use crate::types::last_name;

/// The contexts and their kinds.
const CONTEXTS: [(&str, Kind); 3] =
    [("QueryCtx", Kind::Query), ("MutationCtx", Kind::Mutation), ("ActionCtx", Kind::Action)];

/// Returns the parameter as a function of this kind writes it.
pub(super) fn parameter(kind: Kind) -> &'static str {
    match kind {
        Kind::Query => "ctx: &QueryCtx",
        Kind::Mutation => "ctx: &mut MutationCtx",
        Kind::Action => "ctx: &ActionCtx",
    }
}

/// Returns the type behind the reference. An unknown name may be an alias: rustc checks it.
pub(super) fn check(kind: Kind, parameter: &PatType, errors: &mut Errors) -> Option<Type> {
    let wanted = self::parameter(kind);
    let attribute = kind.attribute();
    let Type::Reference(reference) = &*parameter.ty else {
        let named = named(&parameter.ty);
        let message = match named {
            Some(_) => format!("{attribute} borrows its context; write `{wanted}`"),
            None => format!("{attribute} takes its context as the first parameter: `{wanted}`"),
        };
        errors.at(&parameter.ty, message);
        return (named == Some(kind)).then(|| (*parameter.ty).clone());
    };
    if let Type::ImplTrait(hidden) = &*reference.elem {
        errors.at(
            hidden,
            format!("{attribute} takes a context by its name: `{wanted}`; only helper functions may take `&impl Read`"),
        );
        return None;
    }
    if let Some(lifetime) = &reference.lifetime {
        errors.at(lifetime, format!("the context takes no lifetime; write `{wanted}`"));
    }
    match named(&reference.elem) {
        Some(other) if other != kind => {
            let message = format!(
                "{attribute} takes `{wanted}`; a function that takes `{}` is {}",
                self::parameter(other).trim_start_matches("ctx: "),
                other.attribute()
            );
            errors.at(&parameter.ty, message);
            return None;
        }
        Some(_) | None => {}
    }
    match (kind, &reference.mutability) {
        (Kind::Mutation, None) => errors.at(
            &parameter.ty,
            "a #[mutation] writes, so it borrows its context mutably; write `ctx: &mut MutationCtx`",
        ),
        (Kind::Query, Some(word)) => {
            errors.at(word, "a #[query] only reads; write `ctx: &QueryCtx`");
        }
        (Kind::Action, Some(word)) => {
            errors.at(word, "an #[action] shares its context; write `ctx: &ActionCtx`");
        }
        (Kind::Mutation, Some(_)) | (Kind::Query | Kind::Action, None) => {}
    }
    Some((*reference.elem).clone())
}

/// Returns the kind whose context has this name.
fn named(ty: &Type) -> Option<Kind> {
    let name = last_name(ty)?;
    CONTEXTS.iter().find(|(context, _)| name == context).map(|(_, kind)| *kind)
}
