//! `#[default(…)]`: the value of an absent member, in arguments, values and rows.
//!
//! A literal is converted to the type of the field by the rule of that type. Other defaults are expressions of that
//! type.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, ExprLit, ExprUnary, Lit, Type, UnOp};

use crate::types;

/// A literal in the form that the traits of the runtime take.
enum Literal {
    Text(TokenStream),
    Integer(i128, Span),
    Number(TokenStream),
    Bool(TokenStream),
}

/// Returns an expression of type `ty`.
pub(crate) fn value(ty: &Type, default: &Expr) -> TokenStream {
    let Some(literal) = literal(default) else {
        return quote_spanned!(default.span()=> { let value: #ty = #default; value });
    };
    let name = types::last_name(ty).map(ToString::to_string).unwrap_or_default();
    match (name.as_str(), literal) {
        ("f64", Literal::Integer(number, span)) => {
            let mut number = proc_macro2::Literal::f64_unsuffixed(number as f64);
            number.set_span(span);
            quote!(#number)
        }
        // rustc itself checks the literal for these types.
        (name, Literal::Integer(..) | Literal::Number(_) | Literal::Bool(_))
            if types::is_number(name) || name == "bool" =>
        {
            quote_spanned!(default.span()=> { let value: #ty = #default; value })
        }
        (_, literal) => {
            let of = quote_spanned!(default.span()=> ::convoke::__private::of_literal::<#ty, _>);
            let literal = literal.tokens();
            quote!(#of(#literal))
        }
    }
}

/// Returns code that checks the default at start, if the literal could break the rule of its type.
pub(crate) fn submission(member: &str, ty: &Type, default: &Expr) -> Option<TokenStream> {
    let name = types::last_name(ty).map(ToString::to_string).unwrap_or_default();
    let literal = literal(default)?;
    if types::is_number(&name) || name == "bool" {
        return None;
    }
    let from = quote_spanned!(default.span()=> <#ty as ::convoke::__private::FromLiteral<_>>::from_literal);
    let literal = literal.tokens();
    Some(quote! {
        ::convoke::__private::inventory::submit! {
            ::convoke::__private::SubmittedDefault {
                check: || ::core::result::Result::map(#from(#literal), ::core::mem::drop),
                member: #member,
                file: ::core::file!(),
                line: ::core::line!(),
            }
        }
    })
}

fn literal(default: &Expr) -> Option<Literal> {
    match default {
        Expr::Lit(ExprLit { lit, .. }) => match lit {
            Lit::Str(text) => Some(Literal::Text(quote!(#text))),
            Lit::Int(number) => Some(Literal::Integer(number.base10_parse().ok()?, number.span())),
            Lit::Float(number) => Some(Literal::Number(quote!(#number))),
            Lit::Bool(truth) => Some(Literal::Bool(quote!(#truth))),
            _ => None,
        },
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => match literal(expr)? {
            Literal::Integer(number, span) => Some(Literal::Integer(-number, span)),
            Literal::Number(number) => Some(Literal::Number(quote!(-#number))),
            Literal::Text(_) | Literal::Bool(_) => None,
        },
        Expr::Paren(inner) => literal(&inner.expr),
        _ => None,
    }
}

impl Literal {
    fn tokens(&self) -> TokenStream {
        match self {
            Literal::Text(tokens) | Literal::Number(tokens) | Literal::Bool(tokens) => tokens.clone(),
            Literal::Integer(number, span) => {
                let mut magnitude = proc_macro2::Literal::u128_unsuffixed(number.unsigned_abs());
                magnitude.set_span(*span);
                let sign = (*number < 0).then(|| quote!(-));
                quote!({ let number: ::core::primitive::i128 = #sign #magnitude; number })
            }
        }
    }
}
