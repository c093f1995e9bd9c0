const _: () = {
    static __PATTERN: ::convoke::__private::Pattern = ::convoke::__private::Pattern::new(
        "^[^<]*$",
    );
    static __RULE: ::convoke::__private::TextRule = ::convoke::__private::TextRule {
        trim: true,
        chars_min: 1,
        chars_max: 100,
        too_short: ::core::option::Option::Some("Display name cannot be empty"),
        pattern: ::core::option::Option::Some(&__PATTERN),
        check: ::core::option::Option::Some(tidy),
        ..::convoke::__private::TextRule::ANY
    };
    impl DisplayName {
        /// Largest number of characters.
        #[allow(dead_code, reason = "only some limits are read outside of their rule")]
        pub const CHARS_MAX: ::core::primitive::usize = 100;
        /// Creates the value, if `text` follows its rule.
        ///
        /// # Errors
        /// The rule that `text` breaks.
        pub fn new(
            text: impl ::core::convert::AsRef<
                ::core::primitive::str,
            > + ::core::convert::Into<::std::string::String>,
        ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
            __RULE.apply(text).map(Self)
        }
        /// Returns the text.
        pub fn as_str(&self) -> &::core::primitive::str {
            &self.0
        }
        /// Converts it into the text.
        pub fn into_string(self) -> ::std::string::String {
            self.0
        }
    }
    #[automatically_derived]
    impl ::core::ops::Deref for DisplayName {
        type Target = ::core::primitive::str;
        fn deref(&self) -> &::core::primitive::str {
            &self.0
        }
    }
    #[automatically_derived]
    impl ::core::convert::AsRef<::core::primitive::str> for DisplayName {
        fn as_ref(&self) -> &::core::primitive::str {
            &self.0
        }
    }
    #[automatically_derived]
    impl ::core::fmt::Display for DisplayName {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            f.pad(&self.0)
        }
    }
    #[automatically_derived]
    impl ::core::convert::From<DisplayName> for ::std::string::String {
        fn from(value: DisplayName) -> ::std::string::String {
            value.0
        }
    }
    #[automatically_derived]
    impl ::core::str::FromStr for DisplayName {
        type Err = ::convoke::__private::Invalid;
        fn from_str(
            text: &::core::primitive::str,
        ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
            Self::new(text)
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::serde::Serialize for DisplayName {
        fn serialize<__S: ::convoke::__private::serde::Serializer>(
            &self,
            serializer: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            ::convoke::__private::serde::Serialize::serialize(&self.0, serializer)
        }
    }
    #[automatically_derived]
    impl<'de> ::convoke::__private::serde::Deserialize<'de> for DisplayName {
        fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
            deserializer: __D,
        ) -> ::core::result::Result<Self, __D::Error> {
            ::convoke::__private::text(deserializer, &__RULE).map(Self)
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for DisplayName {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "DisplayName"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "DisplayName"),
            )
        }
        fn inline_schema() -> ::core::primitive::bool {
            true
        }
        fn json_schema(
            _: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            __RULE.schema("The name that others see.")
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::Column for DisplayName {
        const TYPE: ::convoke::__private::ColumnType = <String as ::convoke::__private::Column>::TYPE;
        const MEANING: ::convoke::__private::Meaning = <String as ::convoke::__private::Column>::MEANING;
        fn to_value(&self) -> ::convoke::__private::Value {
            <String as ::convoke::__private::Column>::to_value(&self.0)
        }
        fn from_value(
            value: ::convoke::__private::ValueRef<'_>,
        ) -> ::core::result::Result<Self, ::std::string::String> {
            <String as ::convoke::__private::Column>::from_value(value).map(Self)
        }
        fn accept(
            value: ::convoke::__private::ValueRef<'_>,
        ) -> ::core::result::Result<::convoke::__private::Value, ::std::string::String> {
            let value = <String as ::convoke::__private::Column>::from_value(value)?;
            match Self::new(value) {
                ::core::result::Result::Ok(value) => {
                    ::core::result::Result::Ok(
                        <Self as ::convoke::__private::Column>::to_value(&value),
                    )
                }
                ::core::result::Result::Err(invalid) => {
                    ::core::result::Result::Err(
                        ::std::string::ToString::to_string(&invalid),
                    )
                }
            }
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::TextColumn for DisplayName {}
    #[automatically_derived]
    impl ::convoke::__private::FromLiteral<&'static ::core::primitive::str>
    for DisplayName {
        fn from_literal(
            literal: &'static ::core::primitive::str,
        ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
            Self::new(literal)
        }
    }
};
#[::core::prelude::v1::derive(
    ::core::clone::Clone,
    ::core::fmt::Debug,
    ::core::cmp::PartialEq,
    ::core::cmp::Eq,
    ::core::cmp::PartialOrd,
    ::core::cmp::Ord,
    ::core::hash::Hash
)]
/// The name that others see.
pub struct DisplayName(String);
const _: () = {
    static __RULE: ::convoke::__private::IntegerRule = ::convoke::__private::IntegerRule {
        min: 13,
        max: 120,
        ..::convoke::__private::IntegerRule::ANY
    };
    impl Age {
        /// Creates the value, if `number` follows its rule.
        ///
        /// # Errors
        /// The rule that `number` breaks.
        pub fn new(
            number: i64,
        ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
            __RULE.apply(number).map(Self)
        }
        /// Returns the number.
        pub const fn get(self) -> i64 {
            self.0
        }
    }
    #[automatically_derived]
    impl ::core::fmt::Display for Age {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            ::core::fmt::Display::fmt(&self.0, f)
        }
    }
    #[automatically_derived]
    impl ::core::convert::From<Age> for i64 {
        fn from(value: Age) -> i64 {
            value.0
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::serde::Serialize for Age {
        fn serialize<__S: ::convoke::__private::serde::Serializer>(
            &self,
            serializer: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            ::convoke::__private::serde::Serialize::serialize(&self.0, serializer)
        }
    }
    #[automatically_derived]
    impl<'de> ::convoke::__private::serde::Deserialize<'de> for Age {
        fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
            deserializer: __D,
        ) -> ::core::result::Result<Self, __D::Error> {
            ::convoke::__private::integer(deserializer, &__RULE).map(Self)
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for Age {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "Age"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "Age"),
            )
        }
        fn inline_schema() -> ::core::primitive::bool {
            true
        }
        fn json_schema(
            _: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            __RULE.schema("")
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::Column for Age {
        const TYPE: ::convoke::__private::ColumnType = <i64 as ::convoke::__private::Column>::TYPE;
        const MEANING: ::convoke::__private::Meaning = <i64 as ::convoke::__private::Column>::MEANING;
        fn to_value(&self) -> ::convoke::__private::Value {
            <i64 as ::convoke::__private::Column>::to_value(&self.0)
        }
        fn from_value(
            value: ::convoke::__private::ValueRef<'_>,
        ) -> ::core::result::Result<Self, ::std::string::String> {
            <i64 as ::convoke::__private::Column>::from_value(value).map(Self)
        }
        fn accept(
            value: ::convoke::__private::ValueRef<'_>,
        ) -> ::core::result::Result<::convoke::__private::Value, ::std::string::String> {
            let value = <i64 as ::convoke::__private::Column>::from_value(value)?;
            match Self::new(value) {
                ::core::result::Result::Ok(value) => {
                    ::core::result::Result::Ok(
                        <Self as ::convoke::__private::Column>::to_value(&value),
                    )
                }
                ::core::result::Result::Err(invalid) => {
                    ::core::result::Result::Err(
                        ::std::string::ToString::to_string(&invalid),
                    )
                }
            }
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::FromLiteral<::core::primitive::i128> for Age {
        fn from_literal(
            literal: ::core::primitive::i128,
        ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
            __RULE
                .apply(::convoke::__private::integer_literal(literal)?)
                .map(|number| Self(number as i64))
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
pub struct Age(i64);
const _: () = {
    static __RULE: ::convoke::__private::NumberRule = ::convoke::__private::NumberRule {
        min: 0.0,
        ..::convoke::__private::NumberRule::ANY
    };
    impl Weight {
        /// Creates the value, if `number` follows its rule.
        ///
        /// # Errors
        /// The rule that `number` breaks.
        fn new(
            number: f64,
        ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
            __RULE.apply(number).map(Self)
        }
        /// Returns the number.
        const fn get(self) -> f64 {
            self.0
        }
    }
    #[automatically_derived]
    impl ::core::fmt::Display for Weight {
        fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
            ::core::fmt::Display::fmt(&self.0, f)
        }
    }
    #[automatically_derived]
    impl ::core::convert::From<Weight> for f64 {
        fn from(value: Weight) -> f64 {
            value.0
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::serde::Serialize for Weight {
        fn serialize<__S: ::convoke::__private::serde::Serializer>(
            &self,
            serializer: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            ::convoke::__private::serde::Serialize::serialize(&self.0, serializer)
        }
    }
    #[automatically_derived]
    impl<'de> ::convoke::__private::serde::Deserialize<'de> for Weight {
        fn deserialize<__D: ::convoke::__private::serde::Deserializer<'de>>(
            deserializer: __D,
        ) -> ::core::result::Result<Self, __D::Error> {
            ::convoke::__private::number(deserializer, &__RULE).map(Self)
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for Weight {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "Weight"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "Weight"),
            )
        }
        fn inline_schema() -> ::core::primitive::bool {
            true
        }
        fn json_schema(
            _: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            __RULE.schema("")
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::Column for Weight {
        const TYPE: ::convoke::__private::ColumnType = <f64 as ::convoke::__private::Column>::TYPE;
        const MEANING: ::convoke::__private::Meaning = <f64 as ::convoke::__private::Column>::MEANING;
        fn to_value(&self) -> ::convoke::__private::Value {
            <f64 as ::convoke::__private::Column>::to_value(&self.0)
        }
        fn from_value(
            value: ::convoke::__private::ValueRef<'_>,
        ) -> ::core::result::Result<Self, ::std::string::String> {
            <f64 as ::convoke::__private::Column>::from_value(value).map(Self)
        }
        fn accept(
            value: ::convoke::__private::ValueRef<'_>,
        ) -> ::core::result::Result<::convoke::__private::Value, ::std::string::String> {
            let value = <f64 as ::convoke::__private::Column>::from_value(value)?;
            match Self::new(value) {
                ::core::result::Result::Ok(value) => {
                    ::core::result::Result::Ok(
                        <Self as ::convoke::__private::Column>::to_value(&value),
                    )
                }
                ::core::result::Result::Err(invalid) => {
                    ::core::result::Result::Err(
                        ::std::string::ToString::to_string(&invalid),
                    )
                }
            }
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::FromLiteral<::core::primitive::i128> for Weight {
        fn from_literal(
            literal: ::core::primitive::i128,
        ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
            Self::new(literal as ::core::primitive::f64)
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::FromLiteral<::core::primitive::f64> for Weight {
        fn from_literal(
            literal: ::core::primitive::f64,
        ) -> ::core::result::Result<Self, ::convoke::__private::Invalid> {
            Self::new(literal)
        }
    }
};
#[::core::prelude::v1::derive(
    ::core::clone::Clone,
    ::core::marker::Copy,
    ::core::fmt::Debug,
    ::core::cmp::PartialEq,
    ::core::cmp::PartialOrd
)]
struct Weight(f64);
