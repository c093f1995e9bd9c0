const _: () = {
    const __NAMES: &[&::core::primitive::str] = &["scheduled", "on"];
    impl MeetingState {
        /// All values, in the order of their declaration.
        pub const ALL: &'static [Self] = &[Self::Scheduled, Self::Active];
        /// Returns its text on the wire and in the database.
        pub const fn as_str(self) -> &'static ::core::primitive::str {
            match self {
                Self::Scheduled => "scheduled",
                Self::Active => "on",
            }
        }
    }
    #[automatically_derived]
    impl ::core::fmt::Display for MeetingState {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            f.pad(self.as_str())
        }
    }
    #[automatically_derived]
    impl ::core::str::FromStr for MeetingState {
        type Err = ::convoke::__private::Invalid;
        fn from_str(
            text: &::core::primitive::str,
        ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
            ::convoke::__private::one_of(text, __NAMES).map(|place| Self::ALL[place])
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::serde::Serialize for MeetingState {
        fn serialize<__S: ::convoke::__private::serde::Serializer>(
            &self,
            serializer: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            ::convoke::__private::serde::Serializer::serialize_str(
                serializer,
                self.as_str(),
            )
        }
    }
    #[automatically_derived]
    impl<'de> ::convoke::__private::serde::Deserialize<'de> for MeetingState {
        fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
            deserializer: __D,
        ) -> ::core::result::Result<Self, __D::Error> {
            ::convoke::__private::choice(deserializer, __NAMES)
                .map(|place| Self::ALL[place])
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for MeetingState {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "MeetingState"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "MeetingState"),
            )
        }
        fn json_schema(
            _: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            ::convoke::__private::schema_one_of(
                "The state of a meeting.",
                __NAMES,
                &["Not begun.", ""],
            )
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedType { name : < MeetingState as
        ::convoke::__private::schemars::JsonSchema > ::schema_name, id :
        ::core::concat!(::core::module_path!(), "::", "MeetingState"), file :
        ::core::file!(), line : ::core::line!(), }
    }
    #[automatically_derived]
    impl ::convoke::__private::Column for MeetingState {
        const TYPE: ::convoke::__private::ColumnType = ::convoke::__private::ColumnType::Text;
        const MEANING: ::convoke::__private::Meaning = ::convoke::__private::Meaning::Choice(
            __NAMES,
        );
        fn to_value(&self) -> ::convoke::__private::Value {
            ::convoke::__private::text_to_value(self.as_str())
        }
        fn from_value(
            value: ::convoke::__private::ValueRef<'_>,
        ) -> ::core::result::Result<Self, ::std::string::String> {
            ::convoke::__private::choice_from_value(value, __NAMES)
                .map(|place| Self::ALL[place])
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::TextColumn for MeetingState {}
    #[automatically_derived]
    impl ::convoke::__private::FromLiteral<&'static ::core::primitive::str>
    for MeetingState {
        fn from_literal(
            literal: &'static ::core::primitive::str,
        ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
            ::core::str::FromStr::from_str(literal)
        }
    }
};
#[::core::prelude::v1::derive(
    ::core::clone::Clone,
    ::core::marker::Copy,
    ::core::fmt::Debug,
    ::core::cmp::PartialEq,
    ::core::cmp::Eq,
    ::core::cmp::PartialOrd,
    ::core::cmp::Ord,
    ::core::hash::Hash
)]
/// The state of a meeting.
pub enum MeetingState {
    /// Not begun.
    Scheduled,
    Active,
}
