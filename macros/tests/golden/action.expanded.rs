pub async fn generate(ctx: &ActionCtx, mut args: Generate) -> Result<Generated> {
    ctx.run::<store>(args).await
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "it represents the function of its name"
)]
pub struct generate {}
const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::Function for generate {
        type Kind = ::convoke::__private::IsAction;
        type Args = Generate;
        type Output = <Result<Generated> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
            module: ::core::module_path!(),
            name: "generate",
            kind: ::convoke::__private::Kind::Action,
            visibility: ::convoke::__private::Visibility::Admin,
            doc: "",
            file: ::core::file!(),
            line: ::core::line!(),
            crons: &[],
            rights: ::core::option::Option::None,
            rate: ::core::option::Option::None,
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
    impl ::convoke::__private::ActionFn for generate {
        fn invoke(
            ctx: ::convoke::__private::ActionCtx,
            args: Generate,
        ) -> impl ::core::future::Future<
            Output = ::convoke::__private::Result<Self::Output>,
        > + ::core::marker::Send {
            async move {
                <Result<
                    Generated,
                > as ::convoke::__private::IsResult>::into_result(
                    generate(&ctx, args).await,
                )
            }
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::Submitted(< generate as ::convoke::__private::Function >
        ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedHandler { def : < generate as
        ::convoke::__private::Function > ::DEF, handler :
        ::convoke::__private::action_handler:: < generate > (), }
    }
};
