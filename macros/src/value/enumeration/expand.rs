//! Generates the code of an enum that is one of a list of texts: on the wire, in a column, and in Rust.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};

use super::check::Enumeration;
use crate::attributes;
use crate::object::schema::{self, TypeName};

/// Returns all implementations.
pub(super) fn expand(value: &Enumeration) -> TokenStream {
    let rust = rust(value);
    let wire = wire(value);
    let column = column(value);
    let literals = literals(value);
    quote!(#rust #wire #column #literals)
}

fn rust(value: &Enumeration) -> TokenStream {
    let Enumeration { name, vis, .. } = value;
    let variants: Vec<_> = value.variants.iter().map(|variant| &variant.name).collect();
    let texts: Vec<_> = value.variants.iter().map(|variant| &variant.text).collect();
    quote_spanned! {Span::mixed_site()=>
        const __NAMES: &[&::core::primitive::str] = &[#(#texts),*];

        impl #name {
            /// All values, in the order of their declaration.
            #vis const ALL: &'static [Self] = &[#(Self::#variants),*];

            /// Returns its text on the wire and in the database.
            #vis const fn as_str(self) -> &'static ::core::primitive::str {
                match self {
                    #(Self::#variants => #texts,)*
                }
            }
        }

        #[automatically_derived]
        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.pad(self.as_str())
            }
        }

        #[automatically_derived]
        impl ::core::str::FromStr for #name {
            type Err = ::convoke::__private::Invalid;
            fn from_str(text: &::core::primitive::str) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
                ::convoke::__private::one_of(text, __NAMES).map(|place| Self::ALL[place])
            }
        }
    }
}

fn literals(value: &Enumeration) -> TokenStream {
    let name = &value.name;
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl ::convoke::__private::FromLiteral<&'static ::core::primitive::str> for #name {
            fn from_literal(
                literal: &'static ::core::primitive::str,
            ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
                ::core::str::FromStr::from_str(literal)
            }
        }
    }
}

fn wire(value: &Enumeration) -> TokenStream {
    let Enumeration { name, doc, .. } = value;
    let docs = value.variants.iter().map(|variant| &variant.doc);
    let TypeName { names, submission } = schema::type_name(name, value.shown_as.as_ref());
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl ::convoke::__private::serde::Serialize for #name {
            fn serialize<__S: ::convoke::__private::serde::Serializer>(
                &self,
                serializer: __S,
            ) -> ::core::result::Result<__S::Ok, __S::Error> {
                ::convoke::__private::serde::Serializer::serialize_str(serializer, self.as_str())
            }
        }

        #[automatically_derived]
        impl<'de> ::convoke::__private::serde::Deserialize<'de> for #name {
            fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
                deserializer: __D,
            ) -> ::core::result::Result<Self, __D::Error> {
                ::convoke::__private::choice(deserializer, __NAMES).map(|place| Self::ALL[place])
            }
        }

        #[automatically_derived]
        impl ::convoke::__private::schemars::JsonSchema for #name {
            #names
            fn json_schema(
                _: &mut ::convoke::__private::schemars::SchemaGenerator,
            ) -> ::convoke::__private::schemars::Schema {
                ::convoke::__private::schema_one_of(#doc, __NAMES, &[#(#docs),*])
            }
        }

        #submission
    }
}

fn column(value: &Enumeration) -> TokenStream {
    let unlisted = attributes::unlisted();
    let name = &value.name;
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        #unlisted
        impl ::convoke::__private::Column for #name {
            const TYPE: ::convoke::__private::ColumnType = ::convoke::__private::ColumnType::Text;
            const MEANING: ::convoke::__private::Meaning = ::convoke::__private::Meaning::Choice(__NAMES);
            fn to_value(&self) -> ::convoke::__private::Value {
                ::convoke::__private::text_to_value(self.as_str())
            }
            fn from_value(
                value: ::convoke::__private::ValueRef<'_>,
            ) -> ::core::result::Result<Self, ::std::string::String> {
                ::convoke::__private::choice_from_value(value, __NAMES).map(|place| Self::ALL[place])
            }
        }

        #[automatically_derived]
        impl ::convoke::__private::TextColumn for #name {}
    }
}
