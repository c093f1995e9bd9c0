//! Generates the code of a value with one unnamed field: checked construction, wire form, column.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned as _;

use super::check::Newtype;
use super::rule::{Kind, NumberRule, Rule, TextRule};
use crate::attributes;
use crate::object::schema;
use crate::types;

/// Returns all implementations.
pub(super) fn expand(value: &Newtype) -> TokenStream {
    let rule = match &value.rule {
        Rule::Text(rule) => text_rule(rule),
        Rule::Integer(rule) => number_rule("IntegerRule", Some(&value.inner), rule),
        Rule::Number(rule) => number_rule("NumberRule", None, rule),
    };
    let rust = match value.rule.kind() {
        Kind::Text => text(value),
        Kind::Integer | Kind::Number => number(value),
    };
    let wire = wire(value);
    let column = column(value);
    let literals = literals(value);
    quote!(#rule #rust #wire #column #literals)
}

/// Returns `static __RULE: TextRule = …;`.
fn text_rule(rule: &TextRule) -> TokenStream {
    let trim = rule.trim.then(|| quote!(trim: true,));
    let min = rule.min.iter().map(|min| quote!(chars_min: #min,));
    let max = rule.max.iter().map(|max| quote!(chars_max: #max,));
    let too_short = some("too_short", rule.too_short.as_ref());
    let too_long = some("too_long", rule.too_long.as_ref());
    let expected = some("expected", rule.expected.as_ref());
    let check = some("check", rule.check.as_ref());
    let compiled = rule.pattern.as_ref().map(|pattern| {
        quote_spanned! {Span::mixed_site()=>
            static __PATTERN: ::convoke::__private::Pattern = ::convoke::__private::Pattern::new(#pattern);
        }
    });
    let pattern = rule
        .pattern
        .is_some()
        .then(|| quote_spanned!(Span::mixed_site()=> pattern: ::core::option::Option::Some(&__PATTERN),));
    quote_spanned! {Span::mixed_site()=>
        #compiled
        static __RULE: ::convoke::__private::TextRule = ::convoke::__private::TextRule {
            #trim #(#min)* #(#max)* #too_short #too_long #pattern #expected #check
            ..::convoke::__private::TextRule::ANY
        };
    }
}

/// Returns `static __RULE: IntegerRule = …;`. Its bounds lie within those of the type.
fn number_rule(name: &str, integer: Option<&syn::Type>, rule: &NumberRule) -> TokenStream {
    let name = Ident::new(name, Span::call_site());
    let min = rule.min.iter().map(|min| quote!(min: #min,));
    let max = rule.max.iter().map(|max| quote!(max: #max,));
    let too_small = some("too_small", rule.too_small.as_ref());
    let too_large = some("too_large", rule.too_large.as_ref());
    let within = integer.filter(|inner| !is_i64(inner)).map(|inner| {
        quote_spanned! {inner.span()=>
            .within(<#inner>::MIN as ::core::primitive::i64, <#inner>::MAX as ::core::primitive::i64)
        }
    });
    quote_spanned! {Span::mixed_site()=>
        static __RULE: ::convoke::__private::#name = ::convoke::__private::#name {
            #(#min)* #(#max)* #too_small #too_large
            ..::convoke::__private::#name::ANY
        }
        #within;
    }
}

fn is_i64(ty: &syn::Type) -> bool {
    types::last_name(ty).is_some_and(|name| name == "i64")
}

fn some(name: &str, value: Option<&impl quote::ToTokens>) -> Option<TokenStream> {
    let name = Ident::new(name, Span::call_site());
    value.map(|value| quote!(#name: ::core::option::Option::Some(#value),))
}

fn text(value: &Newtype) -> TokenStream {
    let Newtype { name, vis, .. } = value;
    let chars_max = match &value.rule {
        Rule::Text(rule) => rule.max.as_ref(),
        Rule::Integer(_) | Rule::Number(_) => None,
    };
    let chars_max = chars_max.into_iter();
    quote_spanned! {Span::mixed_site()=>
        impl #name {
            #(
                /// Largest number of characters.
                #[allow(dead_code, reason = "only some limits are read outside of their rule")]
                #vis const CHARS_MAX: ::core::primitive::usize = #chars_max;
            )*

            /// Creates the value, if `text` follows its rule.
            ///
            /// # Errors
            /// The rule that `text` breaks.
            #vis fn new(
                text: impl ::core::convert::AsRef<::core::primitive::str>
                    + ::core::convert::Into<::std::string::String>,
            ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
                __RULE.apply(text).map(Self)
            }

            /// Returns the text.
            #vis fn as_str(&self) -> &::core::primitive::str {
                &self.0
            }

            /// Converts it into the text.
            #vis fn into_string(self) -> ::std::string::String {
                self.0
            }
        }

        #[automatically_derived]
        impl ::core::ops::Deref for #name {
            type Target = ::core::primitive::str;
            fn deref(&self) -> &::core::primitive::str {
                &self.0
            }
        }

        #[automatically_derived]
        impl ::core::convert::AsRef<::core::primitive::str> for #name {
            fn as_ref(&self) -> &::core::primitive::str {
                &self.0
            }
        }

        #[automatically_derived]
        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(&self.0)
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<#name> for ::std::string::String {
            fn from(value: #name) -> ::std::string::String {
                value.0
            }
        }

        #[automatically_derived]
        impl ::core::str::FromStr for #name {
            type Err = ::convoke::__private::Invalid;
            fn from_str(text: &::core::primitive::str) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
                Self::new(text)
            }
        }
    }
}

fn number(value: &Newtype) -> TokenStream {
    let Newtype { name, vis, inner, .. } = value;
    let apply = match value.rule.kind() {
        Kind::Integer if !is_i64(inner) => quote_spanned! {Span::mixed_site()=>
            __RULE.apply(::core::convert::From::from(number)).map(|_| Self(number))
        },
        Kind::Integer | Kind::Number | Kind::Text => {
            quote_spanned!(Span::mixed_site()=> __RULE.apply(number).map(Self))
        }
    };
    quote_spanned! {Span::mixed_site()=>
        impl #name {
            /// Creates the value, if `number` follows its rule.
            ///
            /// # Errors
            /// The rule that `number` breaks.
            #vis fn new(number: #inner) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
                #apply
            }

            /// Returns the number.
            #vis const fn get(self) -> #inner {
                self.0
            }
        }

        #[automatically_derived]
        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(&self.0, f)
            }
        }

        #[automatically_derived]
        impl ::core::convert::From<#name> for #inner {
            fn from(value: #name) -> #inner {
                value.0
            }
        }
    }
}

