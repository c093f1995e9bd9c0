//! Generates the code beside a registered function: a type with its name, and its registration.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::check::{Checked, Options};
use super::guard::Guard;
use super::parse::Kind;
use crate::attributes;

/// Returns the code after the function. With mistakes, it only lets other functions name the function.
pub(super) fn expand(function: &Checked<'_>, is_correct: bool) -> TokenStream {
    let marker = marker(function);
    let registration = registration(function);
    let invocation = if is_correct { invocation(function) } else { stand_in(function) };
    let submissions = is_correct.then(|| submissions(function));
    let cfgs = attributes::cfgs(&function.item.attrs);
    quote! {
        #marker
        #(#cfgs)*
        const _: () = {
            #registration
            #invocation
            #submissions
        };
    }
}

fn submissions(function: &Checked<'_>) -> TokenStream {
    let name = &function.item.sig.ident;
    let handler = names(function.kind).handler;
    quote! {
        ::convoke::__private::inventory::submit! {
            ::convoke::__private::Submitted(<#name as ::convoke::__private::Function>::DEF)
        }
        ::convoke::__private::inventory::submit! {
            ::convoke::__private::SubmittedHandler {
                def: <#name as ::convoke::__private::Function>::DEF,
                handler: ::convoke::__private::#handler::<#name>(),
            }
        }
    }
}

/// Returns an invocation that does not call the function, whose parameters may be wrong.
fn stand_in(function: &Checked<'_>) -> TokenStream {
    let (name, args) = (&function.item.sig.ident, args_type(function));
    let Names { invoke, context, .. } = names(function.kind);
    let (asynchronous, borrow) = match function.kind {
        Kind::Query => (quote!(), quote!(&)),
        Kind::Mutation => (quote!(), quote!(&mut)),
        Kind::Action => (quote!(async), quote!()),
    };
    quote! {
        #[automatically_derived]
        impl ::convoke::__private::#invoke for #name {
            #asynchronous fn invoke(
                _: #borrow ::convoke::__private::#context,
                _: #args,
            ) -> ::convoke::__private::Result<Self::Output> {
                ::core::unreachable!()
            }
        }
    }
}

/// Returns the type. A struct with braces does not occupy the name as a value, so the function keeps it, and one `use`
/// imports both.
fn marker(function: &Checked<'_>) -> TokenStream {
    let name = &function.item.sig.ident;
    let vis = &function.item.vis;
    let cfgs = attributes::cfgs(&function.item.attrs);
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code, reason = "it represents the function of its name")]
        #vis struct #name {}
    }
}

