/// Lists the participants of a meeting.
///
/// # Errors
/// - `FORBIDDEN`: the caller does not.
pub fn list_participants(
    ctx: &QueryCtx,
    args: ListParticipants,
) -> Result<Vec<Participant>> {
    ctx.db().query(Participant::by_meeting).eq(args.meeting_id).take(10)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "it represents the function of its name"
)]
pub struct list_participants {}
const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::Function for list_participants {
        type Kind = ::convoke::__private::IsQuery;
        type Args = ListParticipants;
        type Output = <Result<Vec<Participant>> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
            module: ::core::module_path!(),
            name: "list_participants",
            kind: ::convoke::__private::Kind::Query,
            visibility: ::convoke::__private::Visibility::Public,
            doc: "Lists the participants of a meeting.\n\n# Errors\n- `FORBIDDEN`: the caller does not.",
            file: ::core::file!(),
            line: ::core::line!(),
            crons: &[],
            rights: ::core::option::Option::None,
            rate: ::core::option::Option::None,
            tries: ::core::option::Option::None,
            identity_hook: false,
            cache: true,
            refresh: ::core::option::Option::None,
            tool: false,
            route: ::core::option::Option::None,
            args_schema: ::convoke::__private::args_schema::<Self>,
            output_schema: ::convoke::__private::output_schema::<Self>,
        };
    }
    #[automatically_derived]
    impl ::convoke::__private::QueryFn for list_participants {
        fn invoke(
            ctx: &::convoke::__private::QueryCtx,
            args: ListParticipants,
        ) -> ::convoke::__private::Result<Self::Output> {
            <Result<
                Vec<Participant>,
            > as ::convoke::__private::IsResult>::into_result(
                list_participants(ctx, args),
            )
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::Submitted(< list_participants as
        ::convoke::__private::Function > ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedHandler { def : < list_participants as
        ::convoke::__private::Function > ::DEF, handler :
        ::convoke::__private::query_handler:: < list_participants > (), }
    }
};
