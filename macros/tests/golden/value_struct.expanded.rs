const _: () = {
    #[automatically_derived]
    impl<'de> ::convoke::__private::serde::Deserialize<'de> for Person {
        fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
            deserializer: __D,
        ) -> ::core::result::Result<Self, __D::Error> {
            struct __Members;
            impl<'de> ::convoke::__private::serde::de::Visitor<'de> for __Members {
                type Value = Person;
                fn expecting(
                    &self,
                    f: &mut ::core::fmt::Formatter<'_>,
                ) -> ::core::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<__A: ::convoke::__private::serde::de::MapAccess<'de>>(
                    self,
                    mut map: __A,
                ) -> ::core::result::Result<Person, __A::Error> {
                    const __NAMES: &[&::core::primitive::str] = &["_id", "tags"];
                    let mut slot_id: ::core::option::Option<Id<User>> = ::core::option::Option::None;
                    let mut slot_tags: ::core::option::Option<
                        ::core::option::Option<
                            ::std::vec::Vec<::convoke::__private::AsPlain<String>>,
                        >,
                    > = ::core::option::Option::None;
                    while let ::core::option::Option::Some(place) = ::convoke::__private::serde::de::MapAccess::next_key_seed(
                        &mut map,
                        ::convoke::__private::MemberName(__NAMES),
                    )? {
                        match place {
                            0usize => {
                                <Id<
                                    User,
                                > as ::convoke::__private::Member>::fill(
                                    &mut slot_id,
                                    &mut map,
                                    "_id",
                                )?
                            }
                            1usize => {
                                ::convoke::__private::fill_plain(
                                    &mut slot_tags,
                                    &mut map,
                                    "tags",
                                )?
                            }
                            _ => ::convoke::__private::skip(&mut map)?,
                        }
                    }
                    ::core::result::Result::Ok(Person {
                        id: <Id<
                            User,
                        > as ::convoke::__private::Member>::given(slot_id, "_id")?,
                        tags: ::convoke::__private::Unwrap::unwrap_plain(
                            ::convoke::__private::given_plain(slot_tags, "tags")?,
                        ),
                    })
                }
            }
            ::convoke::__private::serde::Deserializer::deserialize_map(
                deserializer,
                __Members,
            )
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::serde::Serialize for Person {
        fn serialize<__S: ::convoke::__private::serde::Serializer>(
            &self,
            serializer: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            let mut object = ::convoke::__private::serde::Serializer::serialize_struct(
                serializer,
                "Person",
                1usize
                    + ::core::option::Option::is_some(&self.tags)
                        as ::core::primitive::usize,
            )?;
            <Id<
                User,
            > as ::convoke::__private::OutMember>::write(&self.id, &mut object, "_id")?;
            if ::core::option::Option::is_some(&self.tags) {
                <Option<
                    Vec<String>,
                > as ::convoke::__private::OutMember>::write(
                    &self.tags,
                    &mut object,
                    "tags",
                )?;
            }
            ::convoke::__private::serde::ser::SerializeStruct::end(object)
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for Person {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "Person"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "Person"),
            )
        }
        fn json_schema(
            generator: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            ::convoke::__private::ObjectSchema::new("A person as others see it.")
                .required(
                    generator,
                    "_id",
                    "",
                    <Id<User> as ::convoke::__private::OutMember>::schema,
                )
                .optional(
                    generator,
                    "tags",
                    "",
                    <Vec<String> as ::convoke::__private::OutMember>::schema,
                )
                .finish()
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedType { name : < Person as
        ::convoke::__private::schemars::JsonSchema > ::schema_name, id :
        ::core::concat!(::core::module_path!(), "::", "Person"), file : ::core::file!(),
        line : ::core::line!(), }
    }
    #[automatically_derived]
    impl ::convoke::__private::Column for Person {
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
};
#[::core::prelude::v1::derive(
    ::core::clone::Clone,
    ::core::fmt::Debug,
    ::core::cmp::PartialEq
)]
/// A person as others see it.
#[derive(Eq)]
pub struct Person {
    pub id: Id<User>,
    pub tags: Option<Vec<String>>,
}
const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::serde::Serialize for Found {
        fn serialize<__S: ::convoke::__private::serde::Serializer>(
            &self,
            serializer: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            let mut object = ::convoke::__private::serde::Serializer::serialize_struct(
                serializer,
                "Found",
                1usize,
            )?;
            <Page<
                Person,
            > as ::convoke::__private::OutMember>::write(
                &self.rows,
                &mut object,
                "rows",
            )?;
            ::convoke::__private::serde::ser::SerializeStruct::end(object)
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for Found {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "Found"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "Found"),
            )
        }
        fn json_schema(
            generator: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            ::convoke::__private::ObjectSchema::new("")
                .required(
                    generator,
                    "rows",
                    "",
                    <Page<Person> as ::convoke::__private::OutMember>::schema,
                )
                .finish()
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedType { name : < Found as
        ::convoke::__private::schemars::JsonSchema > ::schema_name, id :
        ::core::concat!(::core::module_path!(), "::", "Found"), file : ::core::file!(),
        line : ::core::line!(), }
    }
};
#[::core::prelude::v1::derive(::core::clone::Clone, ::core::fmt::Debug)]
struct Found {
    rows: Page<Person>,
}
