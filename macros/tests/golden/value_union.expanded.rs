const _: () = {
    #[automatically_derived]
    impl<'de> ::convoke::__private::serde::Deserialize<'de> for Event {
        fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
            deserializer: __D,
        ) -> ::core::result::Result<Self, __D::Error> {
            struct __Members;
            impl<'de> ::convoke::__private::serde::de::Visitor<'de> for __Members {
                type Value = Event;
                fn expecting(
                    &self,
                    f: &mut ::core::fmt::Formatter<'_>,
                ) -> ::core::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<__A: ::convoke::__private::serde::de::MapAccess<'de>>(
                    self,
                    map: __A,
                ) -> ::core::result::Result<Event, __A::Error> {
                    const __VARIANTS: &[&::core::primitive::str] = &["hasMoved", "shut"];
                    let (variant, mut map) = ::convoke::__private::tagged(
                        map,
                        "kind",
                        __VARIANTS,
                    )?;
                    match variant {
                        0usize => {
                            const __NAMES: &[&::core::primitive::str] = &[
                                "to",
                                "steps",
                                "by",
                                "from",
                            ];
                            let mut slot_to: ::core::option::Option<
                                ::convoke::__private::AsPlain<String>,
                            > = ::core::option::Option::None;
                            let mut slot_steps: ::core::option::Option<
                                ::core::option::Option<::convoke::__private::AsPlain<i64>>,
                            > = ::core::option::Option::None;
                            let mut slot_by: ::core::option::Option<Option<Id<User>>> = ::core::option::Option::None;
                            while let ::core::option::Option::Some(place) = ::convoke::__private::serde::de::MapAccess::next_key_seed(
                                &mut map,
                                ::convoke::__private::MemberName(__NAMES),
                            )? {
                                match place {
                                    0usize => {
                                        ::convoke::__private::fill_plain(
                                            &mut slot_to,
                                            &mut map,
                                            "to",
                                        )?
                                    }
                                    1usize => {
                                        ::convoke::__private::fill_plain(
                                            &mut slot_steps,
                                            &mut map,
                                            "steps",
                                        )?
                                    }
                                    2usize => {
                                        <Option<
                                            Id<User>,
                                        > as ::convoke::__private::Member>::fill(
                                            &mut slot_by,
                                            &mut map,
                                            "by",
                                        )?
                                    }
                                    _ => ::convoke::__private::skip(&mut map)?,
                                }
                            }
                            ::core::result::Result::Ok(Event::HasMoved {
                                to: ::convoke::__private::Unwrap::unwrap_plain(
                                    ::convoke::__private::given_plain(slot_to, "to")?,
                                ),
                                r#steps: match ::core::option::Option::flatten(slot_steps) {
                                    ::core::option::Option::Some(given) => {
                                        ::convoke::__private::Unwrap::unwrap_plain(given)
                                    }
                                    ::core::option::Option::None => {
                                        let value: i64 = 1;
                                        value
                                    }
                                },
                                by: <Option<
                                    Id<User>,
                                > as ::convoke::__private::Member>::given(slot_by, "by")?,
                            })
                        }
                        _ => {
                            const __NAMES: &[&::core::primitive::str] = &[];
                            while let ::core::option::Option::Some(place) = ::convoke::__private::serde::de::MapAccess::next_key_seed(
                                &mut map,
                                ::convoke::__private::MemberName(__NAMES),
                            )? {
                                match place {
                                    _ => ::convoke::__private::skip(&mut map)?,
                                }
                            }
                            ::core::result::Result::Ok(Event::Closed {})
                        }
                    }
                }
            }
            ::convoke::__private::serde::Deserializer::deserialize_map(
                deserializer,
                __Members,
            )
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::Column for Event {
        const TYPE: ::convoke::__private::ColumnType = ::convoke::__private::ColumnType::Json;
        fn to_value(&self) -> ::convoke::__private::Value {
            ::convoke::__private::json_to_value(self)
        }
        fn from_value(
            value: ::convoke::__private::ValueRef<'_>,
        ) -> ::core::result::Result<Self, ::std::string::String> {
            ::convoke::__private::json_from_value(value)
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::serde::Serialize for Event {
        fn serialize<__S: ::convoke::__private::serde::Serializer>(
            &self,
            serializer: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            match self {
                Event::HasMoved { to: field_to, r#steps: field_steps, by: field_by } => {
                    let mut object = ::convoke::__private::serde::Serializer::serialize_struct(
                        serializer,
                        "Event",
                        3usize
                            + ::core::option::Option::is_some(&*field_by)
                                as ::core::primitive::usize,
                    )?;
                    ::convoke::__private::serde::ser::SerializeStruct::serialize_field(
                        &mut object,
                        "kind",
                        "hasMoved",
                    )?;
                    <String as ::convoke::__private::OutMember>::write(
                        &*field_to,
                        &mut object,
                        "to",
                    )?;
                    <i64 as ::convoke::__private::OutMember>::write(
                        &*field_steps,
                        &mut object,
                        "steps",
                    )?;
                    if ::core::option::Option::is_some(&*field_by) {
                        <Option<
                            Id<User>,
                        > as ::convoke::__private::OutMember>::write(
                            &*field_by,
                            &mut object,
                            "by",
                        )?;
                    }
                    ::convoke::__private::serde::ser::SerializeStruct::end(object)
                }
                Event::Closed {} => {
                    let mut object = ::convoke::__private::serde::Serializer::serialize_struct(
                        serializer,
                        "Event",
                        1usize,
                    )?;
                    ::convoke::__private::serde::ser::SerializeStruct::serialize_field(
                        &mut object,
                        "kind",
                        "shut",
                    )?;
                    ::convoke::__private::serde::ser::SerializeStruct::end(object)
                }
            }
        }
    }
    struct __HasMoved;
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for __HasMoved {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "EventHasMoved"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "Event::HasMoved"),
            )
        }
        fn json_schema(
            generator: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            ::convoke::__private::ObjectSchema::new("It moved.")
                .tag("kind", "hasMoved")
                .required(
                    generator,
                    "to",
                    "Target.",
                    <String as ::convoke::__private::OutMember>::schema,
                )
                .or(
                    generator,
                    "steps",
                    "",
                    <i64 as ::convoke::__private::OutMember>::schema,
                    <i64 as ::convoke::__private::OutMember>::json(
                        &{
                            let value: i64 = 1;
                            value
                        },
                    ),
                )
                .optional(
                    generator,
                    "by",
                    "",
                    <Id<User> as ::convoke::__private::OutMember>::schema,
                )
                .finish()
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedType { name : < __HasMoved as
        ::convoke::__private::schemars::JsonSchema > ::schema_name, id :
        ::core::concat!(::core::module_path!(), "::", "Event::HasMoved"), file :
        ::core::file!(), line : ::core::line!(), }
    }
    struct __Closed;
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for __Closed {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "EventClosed"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "Event::Closed"),
            )
        }
        fn json_schema(
            generator: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            let _ = generator;
            ::convoke::__private::ObjectSchema::new("").tag("kind", "shut").finish()
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedType { name : < __Closed as
        ::convoke::__private::schemars::JsonSchema > ::schema_name, id :
        ::core::concat!(::core::module_path!(), "::", "Event::Closed"), file :
        ::core::file!(), line : ::core::line!(), }
    }
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for Event {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "Event"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "Event"),
            )
        }
        fn json_schema(
            generator: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            ::convoke::__private::UnionSchema::new("An event.", "kind")
                .variant::<__HasMoved>(generator, "hasMoved")
                .variant::<__Closed>(generator, "shut")
                .finish()
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedType { name : < Event as
        ::convoke::__private::schemars::JsonSchema > ::schema_name, id :
        ::core::concat!(::core::module_path!(), "::", "Event"), file : ::core::file!(),
        line : ::core::line!(), }
    }
};
#[::core::prelude::v1::derive(
    ::core::clone::Clone,
    ::core::fmt::Debug,
    ::core::cmp::PartialEq
)]
/// An event.
pub enum Event {
    /// It moved.
    HasMoved {
        /// Target.
        to: String,
        r#steps: i64,
        by: Option<Id<User>>,
    },
    Closed,
}
