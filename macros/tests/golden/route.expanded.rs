/// Receives payment events.
pub fn payments(
    ctx: &mut MutationCtx,
    shop: Path<String>,
    event: Json<PaymentEvent>,
) -> Result<Response> {
    unimplemented!()
}
const _: () = {
    struct Route;
    #[automatically_derived]
    impl ::convoke::__private::RouteFn for Route {
        type Extracted = (Path<String>, Json<PaymentEvent>);
        type Answer = <Result<Response> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
            module: ::core::module_path!(),
            name: "payments",
            kind: ::convoke::__private::Kind::Mutation,
            visibility: ::convoke::__private::Visibility::Public,
            doc: "Receives payment events.",
            file: ::core::file!(),
            line: ::core::line!(),
            crons: &[],
            rights: ::core::option::Option::Some("standard_webhooks"),
            rate: ::core::option::Option::None,
            tries: ::core::option::Option::None,
            identity_hook: false,
            cache: false,
            refresh: ::core::option::Option::None,
            tool: false,
            route: ::core::option::Option::Some(
                &::convoke::__private::RouteDef {
                    method: "POST",
                    path: "/hooks/{shop}/payments",
                    verify: ::core::option::Option::Some(::convoke::__private::Verify::StandardWebhooks {
                        secret: "PAYMENTS_SECRET",
                    }),
                    once: ::core::option::Option::Some(
                        ::convoke::__private::Once::Header("webhook-id"),
                    ),
                    body_bytes_max: ::core::option::Option::None,
                    timeout: ::core::option::Option::None,
                    cors: false,
                    parameters: &[
                        ::convoke::__private::Parameter::of::<Path<String>>("shop"),
                        ::convoke::__private::Parameter::of::<
                            Json<PaymentEvent>,
                        >("event"),
                    ],
                },
            ),
            args_schema: ::convoke::__private::route_args_schema::<Self>,
            output_schema: ::convoke::__private::route_output_schema::<Self>,
        };
        fn extract(
            request: &::convoke::__private::RouteRequest,
        ) -> ::convoke::__private::Result<Self::Extracted> {
            let _ = request;
            ::core::result::Result::Ok((
                <Path<
                    String,
                > as ::convoke::__private::FromRequest>::from_request(
                    request,
                    "shop",
                    0,
                )?,
                <Json<
                    PaymentEvent,
                > as ::convoke::__private::FromRequest>::from_request(
                    request,
                    "event",
                    1,
                )?,
            ))
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::MutationRoute for Route {
        fn invoke(
            ctx: &mut ::convoke::__private::MutationCtx,
            (extracted_0, extracted_1): Self::Extracted,
        ) -> ::convoke::__private::Result<Self::Answer> {
            <Result<
                Response,
            > as ::convoke::__private::IsResult>::into_result(
                payments(ctx, extracted_0, extracted_1),
            )
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::Submitted(< Route as ::convoke::__private::RouteFn > ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedHandler { def : < Route as
        ::convoke::__private::RouteFn > ::DEF, handler :
        ::convoke::__private::mutation_route:: < Route > (), }
    }
};
pub async fn import(ctx: &ActionCtx, request: Request) -> Result<()> {
    unimplemented!()
}
const _: () = {
    struct Route;
    #[automatically_derived]
    impl ::convoke::__private::RouteFn for Route {
        type Extracted = (Request,);
        type Answer = <Result<()> as ::convoke::__private::IsResult>::Ok;
        const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
            module: ::core::module_path!(),
            name: "import",
            kind: ::convoke::__private::Kind::Action,
            visibility: ::convoke::__private::Visibility::Public,
            doc: "",
            file: ::core::file!(),
            line: ::core::line!(),
            crons: &[],
            rights: ::core::option::Option::Some("check"),
            rate: ::core::option::Option::None,
            tries: ::core::option::Option::None,
            identity_hook: false,
            cache: false,
            refresh: ::core::option::Option::None,
            tool: false,
            route: ::core::option::Option::Some(
                &::convoke::__private::RouteDef {
                    method: "PUT",
                    path: "/import",
                    verify: ::core::option::Option::Some(
                        ::convoke::__private::Verify::Own(own::check),
                    ),
                    once: ::core::option::Option::None,
                    body_bytes_max: ::core::option::Option::Some(67108864),
                    timeout: ::core::option::Option::Some(
                        ::core::time::Duration::from_millis(300000u64),
                    ),
                    cors: true,
                    parameters: &[
                        ::convoke::__private::Parameter::of::<Request>("request"),
                    ],
                },
            ),
            args_schema: ::convoke::__private::route_args_schema::<Self>,
            output_schema: ::convoke::__private::route_output_schema::<Self>,
        };
        fn extract(
            request: &::convoke::__private::RouteRequest,
        ) -> ::convoke::__private::Result<Self::Extracted> {
            let _ = request;
            ::core::result::Result::Ok((
                <Request as ::convoke::__private::FromRequest>::from_request(
                    request,
                    "request",
                    0,
                )?,
            ))
        }
    }
    #[automatically_derived]
    impl ::convoke::__private::ActionRoute for Route {
        fn invoke(
            ctx: ::convoke::__private::ActionCtx,
            (extracted_0,): Self::Extracted,
        ) -> impl ::core::future::Future<
            Output = ::convoke::__private::Result<Self::Answer>,
        > + ::core::marker::Send {
            async move {
                <Result<
                    (),
                > as ::convoke::__private::IsResult>::into_result(
                    import(&ctx, extracted_0).await,
                )
            }
        }
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::Submitted(< Route as ::convoke::__private::RouteFn > ::DEF)
    }
    ::convoke::__private::inventory::submit! {
        ::convoke::__private::SubmittedHandler { def : < Route as
        ::convoke::__private::RouteFn > ::DEF, handler :
        ::convoke::__private::action_route:: < Route > (), }
    }
};
