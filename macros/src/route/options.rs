//! The options of a route.

use std::time::Duration;

use syn::{Expr, ExprCall, ExprPath, Lit, LitStr};

use crate::attributes::{self, Choice};
use crate::errors::Errors;

/// The options of the attribute.
#[derive(Default)]
pub(super) struct Options {
    /// Check of the signature.
    pub verify: Option<Verify>,
    /// Place of the sender's event id.
    pub once: Option<Once>,
    /// Maximum bytes of a body.
    pub body_max: Option<usize>,
    /// Timeout of an action.
    pub timeout: Option<Duration>,
    /// True if pages of allowed origins may send requests.
    pub cors: bool,
    /// Rate class.
    pub rate: Option<LitStr>,
}

/// A check of a signature.
pub(super) enum Verify {
    /// The name of the variant, and the name of a secret.
    Named(&'static str, LitStr),
    /// The header and the secret of a bare HMAC.
    HmacSha256(LitStr, LitStr),
    /// A function of the author.
    Own(ExprPath),
}

impl Verify {
    /// Returns its name for the table of rights.
    pub(super) fn name(&self) -> String {
        match self {
            Verify::Named("StandardWebhooks", _) => "standard_webhooks".to_owned(),
            Verify::Named(variant, _) => variant.to_lowercase(),
            Verify::HmacSha256(..) => "hmac_sha256".to_owned(),
            Verify::Own(function) => {
                function.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default()
            }
        }
    }
}

/// The place of an event id.
pub(super) enum Once {
    Header(LitStr),
    Json(LitStr),
}

const VERIFY: &str = "write one of `standard_webhooks(\"SECRET\")`, `stripe(\"SECRET\")`, `github(\"SECRET\")`, \
                      `hmac_sha256(\"header\", \"SECRET\")`, or the name of a function `fn(&Unverified<'_>) -> Result<()>`";
const ONCE: &str = "write `once = header(\"webhook-id\")` or `once = json(\"/id\")`";

/// Reads the options.
pub(super) fn read(choices: &[Choice], errors: &mut Errors) -> Options {
    let mut options = Options::default();
    for choice in choices {
        match choice.name.to_string().as_str() {
            "verify" => options.verify = verify(choice, errors),
            "once" => options.once = once(choice, errors),
            "body_max" => options.body_max = size(choice, errors),
            "timeout" => options.timeout = time(choice, errors),
            "cors" => options.cors = truth(choice, errors),
            "rate" => {
                options.rate = choice.text(errors);
                if options.rate.as_ref().is_some_and(|class| class.value().trim().is_empty()) {
                    errors.at(&options.rate, "name a rate class, such as `rate = \"webhooks\"`");
                }
            }
            _ => attributes::unknown(choice, &["verify", "once", "body_max", "timeout", "cors", "rate"], errors),
        }
    }
    options
}

fn verify(choice: &Choice, errors: &mut Errors) -> Option<Verify> {
    let value = choice.expression(errors)?;
    let found = match &value {
        Expr::Path(function) => Some(Verify::Own(function.clone())),
        Expr::Call(call) => match (called(call).as_str(), &texts(call)[..]) {
            ("standard_webhooks", [secret]) => Some(Verify::Named("StandardWebhooks", secret.clone())),
            ("stripe", [secret]) => Some(Verify::Named("Stripe", secret.clone())),
            ("github", [secret]) => Some(Verify::Named("Github", secret.clone())),
            ("hmac_sha256", [header, secret]) => Some(Verify::HmacSha256(header.clone(), secret.clone())),
            _ => None,
        },
        _ => None,
    };
    match &found {
        Some(Verify::Named(_, secret)) => secret_name(secret, errors),
        Some(Verify::HmacSha256(header, secret)) => {
            header_name(header, errors);
            secret_name(secret, errors);
        }
        Some(Verify::Own(_)) => {}
        None => errors.at(&value, VERIFY),
    }
    found
}

fn once(choice: &Choice, errors: &mut Errors) -> Option<Once> {
    let value = choice.expression(errors)?;
    let found = match &value {
        Expr::Call(call) => match (called(call).as_str(), &texts(call)[..]) {
            ("header", [name]) => Some(Once::Header(name.clone())),
            ("json", [pointer]) => Some(Once::Json(pointer.clone())),
            _ => None,
        },
        _ => None,
    };
    match &found {
        Some(Once::Header(name)) => header_name(name, errors),
        Some(Once::Json(pointer)) if !pointer.value().starts_with('/') => {
            errors.at(pointer, "a JSON pointer begins with `/`, such as \"/id\"");
        }
        Some(Once::Json(_)) => {}
        None => errors.at(&value, ONCE),
    }
    found
}

fn called(call: &ExprCall) -> String {
    match &*call.func {
        Expr::Path(path) => path.path.get_ident().map(ToString::to_string).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Returns the arguments, if all of them are texts.
fn texts(call: &ExprCall) -> Vec<LitStr> {
    let texts = call.args.iter().map(|arg| match arg {
        Expr::Lit(syn::ExprLit { lit: Lit::Str(text), .. }) => Some(text.clone()),
        _ => None,
    });
    texts.collect::<Option<_>>().unwrap_or_default()
}

fn secret_name(name: &LitStr, errors: &mut Errors) {
    let fits = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    let text = name.value();
    if text.is_empty() || text.len() > 64 || !text.chars().all(fits) {
        errors.at(name, "name a secret of the installation with A-Z, 0-9 and _, such as \"PAYMENTS_SECRET\"");
    }
}

fn header_name(name: &LitStr, errors: &mut Errors) {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    let text = name.value();
    if text.is_empty() || !text.chars().all(fits) {
        errors.at(name, "name a header in lower case, such as \"webhook-id\"");
    }
}

fn truth(choice: &Choice, errors: &mut Errors) -> bool {
    match choice.expression(errors) {
        Some(Expr::Lit(syn::ExprLit { lit: Lit::Bool(truth), .. })) => truth.value,
        Some(other) => {
            errors.at(other, "write `cors = true` for a route that pages of allowed origins may use");
            false
        }
        None => false,
    }
}

fn time(choice: &Choice, errors: &mut Errors) -> Option<Duration> {
    let value = choice.text(errors)?;
    let time = humantime::parse_duration(&value.value()).ok().filter(|time| *time >= Duration::from_secs(1));
    if time.is_none() {
        errors.at(&value, "write a duration of at least one second, such as `timeout = \"5m\"`");
    }
    time
}

fn size(choice: &Choice, errors: &mut Errors) -> Option<usize> {
    let value = choice.text(errors)?;
    let bytes = bytes(&value.value());
    if bytes.is_none() {
        errors.at(&value, "write a number of bytes greater than zero, such as `body_max = \"64MiB\"`");
    }
    bytes
}

fn bytes(text: &str) -> Option<usize> {
    let units = [("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)];
    let (number, unit) = units.iter().find_map(|(name, unit)| Some((text.strip_suffix(name)?, *unit)))?;
    number.trim().parse::<usize>().ok()?.checked_mul(unit).filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_has_a_binary_unit() {
        for (text, expected) in [
            ("64MiB", Some(64 << 20)),
            ("1 KiB", Some(1024)),
            ("7B", Some(7)),
            ("0B", None),
            ("64", None),
            ("64MB", None),
            ("-1KiB", None),
        ] {
            assert_eq!(bytes(text), expected, "{text}");
        }
    }
}
