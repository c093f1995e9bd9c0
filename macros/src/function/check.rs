//! All checks of a registered function, in one pass.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{Expr, ExprLit, FnArg, ItemFn, Lit, LitStr, Pat, PatType, ReturnType, Safety, Signature, Type, Visibility};

use super::context;
use super::guard::Guard;
use super::parse::{Kind, Written};
use crate::associated;
use crate::attributes::{self, Choice};
use crate::cron;
use crate::errors::Errors;

/// A function as far as it can be read.
pub(super) struct Checked<'a> {
    /// Kind of its attribute.
    pub kind: Kind,
    /// The function.
    pub item: &'a ItemFn,
    /// Its options.
    pub options: Options,
    /// Expressions of its schedule.
    pub crons: Vec<LitStr>,
    /// Type of its context as written, without the reference.
    pub context: Type,
    /// Type of its arguments, if it takes any.
    pub args: Option<Type>,
    /// Return type.
    pub output: Type,
}

/// The options of the attribute.
#[derive(Default)]
pub(super) struct Options {
    /// Only other functions and the scheduler may call it.
    pub internal: bool,
    /// Only a deploy key or an admin may call it.
    pub admin: bool,
    /// Check of the arguments, which runs before the rights check.
    pub form: Option<Guard>,
    /// Check of the caller's rights, which runs before the body.
    pub rights: Option<Guard>,
    /// Rate class.
    pub rate: Option<LitStr>,
    /// Number of attempts by the scheduler.
    pub tries: Option<u32>,
    /// True if it runs for new and changed identities.
    pub identity_hook: bool,
    /// True if its results are cached; none: the default.
    pub cache: Option<bool>,
    /// Interval at which it runs again as a live query.
    pub refresh: Option<Duration>,
    /// True if agents may call it as a tool.
    pub tool: bool,
}

/// Checks a function. Returns nothing if its parameters or its result cannot be read.
pub(super) fn check<'a>(written: &'a Written, errors: &mut Errors) -> Option<Checked<'a>> {
    let kind = written.kind;
    let signature = &written.item.sig;
    let options = options(kind, &written.options, errors);
    let crons: Vec<LitStr> = written.crons.iter().filter_map(|cron| errors.take(cron::expression(cron))).collect();
    visible(written, &options, errors);
    tool(written, errors);
    modifiers(kind, signature, errors);
    let parameters = parameters(kind, &written.item, options.rights.as_ref(), errors);
    let output = output(kind, signature, errors);
    without_args(written, &options, parameters.as_ref().and_then(|found| found.args.as_ref()), errors);
    parameters.zip(output).map(|(Parameters { context, args }, output)| Checked {
        kind,
        item: &written.item,
        options,
        crons,
        context,
        args,
        output,
    })
}

fn options(kind: Kind, choices: &[Choice], errors: &mut Errors) -> Options {
    let mut options = Options::default();
    for choice in choices {
        match choice.name.to_string().as_str() {
            "internal" => options.internal = choice.flag(errors),
            "admin" => options.admin = choice.flag(errors),
            "form" => options.form = Guard::of(choice, errors),
            "rights" => options.rights = Guard::of(choice, errors),
            "rate" => {
                options.rate = choice.text(errors);
                if options.rate.as_ref().is_some_and(|class| class.value().trim().is_empty()) {
                    errors.at(&options.rate, "name a rate class, such as `rate = \"generation\"`");
                }
            }
            "tries" => {
                options.tries = tries(choice, errors);
                if kind == Kind::Query {
                    errors.at(&choice.name, "the scheduler does not run a #[query]; remove `tries`");
                }
            }
            "identity_hook" => {
                options.identity_hook = choice.flag(errors);
                if kind != Kind::Mutation {
                    errors.at(&choice.name, "the identity hook writes rows; make it a #[mutation]");
                }
            }
            "cache" => {
                options.cache = truth(choice, errors);
                if kind != Kind::Query {
                    errors.at(&choice.name, "only the results of a #[query] are cached; remove `cache`");
                }
            }
            "refresh" => {
                options.refresh = time(choice, errors);
                if kind != Kind::Query {
                    errors.at(&choice.name, "only a #[query] can be live; remove `refresh`");
                }
            }
            "tool" => options.tool = choice.flag(errors),
            _ => {
                let known = [
                    "internal",
                    "admin",
                    "form",
                    "rights",
                    "rate",
                    "tries",
                    "identity_hook",
                    "cache",
                    "refresh",
                    "tool",
                ];
                attributes::unknown(choice, &known, errors);
            }
        }
    }
    if options.internal && options.admin {
        let admin = choices.iter().find(|choice| choice.name == "admin").map(|choice| &choice.name);
        errors.at(
            admin,
            "`internal` already excludes all outside callers, including admins; choose `internal` or `admin`",
        );
    }
    options
}