/// Returns the conversion of a default that is a literal.
fn literals(value: &Newtype) -> TokenStream {
    let Newtype { name, inner, .. } = value;
    let of = |literal: TokenStream, made: TokenStream| {
        quote_spanned! {Span::mixed_site()=>
            #[automatically_derived]
            impl ::convoke::__private::FromLiteral<#literal> for #name {
                fn from_literal(
                    literal: #literal,
                ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
                    #made
                }
            }
        }
    };
    let literal = Ident::new("literal", Span::mixed_site());
    let integer = quote!(::core::primitive::i128);
    match value.rule.kind() {
        Kind::Text => of(quote!(&'static ::core::primitive::str), quote!(Self::new(#literal))),
        Kind::Integer => of(
            integer,
            quote!(__RULE.apply(::convoke::__private::integer_literal(#literal)?).map(|number| Self(number as #inner))),
        ),
        Kind::Number => {
            let whole = of(integer, quote!(Self::new(#literal as ::core::primitive::f64)));
            let number = of(quote!(::core::primitive::f64), quote!(Self::new(#literal)));
            quote!(#whole #number)
        }
    }
}

fn wire(value: &Newtype) -> TokenStream {
    let Newtype { name, doc, inner, .. } = value;
    let names = schema::type_name(name, None).names;
    let read = match value.rule.kind() {
        Kind::Text => quote_spanned! {Span::mixed_site()=>
            ::convoke::__private::text(deserializer, &__RULE).map(Self)
        },
        Kind::Integer if is_i64(inner) => quote_spanned! {Span::mixed_site()=>
            ::convoke::__private::integer(deserializer, &__RULE).map(Self)
        },
        // The rule lies within the type, so the number fits.
        Kind::Integer => quote_spanned! {Span::mixed_site()=>
            ::convoke::__private::integer(deserializer, &__RULE).map(|number| Self(number as #inner))
        },
        Kind::Number => quote_spanned! {Span::mixed_site()=>
            ::convoke::__private::number(deserializer, &__RULE).map(Self)
        },
    };
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl ::convoke::__private::serde::Serialize for #name {
            fn serialize<__S: ::convoke::__private::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                ::convoke::__private::serde::Serialize::serialize(&self.0, serializer)
            }
        }

        #[automatically_derived]
        impl<'de> ::convoke::__private::serde::Deserialize<'de> for #name {
            fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                #read
            }
        }

        #[automatically_derived]
        impl ::convoke::__private::schemars::JsonSchema for #name {
            #names
            fn inline_schema() -> ::core::primitive::bool {
                true
            }
            fn json_schema(
                _: &mut ::convoke::__private::schemars::SchemaGenerator,
            ) -> ::convoke::__private::schemars::Schema {
                __RULE.schema(#doc)
            }
        }
    }
}

/// Returns the column. A stored value is not checked: a rule that was tightened later applies to new values only.
fn column(value: &Newtype) -> TokenStream {
    let unlisted = attributes::unlisted();
    let Newtype { name, inner, .. } = value;
    let is_text = (value.rule.kind() == Kind::Text).then(|| {
        quote! {
            #[automatically_derived]
            impl ::convoke::__private::TextColumn for #name {}
        }
    });
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        #unlisted
        impl ::convoke::__private::Column for #name {
            const TYPE: ::convoke::__private::ColumnType = <#inner as ::convoke::__private::Column>::TYPE;
            const MEANING: ::convoke::__private::Meaning = <#inner as ::convoke::__private::Column>::MEANING;
            fn to_value(&self) -> ::convoke::__private::Value {
                <#inner as ::convoke::__private::Column>::to_value(&self.0)
            }
            fn from_value(
                value: ::convoke::__private::ValueRef<'_>,
            ) -> ::core::result::Result<Self, ::std::string::String> {
                <#inner as ::convoke::__private::Column>::from_value(value).map(Self)
            }
            fn accept(
                value: ::convoke::__private::ValueRef<'_>,
            ) -> ::core::result::Result<::convoke::__private::Value, ::std::string::String> {
                let value = <#inner as ::convoke::__private::Column>::from_value(value)?;
                match Self::new(value) {
                    ::core::result::Result::Ok(value) => ::core::result::Result::Ok(
                        <Self as ::convoke::__private::Column>::to_value(&value),
                    ),
                    ::core::result::Result::Err(invalid) => {
                        ::core::result::Result::Err(::std::string::ToString::to_string(&invalid))
                    }
                }
            }
        }

        #is_text
    }
}
