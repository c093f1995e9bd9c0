//! Generates the code beside a workflow: a type with its name, and its registration.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned as _;

use super::check::Checked;
use crate::attributes;

/// Returns the code after the function. With mistakes, the code does not call the function: only others can name it.
pub(super) fn expand(workflow: &Checked<'_>, is_correct: bool) -> TokenStream {
    let Checked { item, version, retired, args, output } = workflow;
    let (name, vis) = (&item.sig.ident, &item.vis);
    let text = name.unraw().to_string();
    let cfgs = attributes::cfgs(&item.attrs);
    let (args_type, given) = match args {
        Some(args) => (quote!(#args), quote!(ctx, args)),
        None => (quote!(::convoke::__private::NoArgs), quote!(ctx)),
    };
    let at_output = Span::call_site().located_at(output.span());
    let value = quote_spanned!(at_output=> <#output as ::convoke::__private::IsResult>::Ok);
    let into_result = quote_spanned!(at_output=> <#output as ::convoke::__private::IsResult>::into_result);
    let body = match is_correct {
        true => quote!(#into_result(#name(#given).await)),
        false => quote!(::core::unreachable!()),
    };
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(non_camel_case_types, dead_code, reason = "it represents the workflow of its name")]
        #vis struct #name {}

        #(#cfgs)*
        const _: () = {
            #[automatically_derived]
            impl ::convoke::__private::Workflow for #name {
                type Args = #args_type;
                type Output = #value;
                const DEF: &'static ::convoke::__private::WorkflowDef = &::convoke::__private::WorkflowDef {
                    module: ::core::module_path!(),
                    name: #text,
                    version: #version,
                    retired: #retired,
                    file: ::core::file!(),
                    line: ::core::line!(),
                };

                #[allow(unused_variables, reason = "a workflow without arguments does not use them")]
                async fn invoke(
                    ctx: &::convoke::__private::WorkflowCtx,
                    args: #args_type,
                ) -> ::convoke::__private::Result<Self::Output> {
                    #body
                }
            }
            ::convoke::__private::inventory::submit! {
                ::convoke::__private::DeclaredWorkflow(<#name as ::convoke::__private::Workflow>::DEF)
            }
            ::convoke::__private::inventory::submit! {
                ::convoke::__private::SubmittedWorkflow::of::<#name>()
            }
        };
    }
}
