const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::Named for QueueEntry {
        const NAME: &'static ::core::primitive::str = "queueEntries";
        const PREFIX: &'static ::core::primitive::str = "queue";
    }
    #[automatically_derived]
    impl ::convoke::__private::Table for QueueEntry {
        const DEF: &'static ::convoke::__private::TableDef = &::convoke::__private::TableDef {
            name: "queueEntries",
            prefix: "queue",
            fields: &[
                ::convoke::__private::FieldDef {
                    name: "userId",
                    column: <Id<User> as ::convoke::__private::Column>::TYPE,
                    nullable: <Id<User> as ::convoke::__private::Column>::NULLABLE,
                    default: ::core::option::Option::None,
                    references: <Id<User> as ::convoke::__private::Column>::REFERENCES,
                    meaning: <Id<User> as ::convoke::__private::Column>::MEANING,
                    retired: false,
                    schema: ::convoke::__private::field_schema::<Id<User>>,
                    write_json: <Id<User> as ::convoke::__private::Column>::write_json,
                    check: <Id<User> as ::convoke::__private::Column>::check,
                    accept: <Id<User> as ::convoke::__private::Column>::accept,
                },
                ::convoke::__private::FieldDef {
                    name: "status",
                    column: <Status as ::convoke::__private::Column>::TYPE,
                    nullable: <Status as ::convoke::__private::Column>::NULLABLE,
                    default: ::core::option::Option::Some(|| <Status as ::convoke::__private::Column>::to_value(
                        &{
                            let value: Status = Status::Waiting;
                            value
                        },
                    )),
                    references: <Status as ::convoke::__private::Column>::REFERENCES,
                    meaning: <Status as ::convoke::__private::Column>::MEANING,
                    retired: false,
                    schema: ::convoke::__private::field_schema::<Status>,
                    write_json: <Status as ::convoke::__private::Column>::write_json,
                    check: <Status as ::convoke::__private::Column>::check,
                    accept: <Status as ::convoke::__private::Column>::accept,
                },
                ::convoke::__private::FieldDef {
                    name: "usageCount",
                    column: <i64 as ::convoke::__private::Column>::TYPE,
                    nullable: <i64 as ::convoke::__private::Column>::NULLABLE,
                    default: ::core::option::Option::None,
                    references: <i64 as ::convoke::__private::Column>::REFERENCES,
                    meaning: <i64 as ::convoke::__private::Column>::MEANING,
                    retired: false,
                    schema: ::convoke::__private::field_schema::<i64>,
                    write_json: <i64 as ::convoke::__private::Column>::write_json,
                    check: <i64 as ::convoke::__private::Column>::check,
                    accept: <i64 as ::convoke::__private::Column>::accept,
                },
                ::convoke::__private::FieldDef {
                    name: "old",
                    column: <Option<String> as ::convoke::__private::Column>::TYPE,
                    nullable: <Option<String> as ::convoke::__private::Column>::NULLABLE,
                    default: ::core::option::Option::None,
                    references: <Option<
                        String,
                    > as ::convoke::__private::Column>::REFERENCES,
                    meaning: <Option<String> as ::convoke::__private::Column>::MEANING,
                    retired: true,
                    schema: ::convoke::__private::field_schema::<String>,
                    write_json: <Option<
                        String,
                    > as ::convoke::__private::Column>::write_json,
                    check: <Option<String> as ::convoke::__private::Column>::check,
                    accept: <Option<String> as ::convoke::__private::Column>::accept,
                },
                ::convoke::__private::FieldDef {
                    name: "endedAt",
                    column: <Option<Millis> as ::convoke::__private::Column>::TYPE,
                    nullable: <Option<Millis> as ::convoke::__private::Column>::NULLABLE,
                    default: ::core::option::Option::None,
                    references: <Option<
                        Millis,
                    > as ::convoke::__private::Column>::REFERENCES,
                    meaning: <Option<Millis> as ::convoke::__private::Column>::MEANING,
                    retired: false,
                    schema: ::convoke::__private::field_schema::<Millis>,
                    write_json: <Option<
                        Millis,
                    > as ::convoke::__private::Column>::write_json,
                    check: <Option<Millis> as ::convoke::__private::Column>::check,
                    accept: <Option<Millis> as ::convoke::__private::Column>::accept,
                },
            ],
            indexes: &[
                ::convoke::__private::IndexDef {
                    name: "by_user",
                    keys: &[
                        ::convoke::__private::KeyDef {
                            field: 0usize,
                            descending: false,
                        },
                        ::convoke::__private::KeyDef {
                            field: 1usize,
                            descending: false,
                        },
                    ],
                    unique: false,
                    when: ::core::option::Option::None,
                },
                ::convoke::__private::IndexDef {
                    name: "one_waiting",
                    keys: &[
                        ::convoke::__private::KeyDef {
                            field: 0usize,
                            descending: false,
                        },
                    ],
                    unique: true,
                    when: ::core::option::Option::Some(
                        ::convoke::__private::Condition::Equals(
                            "status",
                            ::convoke::__private::Literal::checked(
                                ::convoke::__private::Literal::Text("waiting"),
                                <Status as ::convoke::__private::Column>::TYPE,
                            ),
                        ),
                    ),
                },
                ::convoke::__private::IndexDef {
                    name: "by_use",
                    keys: &[
                        ::convoke::__private::KeyDef {
                            field: 2usize,
                            descending: true,
                        },
                    ],
                    unique: false,
                    when: ::core::option::Option::None,
                },
            ],
            file: ::core::file!(),
            line: ::core::line!(),
        }
            .checked();
        fn encode(&self) -> ::std::vec::Vec<::convoke::__private::Value> {
            ::core::convert::From::from([
                <Id<User> as ::convoke::__private::Column>::to_value(&self.user_id),
                <Status as ::convoke::__private::Column>::to_value(&self.status),
                <i64 as ::convoke::__private::Column>::to_value(&self.usage_count),
                ::convoke::__private::Value::Null,
                <Option<
                    Millis,
                > as ::convoke::__private::Column>::to_value(&self.ended_at),
            ])
        }
        fn changes(
            &self,
            before: &[::convoke::__private::Value],
        ) -> ::std::vec::Vec<(::core::primitive::usize, ::convoke::__private::Value)> {
            let mut changes = ::std::vec::Vec::new();
            <Id<
                User,
            > as ::convoke::__private::Column>::add_change(
                &self.user_id,
                &mut changes,
                before,
                0usize,
            );
            <Status as ::convoke::__private::Column>::add_change(
                &self.status,
                &mut changes,
                before,
                1usize,
            );
            <i64 as ::convoke::__private::Column>::add_change(
                &self.usage_count,
                &mut changes,
                before,
                2usize,
            );
            <Option<
                Millis,
            > as ::convoke::__private::Column>::add_change(
                &self.ended_at,
                &mut changes,
                before,
                4usize,
            );
            changes
        }
        fn decode(
            row: &dyn ::convoke::__private::Row,
        ) -> ::core::result::Result<Self, ::convoke::__private::StoreError> {
            ::core::result::Result::Ok(Self {
                user_id: <Id<
                    User,
                > as ::convoke::__private::Column>::decode(
                    row,
                    <Self as ::convoke::__private::Table>::DEF,
                    0usize,
                )?,
                status: <Status as ::convoke::__private::Column>::decode(
                    row,
                    <Self as ::convoke::__private::Table>::DEF,
                    1usize,
                )?,
                usage_count: <i64 as ::convoke::__private::Column>::decode(
                    row,
                    <Self as ::convoke::__private::Table>::DEF,
                    2usize,
                )?,
                ended_at: <Option<
                    Millis,
                > as ::convoke::__private::Column>::decode(
                    row,
                    <Self as ::convoke::__private::Table>::DEF,
                    4usize,
                )?,
            })
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::serde::Serialize for QueueEntry {
        fn serialize<__S: ::convoke::__private::serde::Serializer>(
            &self,
            serializer: __S,
        ) -> ::core::result::Result<__S::Ok, __S::Error> {
            let mut object = ::convoke::__private::serde::Serializer::serialize_struct(
                serializer,
                "QueueEntry",
                3usize
                    + ::core::option::Option::is_some(&self.ended_at)
                        as ::core::primitive::usize,
            )?;
            <Id<
                User,
            > as ::convoke::__private::OutMember>::write(
                &self.user_id,
                &mut object,
                "userId",
            )?;
            <Status as ::convoke::__private::OutMember>::write(
                &self.status,
                &mut object,
                "status",
            )?;
            <i64 as ::convoke::__private::OutMember>::write(
                &self.usage_count,
                &mut object,
                "usageCount",
            )?;
            if ::core::option::Option::is_some(&self.ended_at) {
                <Option<
                    Millis,
                > as ::convoke::__private::OutMember>::write(
                    &self.ended_at,
                    &mut object,
                    "endedAt",
                )?;
            }
            ::convoke::__private::serde::ser::SerializeStruct::end(object)
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::schemars::JsonSchema for QueueEntry {
        fn schema_name() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Owned(
                ::convoke::__private::type_name(::core::module_path!(), "QueueEntry"),
            )
        }
        fn schema_id() -> ::std::borrow::Cow<'static, ::core::primitive::str> {
            ::std::borrow::Cow::Borrowed(
                ::core::concat!(::core::module_path!(), "::", "QueueEntry"),
            )
        }
        fn json_schema(
            generator: &mut ::convoke::__private::schemars::SchemaGenerator,
        ) -> ::convoke::__private::schemars::Schema {
            ::convoke::__private::ObjectSchema::new("A wish to meet.")
                .required(
                    generator,
                    "userId",
                    "",
                    <Id<User> as ::convoke::__private::OutMember>::schema,
                )
                .required(
                    generator,
                    "status",
                    "",
                    <Status as ::convoke::__private::OutMember>::schema,
                )
                .required(
                    generator,
                    "usageCount",
                    "",
                    <i64 as ::convoke::__private::OutMember>::schema,
                )
                .optional(
                    generator,
                    "endedAt",
                    "",
                    <Millis as ::convoke::__private::OutMember>::schema,
                )
                .finish()
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedType { name : < QueueEntry as
        ::convoke::__private::schemars::JsonSchema > ::schema_name, id :
        ::core::concat!(::core::module_path!(), "::", "QueueEntry"), file :
        ::core::file!(), line : ::core::line!(), }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedTable(< QueueEntry as ::convoke::__private::Table
        > ::DEF)
    }
};
const _: () = {
    #[allow(
        non_camel_case_types,
        dead_code,
        reason = "it represents the field of its name"
    )]
    pub struct field_user_id;
    #[automatically_derived]
    impl ::convoke::__private::Field for field_user_id {
        type Type = Id<User>;
        const NAME: &'static ::core::primitive::str = "userId";
    }
    #[allow(
        non_camel_case_types,
        dead_code,
        reason = "it represents the field of its name"
    )]
    pub struct field_status;
    #[automatically_derived]
    impl ::convoke::__private::Field for field_status {
        type Type = Status;
        const NAME: &'static ::core::primitive::str = "status";
    }
    #[allow(
        non_camel_case_types,
        dead_code,
        reason = "it represents the field of its name"
    )]
    pub struct field_usage_count;
    #[automatically_derived]
    impl ::convoke::__private::Field for field_usage_count {
        type Type = i64;
        const NAME: &'static ::core::primitive::str = "usageCount";
    }
    #[allow(non_camel_case_types, reason = "it represents the index of its name")]
    #[::core::prelude::v1::derive(::core::clone::Clone, ::core::marker::Copy)]
    pub struct by_user;
    #[automatically_derived]
    impl ::convoke::__private::Index for by_user {
        type Table = QueueEntry;
        type Fields = (field_user_id, (field_status, ()));
        const DEF: &'static ::convoke::__private::IndexDef = &<QueueEntry as ::convoke::__private::Table>::DEF
            .indexes[0usize];
    }
    #[allow(non_camel_case_types, reason = "it represents the index of its name")]
    #[::core::prelude::v1::derive(::core::clone::Clone, ::core::marker::Copy)]
    pub struct one_waiting;
    #[automatically_derived]
    impl ::convoke::__private::Index for one_waiting {
        type Table = QueueEntry;
        type Fields = (field_user_id, ());
        const DEF: &'static ::convoke::__private::IndexDef = &<QueueEntry as ::convoke::__private::Table>::DEF
            .indexes[1usize];
    }
    #[automatically_derived]
    impl ::convoke::__private::Unique for one_waiting {}
    #[allow(non_camel_case_types, reason = "it represents the index of its name")]
    #[::core::prelude::v1::derive(::core::clone::Clone, ::core::marker::Copy)]
    pub struct by_use;
    #[automatically_derived]
    impl ::convoke::__private::Index for by_use {
        type Table = QueueEntry;
        type Fields = (field_usage_count, ());
        const DEF: &'static ::convoke::__private::IndexDef = &<QueueEntry as ::convoke::__private::Table>::DEF
            .indexes[2usize];
    }
    #[allow(
        non_upper_case_globals,
        dead_code,
        reason = "each represents the index of its name"
    )]
    impl QueueEntry {
        /// Index on `user_id`, `status`.
        pub const by_user: by_user = by_user;
        /// Unique index on `user_id` of the rows whose `status` is `"waiting"`.
        pub const one_waiting: one_waiting = one_waiting;
        /// Index on `usage_count`, greatest first.
        pub const by_use: by_use = by_use;
    }
};
#[::core::prelude::v1::derive(
    ::core::clone::Clone,
    ::core::fmt::Debug,
    ::core::cmp::PartialEq
)]
/// A wish to meet.
pub struct QueueEntry {
    pub user_id: Id<User>,
    pub status: Status,
    pub usage_count: i64,
    pub ended_at: Option<Millis>,
}
