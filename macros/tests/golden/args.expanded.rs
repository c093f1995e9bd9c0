const _: () = {
    #[automatically_derived]
    impl<'de> ::convoke::__private::serde::Deserialize<'de> for Listing {
        fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
            deserializer: __D,
        ) -> ::core::result::Result<Self, __D::Error> {
            struct __Members;
            impl<'de> ::convoke::__private::serde::de::Visitor<'de> for __Members {
                type Value = Listing;
                fn expecting(
                    &self,
                    f: &mut ::core::fmt::Formatter<'_>,
                ) -> ::core::fmt::Result {
                    f.write_str("an object")
                }
                fn visit_map<__A: ::convoke::__private::serde::de::MapAccess<'de>>(
                    self,
                    mut map: __A,
                ) -> ::core::result::Result<Listing, __A::Error> {
                    const __NAMES: &[&::core::primitive::str] = &[
                        "userId",
                        "bio",
                        "limit",
                        "type",
                        "offset",
                    ];
                    let mut slot_user_id: ::core::option::Option<Id<User>> = ::core::option::Option::None;
                    let mut slot_bio: ::core::option::Option<Option<Bio>> = ::core::option::Option::None;
                    let mut slot_limit: ::core::option::Option<
                        ::core::option::Option<::convoke::__private::AsPlain<i64>>,
                    > = ::core::option::Option::None;
                    let mut slot_type: ::core::option::Option<
                        ::convoke::__private::AsPlain<String>,
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
                                    &mut slot_user_id,
                                    &mut map,
                                    "userId",
                                )?
                            }
                            1usize => {
                                <Option<
                                    Bio,
                                > as ::convoke::__private::Member>::fill(
                                    &mut slot_bio,
                                    &mut map,
                                    "bio",
                                )?
                            }
                            2usize => {
                                ::convoke::__private::fill_plain(
                                    &mut slot_limit,
                                    &mut map,
                                    "limit",
                                )?
                            }
                            3usize => {
                                ::convoke::__private::fill_plain(
                                    &mut slot_type,
                                    &mut map,
                                    "type",
                                )?
                            }
                            _ => ::convoke::__private::skip(&mut map)?,
                        }
                    }
                    ::core::result::Result::Ok(Listing {
                        user_id: <Id<
                            User,
                        > as ::convoke::__private::Member>::given(
                            slot_user_id,
                            "userId",
                        )?,
                        bio: <Option<
                            Bio,
                        > as ::convoke::__private::Member>::given(slot_bio, "bio")?,
                        limit: match ::core::option::Option::flatten(slot_limit) {
                            ::core::option::Option::Some(given) => {
                                ::convoke::__private::Unwrap::unwrap_plain(given)
                            }
                            ::core::option::Option::None => {
                                let value: i64 = 20;
                                value
                            }
                        },
                        r#type: ::convoke::__private::Unwrap::unwrap_plain(
                            ::convoke::__private::given_plain(slot_type, "type")?,
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
    impl ::convoke::__private::serde::Serialize for Listing {
        fn serialize<__S: ::convoke::__private::serde::Serializer>(
            &self,
            serializer: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            let mut object = ::convoke::__private::serde::Serializer::serialize_struct(
                serializer,
                "Listing",
                3usize
                    + ::core::option::Option::is_some(&self.bio)
                        as ::core::primitive::usize,
            )?;
            <Id<
                User,
            > as ::convoke::__private::OutMember>::write(
                &self.user_id,
                &mut object,
                "userId",
            )?;
            if ::core::option::Option::is_some(&self.bio) {
                <Option<
                    Bio,
                > as ::convoke::__private::OutMember>::write(
                    &self.bio,
                    &mut object,
                    "bio",
                )?;
            }
            <i64 as ::convoke::__private::OutMember>::write(
                &self.limit,
                &mut object,
                "limit",
            )?;
            <String as ::convoke::__private::OutMember>::write(
                &self.r#type,
                &mut object,
                "type",
            )?;
            ::convoke::__private::serde::ser::SerializeStruct::end(object)
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for Listing {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "Listing"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "Listing"),
            )
        }
        fn json_schema(
            generator: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            ::convoke::__private::ObjectSchema::new("The arguments of a listing.")
                .required(
                    generator,
                    "userId",
                    "Owner.",
                    <Id<User> as ::convoke::__private::OutMember>::schema,
                )
                .optional(
                    generator,
                    "bio",
                    "",
                    <Bio as ::convoke::__private::OutMember>::schema,
                )
                .or(
                    generator,
                    "limit",
                    "",
                    <i64 as ::convoke::__private::OutMember>::schema,
                    <i64 as ::convoke::__private::OutMember>::json(
                        &{
                            let value: i64 = 20;
                            value
                        },
                    ),
                )
                .required(
                    generator,
                    "type",
                    "",
                    <String as ::convoke::__private::OutMember>::schema,
                )
                .finish()
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedType { name : < Listing as
        ::convoke::__private::schemars::JsonSchema > ::schema_name, id :
        ::core::concat!(::core::module_path!(), "::", "Listing"), file : ::core::file!(),
        line : ::core::line!(), }
    }
    #[automatically_derived]
    impl ::convoke::__private::Args for Listing {}
};
#[::core::prelude::v1::derive(::core::clone::Clone, ::core::fmt::Debug)]
/// The arguments of a listing.
pub struct Listing {
    /// Owner.
    pub user_id: Id<User>,
    pub bio: Option<Bio>,
    pub limit: i64,
    pub r#type: String,
}
