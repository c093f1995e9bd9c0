/// Fulfils an order.
pub async fn fulfil(ctx: &WorkflowCtx, args: Order) -> Result<i64> {
    ctx.run::<reserve>(args).await
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "it represents the workflow of its name"
)]
pub struct fulfil {}
const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::Workflow for fulfil {
        type Args = Order;
        type Output = <Result<i64> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::WorkflowDef = &::convoke::__private::WorkflowDef {
            module: ::core::module_path!(),
            name: "fulfil",
            version: 2u32,
            retired: false,
            file: ::core::file!(),
            line: ::core::line!(),
        };
        #[allow(
            unused_variables,
            reason = "a workflow without arguments does not use them"
        )]
        async fn invoke(
            ctx: &::convoke::__private::WorkflowCtx,
            args: Order,
        ) -> ::convoke::__private::Result<Self::Output> {
            <Result<
                i64,
            > as ::convoke::__private::IsResult>::into_result(fulfil(ctx, args).await)
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::DeclaredWorkflow(< fulfil as ::convoke::__private::Workflow
        > ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedWorkflow::of:: < fulfil > ()
    }
};
async fn fulfil_v1(ctx: &WorkflowCtx) -> Result<()> {
    ctx.sleep(days(1)).await
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "it represents the workflow of its name"
)]
struct fulfil_v1 {}
const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::Workflow for fulfil_v1 {
        type Args = ::convoke::__private::NoArgs;
        type Output = <Result<()> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::WorkflowDef = &::convoke::__private::WorkflowDef {
            module: ::core::module_path!(),
            name: "fulfil_v1",
            version: 1u32,
            retired: true,
            file: ::core::file!(),
            line: ::core::line!(),
        };
        #[allow(
            unused_variables,
            reason = "a workflow without arguments does not use them"
        )]
        async fn invoke(
            ctx: &::convoke::__private::WorkflowCtx,
            args: ::convoke::__private::NoArgs,
        ) -> ::convoke::__private::Result<Self::Output> {
            <Result<
                (),
            > as ::convoke::__private::IsResult>::into_result(fulfil_v1(ctx).await)
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::DeclaredWorkflow(< fulfil_v1 as
        ::convoke::__private::Workflow > ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedWorkflow::of:: < fulfil_v1 > ()
    }
};
