//! Generates the registration of a route and the call of its function.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::check::Checked;
use super::options::{Once, Verify};
use super::siblings::Sibling;
use crate::attributes;
use crate::function::Kind;

/// Returns the code after the function.
pub(super) fn expand(route: &Checked<'_>) -> TokenStream {
    let cfgs = attributes::cfgs(&route.item.attrs);
    let distinct = route.siblings.iter().map(|sibling| distinct(route, sibling));
    let registration = registration(route);
    let invocation = invocation(route);
    let handler = names(route.kind).handler;
    quote! {
        #(#cfgs)*
        const _: () = {
            #(#distinct)*
            struct Route;
            #registration
            #invocation
            ::convoke::__private::inventory::submit! {
                ::convoke::__private::Submitted(<Route as ::convoke::__private::RouteFn>::DEF)
            }
            ::convoke::__private::inventory::submit! {
                ::convoke::__private::SubmittedHandler {
                    def: <Route as ::convoke::__private::RouteFn>::DEF,
                    handler: ::convoke::__private::#handler::<Route>(),
                }
            }
        };
    }
}

/// Returns a compile error if a request could match this route and another one of the crate.
fn distinct(route: &Checked<'_>, sibling: &Sibling) -> TokenStream {
    let (path, other) = (route.path, &sibling.path);
    let Sibling { method, place, .. } = sibling;
    let message = format!(
        "the route {method} {} and the route {method} {other} at {place} could match the same request; change one of the \
         paths",
        path.value()
    );
    // Not with the span of the path: rustc reads the source under the span of a format string.
    quote! {
        const _: () = ::core::assert!(!::convoke::__private::overlaps(#path, #other), "{}", #message);
    }
}

fn registration(route: &Checked<'_>) -> TokenStream {
    let name = route.item.sig.ident.unraw().to_string();
    let doc = attributes::docs(&route.item.attrs);
    let kind = names(route.kind).kind;
    let rate = optional(route.options.rate.as_ref().map(|class| quote!(#class)));
    let rights = optional(route.options.verify.as_ref().map(|verify| {
        let name = verify.name();
        quote!(#name)
    }));
    let definition = definition(route);
    let output = route.output;
    let answer = quote_spanned!(output.span()=> <#output as ::convoke::__private::IsResult>::Ok);
    let types: Vec<_> = route.parameters.iter().map(|(_, ty)| ty).collect();
    let reads = route.parameters.iter().enumerate().map(|(place, (name, ty))| {
        let place = Literal::usize_unsuffixed(place);
        quote_spanned! {ty.span()=>
            <#ty as ::convoke::__private::FromRequest>::from_request(request, #name, #place)?
        }
    });
    quote! {
        #[automatically_derived]
        impl ::convoke::__private::RouteFn for Route {
            type Extracted = (#(#types,)*);
            type Answer = #answer;
            const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
                module: ::core::module_path!(),
                name: #name,
                kind: ::convoke::__private::Kind::#kind,
                visibility: ::convoke::__private::Visibility::Public,
                doc: #doc,
                file: ::core::file!(),
                line: ::core::line!(),
                crons: &[],
                rights: #rights,
                rate: #rate,
                tries: ::core::option::Option::None,
                identity_hook: false,
                cache: false,
                refresh: ::core::option::Option::None,
                tool: false,
                route: ::core::option::Option::Some(&#definition),
                args_schema: ::convoke::__private::route_args_schema::<Self>,
                output_schema: ::convoke::__private::route_output_schema::<Self>,
            };

            fn extract(
                request: &::convoke::__private::RouteRequest,
            ) -> ::convoke::__private::Result<Self::Extracted> {
                let _ = request;
                ::core::result::Result::Ok((#(#reads,)*))
            }
        }
    }
}

fn definition(route: &Checked<'_>) -> TokenStream {
    let (method, path) = (route.method.to_string(), route.path);
    let options = &route.options;
    let verify = optional(options.verify.as_ref().map(verify));
    let once = optional(options.once.as_ref().map(|once| match once {
        Once::Header(name) => quote!(::convoke::__private::Once::Header(#name)),
        Once::Json(pointer) => quote!(::convoke::__private::Once::Json(#pointer)),
    }));
    let body_bytes_max = optional(options.body_max.map(|bytes| {
        let bytes = Literal::usize_unsuffixed(bytes);
        quote!(#bytes)
    }));
    let timeout = options.timeout.and_then(|time| u64::try_from(time.as_millis()).ok());
    let timeout = optional(timeout.map(|millis| quote!(::core::time::Duration::from_millis(#millis))));
    let cors = options.cors;
    let parameters = route
        .parameters
        .iter()
        .map(|(name, ty)| quote_spanned!(ty.span()=> ::convoke::__private::Parameter::of::<#ty>(#name)));
    quote! {
        ::convoke::__private::RouteDef {
            method: #method,
            path: #path,
            verify: #verify,
            once: #once,
            body_bytes_max: #body_bytes_max,
            timeout: #timeout,
            cors: #cors,
            parameters: &[#(#parameters),*],
        }
    }
}

fn verify(verify: &Verify) -> TokenStream {
    match verify {
        Verify::Named(variant, secret) => {
            let variant = format_ident!("{variant}");
            quote!(::convoke::__private::Verify::#variant { secret: #secret })
        }
        Verify::HmacSha256(header, secret) => {
            quote!(::convoke::__private::Verify::HmacSha256 { header: #header, secret: #secret })
        }
        Verify::Own(function) => quote_spanned!(function.span()=> ::convoke::__private::Verify::Own(#function)),
    }
}

fn invocation(route: &Checked<'_>) -> TokenStream {
    let name = &route.item.sig.ident;
    let output = route.output;
    let Names { route: route_trait, context, .. } = names(route.kind);
    let ctx = Ident::new("ctx", Span::mixed_site().located_at(route.context.span()));
    let given: Vec<Ident> = (0..route.parameters.len()).map(|at| format_ident!("extracted_{at}")).collect();
    let at_output = Span::call_site().located_at(output.span());
    let result = quote!(::convoke::__private::Result<Self::Answer>);
    let into_result = quote_spanned!(at_output=> <#output as ::convoke::__private::IsResult>::into_result);
    let method = match route.kind {
        Kind::Query | Kind::Mutation => {
            let borrow = if route.kind == Kind::Mutation { quote!(&mut) } else { quote!(&) };
            quote! {
                fn invoke(
                    #ctx: #borrow ::convoke::__private::#context,
                    (#(#given,)*): Self::Extracted,
                ) -> #result {
                    #into_result(#name(#ctx #(, #given)*))
                }
            }
        }
        Kind::Action => quote! {
            fn invoke(
                #ctx: ::convoke::__private::#context,
                (#(#given,)*): Self::Extracted,
            ) -> impl ::core::future::Future<Output = #result> + ::core::marker::Send {
                async move { #into_result(#name(&#ctx #(, #given)*).await) }
            }
        },
    };
    quote! {
        #[automatically_derived]
        impl ::convoke::__private::#route_trait for Route {
            #method
        }
    }
}

fn optional(value: Option<TokenStream>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

/// Names of a kind's parts in the runtime.
struct Names {
    kind: Ident,
    route: Ident,
    context: Ident,
    handler: Ident,
}

fn names(kind: Kind) -> Names {
    let (name, handler) = match kind {
        Kind::Query => ("Query", "query_route"),
        Kind::Mutation => ("Mutation", "mutation_route"),
        Kind::Action => ("Action", "action_route"),
    };
    Names {
        kind: format_ident!("{name}"),
        route: format_ident!("{name}Route"),
        context: format_ident!("{name}Ctx"),
        handler: format_ident!("{handler}"),
    }
}
