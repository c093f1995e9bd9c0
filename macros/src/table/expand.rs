//! Generates the code of a table: its definition, its codec, its indexes as types, its wire form.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::check::Table;
use super::index::{Index, Is};
use crate::object::{self, Member, Presence};
use crate::types;
use crate::{attributes, defaults};

/// Returns all implementations.
pub(super) fn expand(table: &Table) -> TokenStream {
    let ident = &table.ident;
    let definition = definition(table);
    let fields = fields(table);
    let indexes = indexes(table);
    let wire = object::wire_out(&table.object);
    let cfgs = &table.cfgs;
    quote! {
        #(#cfgs)*
        const _: () = {
            #definition
            #wire
            ::convoke::__private::inventory::submit! {
                ::convoke::__private::SubmittedTable(<#ident as ::convoke::__private::Table>::DEF)
            }
        };
        // Separate from the codec, because an index may have the name of a variable in it.
        #(#cfgs)*
        const _: () = {
            #fields
            #indexes
        };
    }
}

fn definition(table: &Table) -> TokenStream {
    let Table { ident, name, prefix, .. } = table;
    let fields = table.object.members.iter().map(|member| field(table, member));
    let indexes = table.indexes.iter().map(|index| index_definition(table, index));
    let encoded = table.object.members.iter().map(encode);
    let changed = table.object.members.iter().enumerate().filter_map(|(place, member)| change(place, member));
    let decoded = table.object.members.iter().enumerate().filter_map(|(place, member)| decode(place, member));
    quote_spanned! {Span::mixed_site()=>
        #[automatically_derived]
        impl ::convoke::__private::Named for #ident {
            const NAME: &'static ::core::primitive::str = #name;
            const PREFIX: &'static ::core::primitive::str = #prefix;
        }
        #[automatically_derived]
        impl ::convoke::__private::Table for #ident {
            const DEF: &'static ::convoke::__private::TableDef = &::convoke::__private::TableDef {
                name: #name,
                prefix: #prefix,
                fields: &[#(#fields),*],
                indexes: &[#(#indexes),*],
                file: ::core::file!(),
                line: ::core::line!(),
            }
            .checked();
            fn encode(&self) -> ::std::vec::Vec<::convoke::__private::Value> {
                ::core::convert::From::from([#(#encoded),*])
            }
            fn changes(
                &self,
                before: &[::convoke::__private::Value],
            ) -> ::std::vec::Vec<(::core::primitive::usize, ::convoke::__private::Value)> {
                let mut changes = ::std::vec::Vec::new();
                #(#changed)*
                changes
            }
            fn decode(
                row: &dyn ::convoke::__private::Row,
            ) -> ::core::result::Result<Self, ::convoke::__private::StoreError> {
                ::core::result::Result::Ok(Self { #(#decoded)* })
            }
        }
    }
}

fn field(table: &Table, member: &Member) -> TokenStream {
    let Member { name, ty, .. } = member;
    let column = quote_spanned!(ty.span()=> <#ty as ::convoke::__private::Column>);
    let default = match &member.presence {
        Presence::Or(default) => {
            let value = defaults::value(ty, default);
            quote!(::core::option::Option::Some(|| #column::to_value(&#value)))
        }
        Presence::Required | Presence::Optional | Presence::Retired => quote!(::core::option::Option::None),
    };
    let retired = matches!(member.presence, Presence::Retired);
    let meaning = match table.files.iter().find(|file| file.field == member.field) {
        None => quote!(#column::MEANING),
        Some(file) => {
            let rule = file.expand();
            quote_spanned!(file.span=> #column::MEANING.with_file_rule(#rule))
        }
    };
    let inner = types::option(ty).unwrap_or(ty);
    let schema = quote_spanned!(ty.span()=> ::convoke::__private::field_schema::<#inner>);
    quote! {
        ::convoke::__private::FieldDef {
            name: #name,
            column: #column::TYPE,
            nullable: #column::NULLABLE,
            default: #default,
            references: #column::REFERENCES,
            meaning: #meaning,
            retired: #retired,
            schema: #schema,
            write_json: #column::write_json,
            check: #column::check,
            accept: #column::accept,
        }
    }
}

fn index_definition(table: &Table, index: &Index) -> TokenStream {
    let name = index.name.to_string();
    let unique = index.unique;
    let keys = index.keys.iter().map(|key| {
        let place = table.place(&key.field).unwrap_or_default();
        let descending = key.descending;
        quote!(::convoke::__private::KeyDef { field: #place, descending: #descending })
    });
    let when = match &index.when {
        None => quote!(::core::option::Option::None),
        Some(when) => {
            let member = &table.object.members[table.place(&when.field).unwrap_or_default()];
            let name = &member.name;
            let condition = match &when.is {
                Is::Equal(literal) => {
                    let literal = literal.expand(&member.ty);
                    quote!(Equals(#name, #literal))
                }
                Is::Null => quote!(IsNull(#name)),
                Is::NotNull => quote!(NotNull(#name)),
            };
            quote!(::core::option::Option::Some(::convoke::__private::Condition::#condition))
        }
    };
    quote! {
        ::convoke::__private::IndexDef { name: #name, keys: &[#(#keys),*], unique: #unique, when: #when }
    }
}

fn encode(member: &Member) -> TokenStream {
    let Member { field, ty, .. } = member;
    match member.presence {
        Presence::Retired => quote!(::convoke::__private::Value::Null),
        Presence::Required | Presence::Optional | Presence::Or(_) => {
            let encode = quote_spanned!(ty.span()=> <#ty as ::convoke::__private::Column>::to_value);
            quote_spanned!(Span::mixed_site()=> #encode(&self.#field))
        }
    }
}

fn change(place: usize, member: &Member) -> Option<TokenStream> {
    let (changes, before) = (Ident::new("changes", Span::mixed_site()), Ident::new("before", Span::mixed_site()));
    let Member { field, ty, .. } = member;
    match member.presence {
        Presence::Retired => None,
        Presence::Required | Presence::Optional | Presence::Or(_) => {
            let add = quote_spanned!(ty.span()=> <#ty as ::convoke::__private::Column>::add_change);
            Some(quote_spanned!(Span::mixed_site()=> #add(&self.#field, &mut #changes, #before, #place);))
        }
    }
}

fn decode(place: usize, member: &Member) -> Option<TokenStream> {
    let row = Ident::new("row", Span::mixed_site());
    let Member { field, ty, .. } = member;
    match member.presence {
        Presence::Retired => None,
        Presence::Required | Presence::Optional | Presence::Or(_) => {
            let decode = quote_spanned!(ty.span()=> <#ty as ::convoke::__private::Column>::decode);
            Some(quote!(#field: #decode(#row, <Self as ::convoke::__private::Table>::DEF, #place)?,))
        }
    }
}

/// Returns a type for each indexed field.
fn fields(table: &Table) -> TokenStream {
    let vis = &table.vis;
    let indexed =
        |member: &&Member| table.indexes.iter().flat_map(|index| &index.keys).any(|key| key.field == member.field);
    let fields = table.object.present().filter(indexed).map(|member| {
        let Member { field, ty, name, .. } = member;
        let field = field_type(field);
        quote! {
            #[allow(non_camel_case_types, dead_code, reason = "it represents the field of its name")]
            #vis struct #field;
            #[automatically_derived]
            impl ::convoke::__private::Field for #field {
                type Type = #ty;
                const NAME: &'static ::core::primitive::str = #name;
            }
        }
    });
    quote!(#(#fields)*)
}

/// Returns the type of a field. The prefix avoids a conflict with an index of the field's name.
fn field_type(field: &Ident) -> Ident {
    format_ident!("field_{}", field.unraw())
}

/// Returns a type for each index, and the constants of the struct that name the indexes in queries.
fn indexes(table: &Table) -> TokenStream {
    let Table { ident, vis, .. } = table;
    let types = table.indexes.iter().enumerate().map(|(place, index)| index_type(table, place, index));
    let consts = table.indexes.iter().map(|index| {
        let name = &index.name;
        let doc = format!(" {}", document(index));
        quote! {
            #[doc = #doc]
            #vis const #name: #name = #name;
        }
    });
    quote! {
        #(#types)*
        #[allow(non_upper_case_globals, dead_code, reason = "each represents the index of its name")]
        impl #ident {
            #(#consts)*
        }
    }
}

fn index_type(table: &Table, place: usize, index: &Index) -> TokenStream {
    let unlisted = attributes::unlisted();
    let Table { ident, vis, .. } = table;
    let name = &index.name;
    let fields = index.keys.iter().rev().fold(quote!(()), |rest, key| {
        let field = field_type(&key.field);
        quote!((#field, #rest))
    });
    let unique = index.unique.then(|| {
        quote! {
            #[automatically_derived]
            #unlisted
            impl ::convoke::__private::Unique for #name {}
        }
    });
    quote! {
        #[allow(non_camel_case_types, reason = "it represents the index of its name")]
        #[::core::prelude::v1::derive(::core::clone::Clone, ::core::marker::Copy)]
        #vis struct #name;
        #[automatically_derived]
        impl ::convoke::__private::Index for #name {
            type Table = #ident;
            type Fields = #fields;
            const DEF: &'static ::convoke::__private::IndexDef =
                &<#ident as ::convoke::__private::Table>::DEF.indexes[#place];
        }
        #unique
    }
}

/// Returns the doc comment of an index.
fn document(index: &Index) -> String {
    let keys: Vec<String> = index
        .keys
        .iter()
        .map(|key| format!("`{}`{}", key.field, if key.descending { ", greatest first" } else { "" }))
        .collect();
    let kind = if index.unique { "Unique index" } else { "Index" };
    let when = match &index.when {
        None => String::new(),
        Some(when) => {
            let is = match &when.is {
                Is::Equal(literal) => format!("is `{}`", literal.text()),
                Is::Null => "is null".to_owned(),
                Is::NotNull => "is not null".to_owned(),
            };
            format!(" of the rows whose `{}` {is}", when.field)
        }
    };
    format!("{kind} on {}{when}.", keys.join(", "))
}
