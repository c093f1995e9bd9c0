pub fn profile(ctx: &QueryCtx, user: User) -> Result<Profile> {
    Ok(user.profile)
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "it represents the function of its name"
)]
pub struct profile {}
const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::Function for profile {
        type Kind = ::convoke::__private::IsQuery;
        type Args = ::convoke::__private::NoArgs;
        type Output = <Result<Profile> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
            module: ::core::module_path!(),
            name: "profile",
            kind: ::convoke::__private::Kind::Query,
            visibility: ::convoke::__private::Visibility::Public,
            doc: "",
            file: ::core::file!(),
            line: ::core::line!(),
            crons: &[],
            rights: ::core::option::Option::Some("signed_in"),
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
    impl ::convoke::__private::QueryFn for profile {
        fn invoke(
            ctx: &::convoke::__private::QueryCtx,
            _: ::convoke::__private::NoArgs,
        ) -> ::convoke::__private::Result<Self::Output> {
            let checked: ::convoke::__private::Result<_> = access::signed_in(ctx);
            let granted = checked?;
            <Result<
                Profile,
            > as ::convoke::__private::IsResult>::into_result(profile(ctx, granted))
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::Submitted(< profile as ::convoke::__private::Function >
        ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedHandler { def : < profile as
        ::convoke::__private::Function > ::DEF, handler :
        ::convoke::__private::query_handler:: < profile > (), }
    }
};
pub fn plan(ctx: &mut MutationCtx, member: Member, args: Plan) -> Result<()> {
    Ok(())
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "it represents the function of its name"
)]
pub struct plan {}
const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::Function for plan {
        type Kind = ::convoke::__private::IsMutation;
        type Args = Plan;
        type Output = <Result<()> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
            module: ::core::module_path!(),
            name: "plan",
            kind: ::convoke::__private::Kind::Mutation,
            visibility: ::convoke::__private::Visibility::Public,
            doc: "",
            file: ::core::file!(),
            line: ::core::line!(),
            crons: &[],
            rights: ::core::option::Option::Some("member"),
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
    impl ::convoke::__private::MutationFn for plan {
        fn invoke(
            ctx: &mut ::convoke::__private::MutationCtx,
            args: Plan,
        ) -> ::convoke::__private::Result<Self::Output> {
            let checked: ::convoke::__private::Result<()> = in_order(&*ctx, &args);
            checked?;
            let checked: ::convoke::__private::Result<_> = access::member(
                &*ctx,
                args.team_id,
            );
            let granted = checked?;
            <Result<
                (),
            > as ::convoke::__private::IsResult>::into_result(plan(ctx, granted, args))
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::Submitted(< plan as ::convoke::__private::Function > ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedHandler { def : < plan as
        ::convoke::__private::Function > ::DEF, handler :
        ::convoke::__private::mutation_handler:: < plan > (), }
    }
};
pub async fn invite(ctx: &ActionCtx, member: Member, _: Invite) -> Result<()> {
    Ok(())
}
#[doc(hidden)]
#[allow(
    non_camel_case_types,
    dead_code,
    reason = "it represents the function of its name"
)]
pub struct invite {}
const _: () = {
    #[automatically_derived]
    impl ::convoke::__private::Function for invite {
        type Kind = ::convoke::__private::IsAction;
        type Args = Invite;
        type Output = <Result<()> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
            module: ::core::module_path!(),
            name: "invite",
            kind: ::convoke::__private::Kind::Action,
            visibility: ::convoke::__private::Visibility::Public,
            doc: "",
            file: ::core::file!(),
            line: ::core::line!(),
            crons: &[],
            rights: ::core::option::Option::Some("member"),
            rate: ::core::option::Option::Some("mails"),
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
    impl ::convoke::__private::ActionFn for invite {
        fn invoke(
            ctx: ::convoke::__private::ActionCtx,
            args: Invite,
        ) -> impl ::core::future::Future<
            Output = ::convoke::__private::Result<Self::Output>,
        > + ::core::marker::Send {
            async move {
                let checked: ::convoke::__private::Result<_> = {
                    let args = ::core::clone::Clone::clone(&args);
                    ::convoke::__private::on_snapshot::<
                        Self,
                        _,
                    >(
                            &ctx,
                            move |ctx: &::convoke::__private::QueryCtx| access::member(
                                ctx,
                                args.team_id,
                            ),
                        )
                        .await
                };
                let granted = checked?;
                <Result<
                    (),
                > as ::convoke::__private::IsResult>::into_result(
                    invite(&ctx, granted, args).await,
                )
            }
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::Submitted(< invite as ::convoke::__private::Function >
        ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedHandler { def : < invite as
        ::convoke::__private::Function > ::DEF, handler :
        ::convoke::__private::action_handler:: < invite > (), }
    }
};
