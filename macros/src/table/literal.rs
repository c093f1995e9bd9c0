//! Constants in a schema: the values in the condition of an index.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned as _;
use syn::{Lit, Path, Token, Type};

/// A constant.
pub(super) enum Literal {
    /// A text, number or boolean, as written.
    Written(Lit),
    /// A negative number.
    Negative(Lit),
    /// A variant of an enum with `#[value]`.
    Named(Path),
}

impl Parse for Literal {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if input.peek(Token![-]) {
            input.parse::<Token![-]>()?;
            let number: Lit = input.parse()?;
            return match number {
                Lit::Int(_) | Lit::Float(_) => Ok(Literal::Negative(number)),
                other => Err(syn::Error::new_spanned(other, "only a number can be negative")),
            };
        }
        if input.peek(Lit) {
            let written: Lit = input.parse()?;
            return match written {
                Lit::Str(_) | Lit::Int(_) | Lit::Float(_) | Lit::Bool(_) => Ok(Literal::Written(written)),
                other => Err(syn::Error::new_spanned(other, EXPECTED)),
            };
        }
        if input.peek(syn::Ident) || input.peek(Token![::]) || input.peek(Token![crate]) {
            return Ok(Literal::Named(input.parse()?));
        }
        Err(input.error(EXPECTED))
    }
}

const EXPECTED: &str = "write a text, a number, `true`, `false`, or a variant such as `State::Waiting`";

impl Literal {
    /// Returns the constant as written.
    pub(super) fn text(&self) -> String {
        match self {
            Literal::Written(written) => quote!(#written).to_string(),
            Literal::Negative(number) => format!("-{}", quote!(#number)),
            Literal::Named(path) => quote!(#path).to_string().replace(' ', ""),
        }
    }

    /// Returns the constant for the runtime, after rustc has checked that it fits a column of type `ty`.
    pub(super) fn expand(&self, ty: &Type) -> TokenStream {
        let literal = self.constructed();
        quote_spanned! {self.span()=>
            ::convoke::__private::Literal::checked(#literal, <#ty as ::convoke::__private::Column>::TYPE)
        }
    }

    fn span(&self) -> Span {
        match self {
            Literal::Written(literal) | Literal::Negative(literal) => literal.span(),
            Literal::Named(path) => path.span(),
        }
    }

    fn constructed(&self) -> TokenStream {
        match self {
            Literal::Written(written @ Lit::Int(_)) => quote!(::convoke::__private::Literal::Integer(#written)),
            Literal::Written(written @ Lit::Float(_)) => quote!(::convoke::__private::Literal::Float(#written)),
            Literal::Written(written @ Lit::Bool(_)) => quote!(::convoke::__private::Literal::Bool(#written)),
            Literal::Written(written) => quote!(::convoke::__private::Literal::Text(#written)),
            Literal::Negative(number @ Lit::Float(_)) => quote!(::convoke::__private::Literal::Float(-#number)),
            Literal::Negative(number) => quote!(::convoke::__private::Literal::Integer(-#number)),
            Literal::Named(path) => quote!(::convoke::__private::Literal::Text(#path.as_str())),
        }
    }
}
