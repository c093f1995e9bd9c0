//! Objects with named members: the functions with which the attributes read and write a struct.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::hash::Hash;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize};

use super::number::{self, INTEGER_MAX, IntegerRule, NumberRule};
use super::text::{self, TextRule, one_of};

/// A type that may be a member of an object in arguments and results.
///
/// It has methods instead of supertraits, so that rustc shows the message of this trait and not those of other traits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no wire form",
    label = "it cannot be sent",
    note = "put #[value] above it, or use a number, bool, String, Id<T>, Millis, or an Option or Vec of them"
)]
pub trait Member: Sized {
    /// Reads the value.
    ///
    /// # Errors
    /// Those of its `Deserialize`.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// Reads the value of a member into its slot.
    ///
    /// # Errors
    /// The member is a duplicate, or its value is invalid.
    fn fill<'de, A: MapAccess<'de>>(slot: &mut Option<Self>, map: &mut A, name: &'static str) -> Result<(), A::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Member> DeserializeSeed<'de> for Reader<T> {
            type Value = T;
            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<T, D::Error> {
                T::read(deserializer)
            }
        }
        fill_with(slot, map, name, Reader(PhantomData))
    }

    /// Returns the value of a member. An absent member is `None` if its type allows that.
    ///
    /// # Errors
    /// The member is missing.
    fn given<E: Error>(slot: Option<Self>, name: &'static str) -> Result<Self, E> {
        slot.map_or_else(|| Self::read(Absent(name, PhantomData)), Ok)
    }
}

#[diagnostic::do_not_recommend]
impl<T: for<'de> Deserialize<'de> + Serialize + JsonSchema> Member for T {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer)
    }
}

/// A type that may be a member of an object in results only.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no wire form",
    label = "it cannot be sent",
    note = "put #[value] above it, or use a number, bool, String, Id<T>, Millis, or an Option or Vec of them"
)]
pub trait OutMember {
    /// Writes the value as a member of `object`.
    ///
    /// # Errors
    /// Those of its `Serialize`.
    fn write<S: SerializeStruct>(&self, object: &mut S, name: &'static str) -> Result<(), S::Error>;

    /// Returns the JSON schema; with `nullable`, the schema also allows null.
    fn schema(generator: &mut SchemaGenerator, nullable: bool) -> Schema;

    /// Returns the value as JSON, for a schema.
    fn json(&self) -> Option<serde_json::Value>;
}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema> OutMember for T {
    fn write<S: SerializeStruct>(&self, object: &mut S, name: &'static str) -> Result<(), S::Error> {
        object.serialize_field(name, self)
    }

    fn schema(generator: &mut SchemaGenerator, nullable: bool) -> Schema {
        if nullable { generator.subschema_for::<Option<T>>() } else { generator.subschema_for::<T>() }
    }

    fn json(&self) -> Option<serde_json::Value> {
        serde_json::to_value(self).ok()
    }
}

/// Reads a member's name as its index in a list of names.
pub struct MemberName(pub &'static [&'static str]);

impl<'de> DeserializeSeed<'de> for MemberName {
    type Value = usize;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for MemberName {
    type Value = usize;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a member")
    }
    fn visit_str<E: Error>(self, name: &str) -> Result<usize, E> {
        self.0.iter().position(|known| *known == name).ok_or_else(|| E::unknown_field(name, self.0))
    }
}

/// Reads like [`Member::fill`], for a type whose plain parts are wrapped in [`AsPlain`].
///
/// # Errors
/// Those of [`Member::fill`].
pub fn fill_plain<'de, T: Deserialize<'de>, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    map: &mut A,
    name: &'static str,
) -> Result<(), A::Error> {
    fill_with(slot, map, name, PhantomData)
}

fn fill_with<'de, R: DeserializeSeed<'de>, A: MapAccess<'de>>(
    slot: &mut Option<R::Value>,
    map: &mut A,
    name: &'static str,
    reader: R,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(A::Error::duplicate_field(name));
    }
    *slot = Some(map.next_value_seed(reader)?);
    Ok(())
}

/// Skips the value of a member that was removed.
///
/// # Errors
/// The value is not JSON.
pub fn skip<'de, A: MapAccess<'de>>(map: &mut A) -> Result<(), A::Error> {
    map.next_value::<IgnoredAny>().map(|_| ())
}

/// Reads like [`Member::given`], for a type whose plain parts are wrapped in [`AsPlain`].
///
/// # Errors
/// Those of [`Member::given`].
pub fn given_plain<'de, T: Deserialize<'de>, E: Error>(slot: Option<T>, name: &'static str) -> Result<T, E> {
    slot.map_or_else(|| T::deserialize(Absent(name, PhantomData)), Ok)
}