fn truth(choice: &Choice, errors: &mut Errors) -> Option<bool> {
    let value = choice.expression(errors)?;
    match &value {
        Expr::Lit(ExprLit { lit: Lit::Bool(truth), .. }) => Some(truth.value),
        _ => {
            errors.at(&value, "write `cache = false` for a query whose results must not be cached");
            None
        }
    }
}

fn time(choice: &Choice, errors: &mut Errors) -> Option<Duration> {
    let value = choice.text(errors)?;
    match humantime::parse_duration(&value.value()) {
        Ok(time) if time >= Duration::from_millis(100) => Some(time),
        Ok(_) => {
            errors.at(&value, "`refresh` must be at least 100 ms");
            None
        }
        Err(_) => {
            errors.at(&value, "write a duration, such as `refresh = \"10s\"`");
            None
        }
    }
}

fn tries(choice: &Choice, errors: &mut Errors) -> Option<u32> {
    let value = choice.expression(errors)?;
    let number = match &value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse::<u32>().ok(),
        _ => None,
    };
    let number = number.filter(|number| *number > 0);
    if number.is_none() {
        errors.at(&value, "write a number of attempts greater than zero, such as `tries = 3`");
    }
    number
}

/// Rejects a function that is private in Rust but open to callers over the network. Each written visibility, including
/// `pub(crate)` and `pub(super)`, counts as public: crates without a library need no `pub`.
fn visible(written: &Written, options: &Options, errors: &mut Errors) {
    let is_private = match &written.item.vis {
        Visibility::Inherited => true,
        Visibility::Restricted(to) => to.path.is_ident("self"),
        Visibility::Public(_) => false,
    };
    if is_private && !options.internal {
        let Signature { fn_token, ident, .. } = &written.item.sig;
        let message = format!(
            "`{ident}` is private, but clients can call {} over the network; write `pub fn {ident}`, or `{}` for a \
             function that only the program itself calls",
            written.kind.attribute(),
            written.kind.with("internal"),
        );
        errors.at(quote::quote!(#fn_token #ident), message);
    }
}

/// Checks that a tool belongs to the public interface, and that a model can learn from its docs when to call it.
fn tool(written: &Written, errors: &mut Errors) {
    let option = |name: &str| written.options.iter().find(|choice| choice.name == name).map(|choice| &choice.name);
    let Some(tool) = option("tool") else { return };
    if option("internal").is_some() {
        errors.at(tool, "an `internal` function has no callers from outside, so it cannot be a tool; remove `tool`");
    } else if option("identity_hook").is_some() {
        errors.at(tool, "the runtime calls the identity hook, and agents cannot; remove `tool`");
    } else if option("admin").is_some() {
        errors.at(
            tool,
            "tools are listed to every caller, and an `admin` function is not public; remove `tool`, or replace `admin` by \
             `rights = …`",
        );
    }
    if attributes::docs(&written.item.attrs).is_empty() {
        errors.at(
            tool,
            "a tool needs a doc comment: a model reads it to decide when to call the function; write `/// …` above it",
        );
    }
}

/// Checks the words before `fn`, and the type parameters.
fn modifiers(kind: Kind, signature: &Signature, errors: &mut Errors) {
    let attribute = kind.attribute();
    match (kind, &signature.asyncness) {
        (Kind::Query, Some(word)) => {
            errors.at(word, "a #[query] reads one snapshot and cannot be `async`; use #[action] for work that waits")
        }
        (Kind::Mutation, Some(word)) => errors.at(
            word,
            "a #[mutation] runs inside one transaction and cannot be `async`; use #[action] for work that waits",
        ),
        (Kind::Action, None) => errors.at(
            signature.fn_token,
            "an #[action] waits for work outside the database; write `async fn`, or use #[query] or #[mutation]",
        ),
        (Kind::Query | Kind::Mutation, None) | (Kind::Action, Some(_)) => {}
    }
    if let Some(word) = &signature.constness {
        errors.at(word, format!("{attribute} runs when it is called; remove `const`"));
    }
    match &signature.safety {
        Safety::Unsafe(word) => {
            errors
                .at(word, format!("{attribute} is called by the runtime; remove `unsafe`, and use it inside the body"));
        }
        Safety::Safe(word) => errors.at(word, "remove `safe`: it belongs to functions of other languages"),
        Safety::Default => {}
    }
    if let Some(abi) = &signature.abi {
        errors.at(abi, format!("{attribute} is called over the wire, not by other languages; remove `extern`"));
    }
    if let Some(dots) = &signature.variadic {
        errors.at(dots, format!("{attribute} takes `(ctx)` or `(ctx, args)`"));
    }
    if !signature.generics.params.is_empty() {
        errors.at(
            &signature.generics.params,
            format!("{attribute} is called by its path and cannot be generic; write concrete types"),
        );
    } else if let Some(clause) = &signature.generics.where_clause {
        errors.at(clause, format!("{attribute} has no type parameters to constrain; remove the `where` clause"));
    }
}

/// The parameters of a function.
struct Parameters {
    /// Type of the context, without the reference.
    context: Type,
    /// Type of the arguments.
    args: Option<Type>,
}

fn parameters(kind: Kind, item: &ItemFn, rights: Option<&Guard>, errors: &mut Errors) -> Option<Parameters> {
    let (attribute, signature) = (kind.attribute(), &item.sig);
    if !associated::reject(item, &format!("{attribute} is called by its path"), errors) {
        return None;
    }
    let mut typed = signature.inputs.iter().filter_map(|input| match input {
        FnArg::Typed(typed) => Some(typed),
        FnArg::Receiver(_) => None,
    });
    let Some(first) = typed.next() else {
        errors.at(
            &signature.ident,
            format!("{attribute} takes its context as the first parameter: `{}`", context::parameter(kind)),
        );
        return None;
    };
    plain_name(&first.pat, errors);
    let context = context::check(kind, first, errors);
    let mut typed = typed.peekable();
    if let Some(rights) = rights {
        granted(kind, signature, rights, typed.next(), typed.peek().is_some(), errors);
    }
    let args = typed.next().and_then(|args| {
        plain_name(&args.pat, errors);
        args_type(&args.ty, errors)
    });
    let surplus: Vec<_> = typed.collect();
    if !surplus.is_empty() {
        let tokens: TokenStream = surplus.iter().map(|parameter| parameter.to_token_stream()).collect();
        let (without, with) = match rights {
            Some(_) => ("(ctx, granted)", "(ctx, granted, args)"),
            None => ("(ctx)", "(ctx, args)"),
        };
        let message = format!("{attribute} takes `{without}` or `{with}`; move further values into the args");
        errors.at(tokens, message);
    }
    Some(Parameters { context: context?, args })
}

/// Checks the second parameter, which takes the result of the rights check.
fn granted(
    kind: Kind,
    signature: &Signature,
    rights: &Guard,
    parameter: Option<&PatType>,
    takes_args: bool,
    errors: &mut Errors,
) {
    let (check, context) = (rights.name(), context::parameter(kind));
    let Some(parameter) = parameter else {
        let message = format!("take the result of `{check}` as the second parameter: `{context}, granted: …`");
        errors.at(&signature.ident, message);
        return;
    };
    if !takes_args && rights.takes_args() {
        let message = format!(
            "the second parameter takes the result of `{check}`, and the third one the arguments: \
             `{context}, granted: …, {}`",
            parameter.to_token_stream().to_string().replace(" :", ":"),
        );
        errors.at(parameter, message);
        return;
    }
    plain_name(&parameter.pat, errors);
    if let Type::Reference(reference) = &*parameter.ty {
        errors.at(reference, format!("the result of `{check}` is passed by value; write its type without `&`"));
    }
}

fn plain_name(pattern: &Pat, errors: &mut Errors) {
    match pattern {
        Pat::Ident(name) if name.by_ref.is_none() && name.subpat.is_none() => {}
        Pat::Wild(_) => {}
        other => errors.at(other, "give the parameter a name, and destructure it in the body"),
    }
}

/// Returns the type of the arguments, and reports its visible mistakes. The trait `Args` reports the others.
fn args_type(ty: &Type, errors: &mut Errors) -> Option<Type> {
    match ty {
        Type::Reference(reference) => {
            errors.at(reference, "the arguments are passed by value; write their type without `&`");
            Some((*reference.elem).clone())
        }
        Type::ImplTrait(_) | Type::Infer(_) => {
            errors.at(ty, "name the type of the arguments: a struct with #[args]");
            None
        }
        Type::Tuple(tuple) if tuple.elems.is_empty() => {
            errors.at(ty, "a function without arguments takes only the context");
            None
        }
        other => Some(other.clone()),
    }
}

fn output(kind: Kind, signature: &Signature, errors: &mut Errors) -> Option<Type> {
    match &signature.output {
        ReturnType::Default => {
            let message =
                format!("{} returns `Result<T>`; write `-> Result<()>` if it has nothing to return", kind.attribute());
            errors.add(syn::Error::new(signature.paren_token.span.close(), message));
            None
        }
        ReturnType::Type(_, ty) => {
            let mut hidden = HasImpl(false);
            syn::visit::visit_type(&mut hidden, ty);
            if hidden.0 {
                errors.at(ty, "name the return type: the description of the function contains it");
                return None;
            }
            Some((**ty).clone())
        }
    }
}

struct HasImpl(bool);

impl syn::visit::Visit<'_> for HasImpl {
    fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
        self.0 = true;
    }
}

/// Checks that a function that starts without a caller takes no arguments.
fn without_args(written: &Written, options: &Options, args: Option<&Type>, errors: &mut Errors) {
    if let (Kind::Query, Some(cron)) = (written.kind, written.crons.first()) {
        errors.at(cron, "a #[query] changes nothing, so a schedule has no effect; use #[mutation]");
    }
    let Some(args) = args else { return };
    if !written.crons.is_empty() {
        errors.at(args, "a function with #[cron] takes only the context and no arguments");
    }
    if options.identity_hook {
        errors.at(args, "the identity hook takes only the context; read the identity with `ctx.identity()`");
    }
}
