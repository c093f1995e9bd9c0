//! All checks of a struct that is an object on the wire, in one pass.

use syn::{Attribute, Expr, Fields, FieldsNamed, Ident, ItemStruct, LitStr, Type};

use crate::attributes;
use crate::errors::Errors;
use crate::names;
use crate::types;

/// An object as far as it can be read.
pub(crate) struct Object {
    /// The struct's name.
    pub name: Ident,
    /// Its name in clients and in OpenAPI, if the author sets it.
    pub shown_as: Option<LitStr>,
    /// Its doc comment.
    pub doc: String,
    /// Its members in order, including removed ones.
    pub members: Vec<Member>,
}

/// A member of an object.
pub(crate) struct Member {
    /// The field.
    pub field: Ident,
    /// Its type.
    pub ty: Type,
    /// Its name on the wire.
    pub name: String,
    /// Its doc comment.
    pub doc: String,
    /// Presence.
    pub presence: Presence,
}

/// The presence of a member.
pub(crate) enum Presence {
    /// The member is required.
    Required,
    /// The member may be absent or null: an `Option`.
    Optional,
    /// Default: an absent or null member has this value.
    Or(Box<Expr>),
    /// The member was removed: it is ignored if a client still sends it.
    Retired,
}

impl Object {
    /// Returns the members that the struct still has.
    pub(crate) fn present(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| !matches!(member.presence, Presence::Retired))
    }
}

/// Checks a struct, and removes our attributes and the retired fields from it. `attribute` is the one above it. Returns
/// nothing if no code can be generated for it.
pub(crate) fn check(attribute: &str, written: &mut ItemStruct, errors: &mut Errors) -> Option<Object> {
    let name = written.ident.clone();
    let doc = attributes::docs(&written.attrs);
    if !written.generics.params.is_empty() {
        errors.at(
            &written.generics.params,
            format!("a struct with #[{attribute}] has one wire form and cannot be generic; write concrete types"),
        );
    }
    foreign(attribute, &mut written.attrs, errors);
    let Fields::Named(fields) = &mut written.fields else {
        let message = format!("a struct with #[{attribute}] must have named fields: `struct {name} {{ field: Type }}`");
        errors.at(&written.ident, message);
        return None;
    };
    let members = members(attribute, fields, errors);
    written.generics.params.is_empty().then_some(Object { name, shown_as: None, doc, members })
}

/// Checks fields, and removes our attributes and the retired fields from them.
pub(crate) fn members(attribute: &str, fields: &mut FieldsNamed, errors: &mut Errors) -> Vec<Member> {
    let mut members = Vec::new();
    let mut kept = syn::punctuated::Punctuated::new();
    for mut field in std::mem::take(&mut fields.named) {
        let member = member(attribute, &mut field, errors);
        if !matches!(member, Some(Member { presence: Presence::Retired, .. })) {
            kept.push(field);
        }
        // rustc rejects a second field of a name.
        members.extend(member.filter(|new| !members.iter().any(|first: &Member| first.field == new.field)));
    }
    fields.named = kept;
    twice(&members, errors);
    members
}

/// Checks a field, and removes our attributes from it.
fn member(attribute: &str, field: &mut syn::Field, errors: &mut Errors) -> Option<Member> {
    let ident = field.ident.clone()?;
    foreign(attribute, &mut field.attrs, errors);
    if let Some(cfg) = attributes::cfgs(&field.attrs).first() {
        errors.at(cfg, "remove the `cfg` of the field: the wire form must be the same in every build");
    }
    let mut name = names::camel(&ident);
    for own in attributes::take(&mut field.attrs, attribute) {
        for choice in attributes::choices(attributes::list(&own), errors) {
            match choice.name.to_string().as_str() {
                "rename" => {
                    if let Some(text) = choice.text(errors) {
                        name = text.value();
                    }
                }
                _ => attributes::unknown(&choice, &["rename"], errors),
            }
        }
    }
    if name.is_empty() {
        errors.at(&ident, "the field needs a name on the wire");
    }
    let retired = attributes::take(&mut field.attrs, "retired");
    let mut defaults = attributes::take(&mut field.attrs, "default");
    let doc = attributes::docs(&field.attrs);
    let presence = if let Some(word) = retired.first() {
        if types::option(&field.ty).is_none() {
            errors.at(&field.ty, "a retired field may be absent; write its type as `Option<…>`");
        }
        if !defaults.is_empty() {
            errors.at(word, "a retired field is not read; remove its default");
        }
        Presence::Retired
    } else if let Some(default) = defaults.pop() {
        default_of(&default, &field.ty, errors)
    } else if types::option(&field.ty).is_some() {
        Presence::Optional
    } else {
        Presence::Required
    };
    if let Some(second) = defaults.first() {
        errors.at(second, "a field can have only one default");
    }
    Some(Member { field: ident, ty: field.ty.clone(), name, doc, presence })
}

fn default_of(attribute: &Attribute, ty: &Type, errors: &mut Errors) -> Presence {
    if types::option(ty).is_some() {
        errors.at(attribute, "an absent `Option` is `None`; remove the default or the `Option`");
        return Presence::Optional;
    }
    match attribute.parse_args::<Expr>() {
        Ok(value) => Presence::Or(Box::new(value)),
        Err(error) => {
            let message = format!("write the value of an absent member: `#[default(20)]` ({error})");
            errors.add(syn::Error::new(error.span(), message));
            Presence::Required
        }
    }
}

/// Removes attributes that would have no effect or a misleading one.
pub(crate) fn foreign(attribute: &str, attributes: &mut Vec<Attribute>, errors: &mut Errors) {
    for name in ["serde", "schemars"] {
        for other in attributes::take(attributes, name) {
            let message = format!(
                "#[{attribute}] defines the wire form without other attributes; rename a field with \
                 `#[{attribute}(rename = \"…\")]`"
            );
            errors.at(other, message);
        }
    }
}

fn twice(members: &[Member], errors: &mut Errors) {
    for (at, member) in members.iter().enumerate() {
        if let Some(first) = members[..at].iter().find(|first| first.name == member.name) {
            let message = format!("`{}` and `{}` are both `{}` on the wire", first.field, member.field, member.name);
            errors.at(&member.field, message);
        }
    }
}
