/// Forgets what is old.
#[cfg(unix)]
fn clean(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}
#[cfg(unix)]
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "it represents the function of its name"
)]
struct clean {}
#[cfg(unix)]
const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::Function for clean {
        type Kind = ::convoke::__private::IsMutation;
        type Args = ::convoke::__private::NoArgs;
        type Output = <Result<()> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
            module: ::core::module_path!(),
            name: "clean",
            kind: ::convoke::__private::Kind::Mutation,
            visibility: ::convoke::__private::Visibility::Internal,
            doc: "Forgets what is old.",
            file: ::core::file!(),
            line: ::core::line!(),
            crons: &["30 0 12 * * mon", "0 3 * * *"],
            rights: ::core::option::Option::None,
            rate: ::core::option::Option::Some("cleaning"),
            tries: ::core::option::Option::None,
            identity_hook: false,
            cache: false,
            refresh: ::core::option::Option::None,
            tool: false,
            route: ::core::option::Option::None,
            args_schema: ::convoke::__private::args_schema::<Self>,
            output_schema: ::convoke::__private::output_schema::<Self>,
        };
    }
    #[automatically_derived]
    impl ::convoke::__private::MutationFn for clean {
        fn invoke(
            ctx: &mut ::convoke::__private::MutationCtx,
            _: ::convoke::__private::NoArgs,
        ) -> ::convoke::__private::Result<Self::Output> {
            <Result<()> as ::convoke::__private::IsResult>::into_result(clean(ctx))
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::Submitted(< clean as ::convoke::__private::Function >
        ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedHandler { def : < clean as
        ::convoke::__private::Function > ::DEF, handler :
        ::convoke::__private::mutation_handler:: < clean > (), }
    }
};
pub(crate) fn seen(ctx: &mut MutationCtx) -> Result<()> {
    Ok(())
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "it represents the function of its name"
)]
pub(crate) struct seen {}
const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::Function for seen {
        type Kind = ::convoke::__private::IsMutation;
        type Args = ::convoke::__private::NoArgs;
        type Output = <Result<()> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
            module: ::core::module_path!(),
            name: "seen",
            kind: ::convoke::__private::Kind::Mutation,
            visibility: ::convoke::__private::Visibility::Public,
            doc: "",
            file: ::core::file!(),
            line: ::core::line!(),
            crons: &[],
            rights: ::core::option::Option::None,
            rate: ::core::option::Option::None,
            tries: ::core::option::Option::None,
            identity_hook: true,
            cache: false,
            refresh: ::core::option::Option::None,
            tool: false,
            route: ::core::option::Option::None,
            args_schema: ::convoke::__private::args_schema::<Self>,
            output_schema: ::convoke::__private::output_schema::<Self>,
        };
    }
    #[automatically_derived]
    impl ::convoke::__private::MutationFn for seen {
        fn invoke(
            ctx: &mut ::convoke::__private::MutationCtx,
            _: ::convoke::__private::NoArgs,
        ) -> ::convoke::__private::Result<Self::Output> {
            <Result<()> as ::convoke::__private::IsResult>::into_result(seen(ctx))
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::Submitted(< seen as ::convoke::__private::Function > ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedHandler { def : < seen as
        ::convoke::__private::Function > ::DEF, handler :
        ::convoke::__private::mutation_handler:: < seen > (), }
    }
};