fn registration(function: &Checked<'_>) -> TokenStream {
    let name = &function.item.sig.ident;
    let text = name.unraw().to_string();
    let doc = attributes::docs(&function.item.attrs);
    let Names { marker, kind, .. } = names(function.kind);
    let args = args_type(function);
    let output = &function.output;
    let output = quote_spanned!(output.span()=> <#output as ::convoke::__private::IsResult>::Ok);
    let visibility = visibility(&function.options);
    let crons = &function.crons;
    let rate = match &function.options.rate {
        Some(class) => quote!(::core::option::Option::Some(#class)),
        None => quote!(::core::option::Option::None),
    };
    let tries = match &function.options.tries {
        Some(tries) => quote!(::core::option::Option::Some(#tries)),
        None => quote!(::core::option::Option::None),
    };
    let rights = match function.options.rights.as_ref().map(Guard::name) {
        Some(name) => quote!(::core::option::Option::Some(#name)),
        None => quote!(::core::option::Option::None),
    };
    let identity_hook = function.options.identity_hook;
    let tool = function.options.tool;
    let cache = function.kind == Kind::Query && function.options.cache.unwrap_or(true);
    let refresh = match function.options.refresh.and_then(|time| u64::try_from(time.as_millis()).ok()) {
        Some(millis) => quote!(::core::option::Option::Some(::core::time::Duration::from_millis(#millis))),
        None => quote!(::core::option::Option::None),
    };
    quote! {
        #[automatically_derived]
        impl ::convoke::__private::Function for #name {
            type Kind = ::convoke::__private::#marker;
            type Args = #args;
            type Output = #output;
            const DEF: &'static ::convoke::__private::FunctionDef = &::convoke::__private::FunctionDef {
                module: ::core::module_path!(),
                name: #text,
                kind: ::convoke::__private::Kind::#kind,
                visibility: ::convoke::__private::Visibility::#visibility,
                doc: #doc,
                file: ::core::file!(),
                line: ::core::line!(),
                crons: &[#(#crons),*],
                rights: #rights,
                rate: #rate,
                tries: #tries,
                identity_hook: #identity_hook,
                cache: #cache,
                refresh: #refresh,
                tool: #tool,
                route: ::core::option::Option::None,
                args_schema: ::convoke::__private::args_schema::<Self>,
                output_schema: ::convoke::__private::output_schema::<Self>,
            };
        }
    }
}

/// Returns the call of the function by its bare name. A function inside the body of another one has no path.
fn invocation(function: &Checked<'_>) -> TokenStream {
    let name = &function.item.sig.ident;
    let output = &function.output;
    let args_type = args_type(function);
    let Names { invoke, context, .. } = names(function.kind);
    let (ctx, args) = (local("ctx"), Guard::args());
    // rustc reports a wrong context under an alias, and a wrong result type, at the author's code.
    let given_ctx = Ident::new("ctx", Span::mixed_site().located_at(function.context.span()));
    let at_output = Span::call_site().located_at(output.span());
    let guards = guards(function);
    let granted = function.options.rights.as_ref().map(granted);
    let given = granted.into_iter().chain(function.args.is_some().then(|| args.clone()));
    let given = quote!(#(, #given)*);
    let pattern = if function.args.is_some() { quote!(#args) } else { quote!(_) };
    let result = quote_spanned!(at_output=> ::convoke::__private::Result<Self::Output>);
    let into_result = quote_spanned!(at_output=> <#output as ::convoke::__private::IsResult>::into_result);
    let method = match function.kind {
        Kind::Query | Kind::Mutation => {
            let borrow = if function.kind == Kind::Mutation { quote!(&mut) } else { quote!(&) };
            quote_spanned! {at_output=>
                fn invoke(#ctx: #borrow ::convoke::__private::#context, #pattern: #args_type) -> #result {
                    #guards
                    #into_result(#name(#given_ctx #given))
                }
            }
        }
        Kind::Action => quote_spanned! {at_output=>
            fn invoke(
                #ctx: ::convoke::__private::#context,
                #pattern: #args_type,
            ) -> impl ::core::future::Future<Output = #result> + ::core::marker::Send {
                async move {
                    #guards
                    #into_result(#name(&#given_ctx #given).await)
                }
            }
        },
    };
    quote! {
        #[automatically_derived]
        impl ::convoke::__private::#invoke for #name {
            #method
        }
    }
}

/// Returns the checks before the body in order: the form of the arguments, then the caller's rights.
fn guards(function: &Checked<'_>) -> TokenStream {
    let form = function.options.form.as_ref().map(|form| {
        let (at, checked, verdict) = (form.function.span(), local("checked"), verdict(form, function.kind));
        quote_spanned! {at=>
            let #checked: ::convoke::__private::Result<()> = #verdict;
            #checked?;
        }
    });
    let rights = function.options.rights.as_ref().map(|rights| {
        let (at, checked, granted) = (rights.function.span(), local("checked"), granted(rights));
        let verdict = match function.kind {
            Kind::Query | Kind::Mutation => verdict(rights, function.kind),
            Kind::Action => on_snapshot(rights),
        };
        quote_spanned! {at=>
            let #checked: ::convoke::__private::Result<_> = #verdict;
            let #granted = #checked?;
        }
    });
    quote!(#form #rights)
}

/// Names the result of the rights check. A parameter of another type is a compile error at the declaration of the rights.
fn granted(rights: &Guard) -> Ident {
    Ident::new("granted", Span::mixed_site().located_at(rights.function.span()))
}

/// Returns an expression that runs a check and has its result.
fn verdict(guard: &Guard, kind: Kind) -> TokenStream {
    let at = guard.function.span();
    let ctx = Ident::new("ctx", Span::mixed_site().located_at(at));
    guard.call(&match kind {
        Kind::Query => quote!(#ctx),
        Kind::Mutation => quote_spanned!(at=> &*#ctx),
        Kind::Action => quote_spanned!(at=> &#ctx),
    })
}

/// Returns the same for an action. An action has no database, so the check runs as a query, possibly more than once.
fn on_snapshot(rights: &Guard) -> TokenStream {
    let (ctx, args, verdict) = (local("ctx"), Guard::args(), verdict(rights, Kind::Query));
    let own = rights.takes_args().then(|| quote!(let #args = ::core::clone::Clone::clone(&#args);));
    quote! {
        {
            #own
            ::convoke::__private::on_snapshot::<Self, _>(&#ctx, move |#ctx: &::convoke::__private::QueryCtx| #verdict).await
        }
    }
}

fn args_type(function: &Checked<'_>) -> TokenStream {
    match &function.args {
        Some(args) => quote!(#args),
        None => quote!(::convoke::__private::NoArgs),
    }
}

fn visibility(options: &Options) -> Ident {
    match (options.internal, options.admin) {
        (true, _) => format_ident!("Internal"),
        (false, true) => format_ident!("Admin"),
        (false, false) => format_ident!("Public"),
    }
}

/// Names of a kind's parts in the runtime.
struct Names {
    marker: Ident,
    kind: Ident,
    invoke: Ident,
    context: Ident,
    handler: Ident,
}

fn names(kind: Kind) -> Names {
    let (name, handler) = match kind {
        Kind::Query => ("Query", "query_handler"),
        Kind::Mutation => ("Mutation", "mutation_handler"),
        Kind::Action => ("Action", "action_handler"),
    };
    Names {
        marker: format_ident!("Is{name}"),
        kind: format_ident!("{name}"),
        invoke: format_ident!("{name}Fn"),
        context: format_ident!("{name}Ctx"),
        handler: format_ident!("{handler}"),
    }
}

fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}
