//! The checks that an option names: `rights = member(args.team_id)`, `form = in_order(&args)`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote_spanned;
use syn::ext::IdentExt as _;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Expr, ExprPath, Token};

use crate::attributes::Choice;
use crate::errors::Errors;

/// The name by which a check refers to the function's arguments. The parameter itself may have another name.
const ARGS: &str = "args";

/// A function of the author that runs before the body. Its first argument is the context.
pub(super) struct Guard {
    /// The function.
    pub function: ExprPath,
    /// Its arguments after the context.
    pub args: Punctuated<Expr, Token![,]>,
}

impl Guard {
    /// Reads the value of an option.
    pub(super) fn of(choice: &Choice, errors: &mut Errors) -> Option<Self> {
        match choice.expression(errors)? {
            Expr::Path(function) => Some(Self { function, args: Punctuated::new() }),
            Expr::Call(call) => match *call.func {
                Expr::Path(function) => Some(Self { function, args: call.args }),
                other => Self::malformed(choice, &other, errors),
            },
            other => Self::malformed(choice, &other, errors),
        }
    }

    fn malformed(choice: &Choice, value: &Expr, errors: &mut Errors) -> Option<Self> {
        let name = &choice.name;
        errors.at(
            value,
            format!("name the function that checks: `{name} = signed_in` or `{name} = member(args.team_id)`"),
        );
        None
    }

    /// Returns the name of the function, without its modules.
    pub(super) fn name(&self) -> String {
        self.function.path.segments.last().map(|last| last.ident.unraw().to_string()).unwrap_or_default()
    }

    /// Returns true if it uses the function's arguments, as `args`.
    pub(super) fn takes_args(&self) -> bool {
        let mut mentioned = Mentioned(false);
        self.args.iter().for_each(|arg| mentioned.visit_expr(arg));
        mentioned.0
    }

    /// Returns the variable that holds the arguments for it.
    pub(super) fn args() -> Ident {
        Ident::new(ARGS, Span::call_site())
    }

    /// Returns the call with this context.
    pub(super) fn call(&self, ctx: &TokenStream) -> TokenStream {
        let Self { function, args } = self;
        let args = args.iter();
        quote_spanned!(function.span()=> #function(#ctx #(, #args)*))
    }
}

struct Mentioned(bool);

impl Visit<'_> for Mentioned {
    fn visit_expr_path(&mut self, path: &ExprPath) {
        self.0 |= path.path.is_ident(ARGS);
        visit::visit_expr_path(self, path);
    }
}
