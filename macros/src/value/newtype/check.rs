//! All checks of a struct with one unnamed field, in one pass.

use proc_macro2::TokenStream;
use syn::{Expr, ExprLit, Fields, Ident, ItemStruct, Lit, LitStr, Path, Type, Visibility};

use super::rule::{Kind, NumberRule, Rule, TextRule};
use crate::attributes::{self, Choice};
use crate::errors::Errors;
use crate::types;

/// A struct with one unnamed field, as far as it can be read.
pub(super) struct Newtype {
    /// Its name.
    pub name: Ident,
    /// Visibility.
    pub vis: Visibility,
    /// Its doc comment.
    pub doc: String,
    /// Type of the field.
    pub inner: Type,
    /// Its rule.
    pub rule: Rule,
}

/// Checks a struct with one unnamed field.
pub(super) fn check(options: TokenStream, written: &ItemStruct, errors: &mut Errors) -> Option<Newtype> {
    if !written.generics.params.is_empty() {
        errors.at(
            &written.generics.params,
            "a struct with #[value] has one wire form and cannot be generic; write concrete types",
        );
    }
    let choices = attributes::choices(options, errors);
    let Fields::Unnamed(fields) = &written.fields else { return None };
    let [field] = fields.unnamed.iter().collect::<Vec<_>>()[..] else {
        let message = "a #[value] without field names has one field; name the fields if there are several";
        errors.at(&written.fields, message);
        return None;
    };
    if !matches!(field.vis, Visibility::Inherited) {
        errors.at(&field.vis, "the field must be private to protect its rule; read it with `get` or `as_str`");
    }
    let kind = kind(&choices, &field.ty, errors)?;
    let rule = rule(kind, &choices, errors);
    written.generics.params.is_empty().then(|| Newtype {
        name: written.ident.clone(),
        vis: written.vis.clone(),
        doc: attributes::docs(&written.attrs),
        inner: field.ty.clone(),
        rule,
    })
}

/// Returns the kind that the type implies and the option repeats.
fn kind(choices: &[Choice], ty: &Type, errors: &mut Errors) -> Option<Kind> {
    let name = types::last_name(ty).map(ToString::to_string).unwrap_or_default();
    let found = Kind::ALL.iter().find(|(_, _, types)| types.contains(&name.as_str()));
    let Some((kind, _, _)) = found else {
        let message = "an unnamed field of a #[value] must be a String, i64, i32, u32 or f64; name the field to use \
                       another type";
        errors.at(ty, message);
        return None;
    };
    for (named, option, types) in Kind::ALL {
        if let Some(choice) = choices.iter().find(|choice| choice.name == option) {
            choice.flag(errors);
            if named != *kind {
                errors.at(
                    &choice.name,
                    format!("`{option}` is for a field of type {}, not `{name}`", types.join(" or ")),
                );
            }
        }
    }
    Some(*kind)
}

fn rule(kind: Kind, choices: &[Choice], errors: &mut Errors) -> Rule {
    match kind {
        Kind::Text => Rule::Text(text_rule(choices, errors)),
        Kind::Integer => Rule::Integer(number_rule(kind, choices, errors)),
        Kind::Number => Rule::Number(number_rule(kind, choices, errors)),
    }
}

fn text_rule(choices: &[Choice], errors: &mut Errors) -> TextRule {
    let mut rule = TextRule::default();
    for choice in choices {
        match choice.name.to_string().as_str() {
            "text" | "integer" | "number" => {}
            "trim" => rule.trim = choice.flag(errors),
            "min" => rule.min = choice.expression(errors),
            "max" => rule.max = choice.expression(errors),
            "too_short" => rule.too_short = choice.text(errors),
            "too_long" => rule.too_long = choice.text(errors),
            "pattern" => rule.pattern = choice.text(errors).and_then(|pattern| regular(pattern, errors)),
            "expected" => rule.expected = choice.text(errors),
            "check" => rule.check = choice.expression(errors).and_then(|check| path(check, errors)),
            _ => {
                let known = ["text", "trim", "min", "max", "too_short", "too_long", "pattern", "expected", "check"];
                attributes::unknown(choice, &known, errors);
            }
        }
    }
    bounds(rule.min.as_ref(), rule.max.as_ref(), errors);
    without_bound(rule.too_short.as_ref(), "too_short", rule.min.as_ref(), "min", errors);
    without_bound(rule.too_long.as_ref(), "too_long", rule.max.as_ref(), "max", errors);
    rule
}

fn number_rule(kind: Kind, choices: &[Choice], errors: &mut Errors) -> NumberRule {
    let mut rule = NumberRule::default();
    for choice in choices {
        match choice.name.to_string().as_str() {
            "text" | "integer" | "number" => {}
            "min" => rule.min = choice.expression(errors),
            "max" => rule.max = choice.expression(errors),
            "too_small" => rule.too_small = choice.text(errors),
            "too_large" => rule.too_large = choice.text(errors),
            _ => attributes::unknown(choice, &[kind.option(), "min", "max", "too_small", "too_large"], errors),
        }
    }
    bounds(rule.min.as_ref(), rule.max.as_ref(), errors);
    without_bound(rule.too_small.as_ref(), "too_small", rule.min.as_ref(), "min", errors);
    without_bound(rule.too_large.as_ref(), "too_large", rule.max.as_ref(), "max", errors);
    rule
}

/// Rejects bounds without a value between them, if both are numbers.
fn bounds(min: Option<&Expr>, max: Option<&Expr>, errors: &mut Errors) {
    if let (Some(least), Some(greatest)) = (min.and_then(literal), max.and_then(literal))
        && least > greatest
    {
        errors.at(min, "no value is within these bounds: `min` is greater than `max`");
    }
}

fn literal(expression: &Expr) -> Option<f64> {
    match expression {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse().ok(),
        Expr::Lit(ExprLit { lit: Lit::Float(number), .. }) => number.base10_parse().ok(),
        Expr::Unary(syn::ExprUnary { op: syn::UnOp::Neg(_), expr, .. }) => literal(expr).map(|number| -number),
        _ => None,
    }
}

/// Rejects a message without its bound: it would never be used.
fn without_bound(sentence: Option<&LitStr>, name: &str, bound: Option<&Expr>, bound_name: &str, errors: &mut Errors) {
    if let (Some(sentence), None) = (sentence, bound) {
        errors.at(sentence, format!("`{name}` has no effect without `{bound_name} = …`"));
    }
}

/// Checks that a pattern compiles. Otherwise the runtime would fail at the first value.
fn regular(pattern: LitStr, errors: &mut Errors) -> Option<LitStr> {
    match regex_lite::Regex::new(&pattern.value()) {
        Ok(_) => Some(pattern),
        Err(error) => {
            errors.at(&pattern, format!("invalid regular expression: {error}"));
            None
        }
    }
}

fn path(check: Expr, errors: &mut Errors) -> Option<Path> {
    match check {
        Expr::Path(path) if path.qself.is_none() => Some(path.path),
        other => {
            errors.at(other, "name a function of type `fn(String) -> Result<String, String>`: `check = parse_address`");
            None
        }
    }
}
