//! `#[value]` on an enum with fields in some variants: an object on the wire whose tag selects the variant, and JSON in
//! a column.

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::{Fields, Ident, ItemEnum, LitStr};

use super::enumeration::check as texts;
use super::structure;
use crate::attributes;
use crate::errors::Errors;
use crate::names::Spelling;
use crate::object::schema::{self, TypeName};
use crate::object::{self, Direction, Member, Presence, read, write};

/// An enum as far as it can be read.
struct Union {
    name: Ident,
    doc: String,
    options: Options,
    variants: Vec<Variant>,
}

/// A variant.
struct Variant {
    name: Ident,
    /// Its text as a tag.
    text: String,
    doc: String,
    /// Its members in order, including removed ones.
    members: Vec<Member>,
}

/// The options of the attribute.
struct Options {
    direction: Direction,
    spelling: Spelling,
    /// The member that selects the variant.
    tag: String,
    /// Its name in clients and in OpenAPI, if the author sets it.
    shown_as: Option<LitStr>,
}

/// Returns the enum after every mistake and the code of a value.
pub(super) fn expand(options: TokenStream, mut written: ItemEnum) -> TokenStream {
    let mut errors = Errors::default();
    let union = check(options, &mut written, &mut errors);
    // For an enum that cannot be read, derive errors of fields would only add noise to the mistake.
    let derive = union.as_ref().map(|union| {
        attributes::derive(&written.attrs, &attributes::derives(structure::derived(union.options.direction)))
    });
    let code = union.map(|union| {
        let write = write(&union);
        let schema = schema(&union);
        let read = (union.options.direction == Direction::Both).then(|| {
            let read = read(&union);
            let column = structure::column(&union.name);
            quote!(#read #column)
        });
        let defaults = union.variants.iter().map(|variant| object::defaults(&variant.members));
        let cfgs = attributes::cfgs(&written.attrs);
        quote! {
            #(#cfgs)*
            const _: () = {
                #read
                #write
                #schema
                #(#defaults)*
            };
        }
    });
    let made = errors.with_code(code);
    quote!(#made #derive #written)
}

fn check(options: TokenStream, written: &mut ItemEnum, errors: &mut Errors) -> Option<Union> {
    let options = self::options(options, errors);
    object::foreign("value", &mut written.attrs, errors);
    let mut is_readable = true;
    let mut variants: Vec<Variant> = Vec::new();
    for variant in &mut written.variants {
        object::foreign("value", &mut variant.attrs, errors);
        let text = texts::text(options.spelling, variant, errors);
        texts::same_text(&variant.ident, &text, variants.iter().map(|first| (&first.name, &first.text)), errors);
        let members = match &mut variant.fields {
            Fields::Unit => Vec::new(),
            Fields::Named(fields) => object::members("value", fields, errors),
            Fields::Unnamed(fields) => {
                let message = format!("name the fields of the variant: `{} {{ field: Type }}`", variant.ident);
                errors.at(fields, message);
                is_readable = false;
                Vec::new()
            }
        };
        for member in members.iter().filter(|member| member.name == options.tag) {
            let message = format!(
                "`{}` is the member that selects the variant; rename the field, or write `#[value(tag = \"kind\")]` \
                 above the enum",
                options.tag
            );
            errors.at(&member.field, message);
        }
        let doc = attributes::docs(&variant.attrs);
        variants.push(Variant { name: variant.ident.clone(), text, doc, members });
    }
    let doc = attributes::docs(&written.attrs);
    is_readable.then(|| Union { name: written.ident.clone(), doc, options, variants })
}

fn options(tokens: TokenStream, errors: &mut Errors) -> Options {
    let mut options =
        Options { direction: Direction::Both, spelling: Spelling::Kebab, tag: "type".to_owned(), shown_as: None };
    for choice in attributes::choices(tokens, errors) {
        match choice.name.to_string().as_str() {
            "output" => {
                choice.flag(errors);
                options.direction = Direction::Out;
            }
            "rename_all" => options.spelling = texts::spelling(&choice, errors),
            "tag" => {
                let Some(tag) = choice.text(errors) else { continue };
                options.tag = tag.value();
                if options.tag.is_empty() {
                    errors.at(tag, "name the member that selects the variant: `tag = \"kind\"`");
                }
            }
            "name" => options.shown_as = attributes::type_name(&choice, errors),
            _ => attributes::unknown(&choice, &["tag", "rename_all", "name", "output"], errors),
        }
    }
    options
}

fn read(union: &Union) -> TokenStream {
    let Union { name, options: Options { tag, .. }, .. } = union;
    let map = read::map();
    let texts = union.variants.iter().map(|variant| &variant.text);
    let last = union.variants.len().saturating_sub(1);
    let arms = union.variants.iter().enumerate().map(|(place, variant)| {
        let variant_name = &variant.name;
        let members = read::members(&variant.members, &quote!(#name::#variant_name));
        let place = if place == last { quote!(_) } else { quote!(#place) };
        quote!(#place => { #members })
    });
    let body = quote_spanned! {Span::mixed_site()=>
        const __VARIANTS: &[&::core::primitive::str] = &[#(#texts),*];
        let (variant, mut #map) = ::convoke::__private::tagged(#map, #tag, __VARIANTS)?;
        match variant {
            #(#arms)*
        }
    };
    read::deserialize(name, "an object", &quote!(#map), &body)
}

fn write(union: &Union) -> TokenStream {
    let Union { name, options: Options { tag, .. }, .. } = union;
    let text = name.to_string();
    let arms = union.variants.iter().map(|variant| {
        let variant_name = &variant.name;
        let present = variant.members.iter().filter(|member| !matches!(member.presence, Presence::Retired));
        let fields = present.map(|member| {
            let (field, local) = (&member.field, local(member));
            quote!(#field: #local,)
        });
        let body = write::members(&text, Some((tag, &variant.text)), &variant.members, |member| {
            let local = local(member);
            quote_spanned!(Span::mixed_site()=> *#local)
        });
        quote!(#name::#variant_name { #(#fields)* } => { #body })
    });
    let body = quote_spanned!(Span::mixed_site()=> match self { #(#arms)* });
    write::serialize(name, &body)
}

/// Returns the variable that borrows a field while its variant is serialized.
fn local(member: &Member) -> Ident {
    format_ident!("field_{}", member.field.unraw(), span = Span::mixed_site())
}

/// Returns the schema of the enum, and a named schema for each variant: a discriminator of OpenAPI 3.0 needs named
/// schemas.
fn schema(union: &Union) -> TokenStream {
    let Union { name, doc, options, variants } = union;
    let Options { tag, shown_as, .. } = options;
    let TypeName { names, submission } = schema::type_name(name, shown_as.as_ref());
    let generator = Ident::new("generator", Span::mixed_site());
    let types: Vec<Ident> = variants.iter().map(|variant| format_ident!("__{}", variant.name.unraw())).collect();
    let variant_types = variants.iter().zip(&types).map(|(variant, ty)| variant_type(union, variant, ty));
    let texts = variants.iter().map(|variant| &variant.text);
    quote! {
        #(#variant_types)*
        #[automatically_derived]
        impl ::convoke::__private::schemars::JsonSchema for #name {
            #names
            fn json_schema(
                #generator: &mut ::convoke::__private::schemars::SchemaGenerator,
            ) -> ::convoke::__private::schemars::Schema {
                ::convoke::__private::UnionSchema::new(#doc, #tag)
                    #(.variant::<#types>(#generator, #texts))*
                    .finish()
            }
        }
        #submission
    }
}

/// Returns a type that represents a variant in schemas only.
fn variant_type(union: &Union, variant: &Variant, ty: &Ident) -> TokenStream {
    let Union { name, options: Options { tag, direction, shown_as, .. }, .. } = union;
    let text = variant.name.unraw().to_string();
    let generator = Ident::new("generator", Span::mixed_site());
    let TypeName { names, submission } = schema::variant_name(ty, name, shown_as.as_ref(), &text);
    let members = schema::members(&variant.doc, Some((tag, &variant.text)), &variant.members, *direction);
    quote! {
        struct #ty;
        #[automatically_derived]
        impl ::convoke::__private::schemars::JsonSchema for #ty {
            #names
            fn json_schema(
                #generator: &mut ::convoke::__private::schemars::SchemaGenerator,
            ) -> ::convoke::__private::schemars::Schema {
                #members
            }
        }
        #submission
    }
}