/// The deserializer of an absent member: only an `Option` can be read from it.
struct Absent<E>(&'static str, PhantomData<E>);

impl<'de, E: Error> Deserializer<'de> for Absent<E> {
    type Error = E;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, E> {
        Err(E::missing_field(self.0))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, E> {
        visitor.visit_none()
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct
        newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// Reads one of `names` as its index. The error lists the names.
///
/// # Errors
/// Another type, or another text.
pub fn choice<'de, D: Deserializer<'de>>(deserializer: D, names: &'static [&'static str]) -> Result<usize, D::Error> {
    struct Choice(&'static [&'static str]);
    impl Visitor<'_> for Choice {
        type Value = usize;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("one of ")?;
            f.write_str(&self.0.join(", "))
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<usize, E> {
            one_of(text, self.0).map_err(E::custom)
        }
    }
    deserializer.deserialize_str(Choice(names))
}

/// A number or text type of Rust, with the rules of the wire: `31.0` is an integer, and a text has no U+0000.
pub trait Plain: Sized {
    /// Reads the value.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;
}

macro_rules! plain_integers {
    ($($type:ident)*) => {
        $(impl Plain for $type {
            fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let rule = IntegerRule {
                    min: i64::try_from($type::MIN).map_or(-INTEGER_MAX, |min| min.max(-INTEGER_MAX)),
                    max: i64::try_from($type::MAX).map_or(INTEGER_MAX, |max| max.min(INTEGER_MAX)),
                    ..IntegerRule::ANY
                };
                let number = number::integer(deserializer, &rule)?;
                Ok($type::try_from(number).expect("the rule keeps the number within the type's bounds"))
            }
        })*
    };
}

plain_integers!(i8 i16 i32 i64 u8 u16 u32 u64 usize);

impl Plain for f64 {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        number::number(deserializer, &NumberRule::ANY)
    }
}

impl Plain for String {
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::text(deserializer, &TextRule::ANY)
    }
}

/// Reads a `T` by the rules of [`Plain`].
pub struct AsPlain<T>(T);

impl<'de, T: Plain> Deserialize<'de> for AsPlain<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::read(deserializer).map(Self)
    }
}

/// Reads a `T` as its `Deserialize` does: a part of [`AsTuple`] that is not plain.
pub struct AsIs<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for AsIs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(Self)
    }
}

/// Reads a tuple `T` from an array of exactly its length.
pub struct AsTuple<T>(T);

/// Removes [`AsPlain`], [`AsIs`] and [`AsTuple`], also inside containers.
pub trait Unwrap {
    /// The type without the wrapper.
    type To;
    /// Returns the value without the wrapper.
    fn unwrap_plain(self) -> Self::To;
}

impl<T> Unwrap for AsPlain<T> {
    type To = T;
    fn unwrap_plain(self) -> T {
        self.0
    }
}

impl<T> Unwrap for AsIs<T> {
    type To = T;
    fn unwrap_plain(self) -> T {
        self.0
    }
}

macro_rules! tuples {
    ($($length:literal: $($part:ident)+;)*) => {
        $(
            impl<'de, $($part: Deserialize<'de>),+> Deserialize<'de> for AsTuple<($($part,)+)> {
                fn deserialize<De: Deserializer<'de>>(deserializer: De) -> Result<Self, De::Error> {
                    struct Places<T>(PhantomData<T>);
                    impl<'de, $($part: Deserialize<'de>),+> Visitor<'de> for Places<($($part,)+)> {
                        type Value = ($($part,)+);
                        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                            let plural = if $length == 1 { "" } else { "s" };
                            write!(f, "an array of {} value{plural}", $length)
                        }
                        fn visit_seq<S: SeqAccess<'de>>(self, mut seq: S) -> Result<Self::Value, S::Error> {
                            let mut length = 0;
                            let other_length = |length: usize| S::Error::invalid_length(length, &self);
                            let places = ($(
                                match seq.next_element::<$part>()? {
                                    Some(place) => {
                                        length += 1;
                                        place
                                    }
                                    None => return Err(other_length(length)),
                                },
                            )+);
                            while seq.next_element::<IgnoredAny>()?.is_some() {
                                length += 1;
                            }
                            if length == $length { Ok(places) } else { Err(other_length(length)) }
                        }
                    }
                    deserializer.deserialize_seq(Places(PhantomData)).map(Self)
                }
            }

            impl<$($part: Unwrap),+> Unwrap for AsTuple<($($part,)+)> {
                type To = ($($part::To,)+);
                #[allow(non_snake_case, reason = "each part has the name of its type")]
                fn unwrap_plain(self) -> Self::To {
                    let ($($part,)+) = self.0;
                    ($($part.unwrap_plain(),)+)
                }
            }
        )*
    };
}

tuples! {
    1: A;
    2: A B;
    3: A B C;
    4: A B C D;
    5: A B C D E;
    6: A B C D E F;
    7: A B C D E F G;
    8: A B C D E F G H;
}

impl<T: Unwrap> Unwrap for Box<T> {
    type To = Box<T::To>;
    fn unwrap_plain(self) -> Self::To {
        Box::new((*self).unwrap_plain())
    }
}

impl<K: Eq + Hash, T: Unwrap> Unwrap for HashMap<K, T> {
    type To = HashMap<K, T::To>;
    fn unwrap_plain(self) -> Self::To {
        self.into_iter().map(|(key, value)| (key, value.unwrap_plain())).collect()
    }
}

impl<K: Ord, T: Unwrap> Unwrap for BTreeMap<K, T> {
    type To = BTreeMap<K, T::To>;
    fn unwrap_plain(self) -> Self::To {
        self.into_iter().map(|(key, value)| (key, value.unwrap_plain())).collect()
    }
}

impl<T: Unwrap> Unwrap for Option<T> {
    type To = Option<T::To>;
    fn unwrap_plain(self) -> Self::To {
        self.map(T::unwrap_plain)
    }
}

impl<T: Unwrap> Unwrap for Vec<T> {
    type To = Vec<T::To>;
    fn unwrap_plain(self) -> Self::To {
        self.into_iter().map(T::unwrap_plain).collect()
    }
}
