//! Classes of calls with a rate limit per identity: those of the runtime, and those that a program registers.

use std::time::Duration;

/// A class of calls with its rate limit per identity.
#[derive(Clone, Copy, Debug)]
pub struct RateClass {
    /// The name in the attribute: `#[mutation(rate = "tokens")]`.
    pub name: &'static str,
    /// Calls per period; 0 = no limit.
    pub calls: u32,
    /// The period.
    pub per: Duration,
    /// The description in the configuration reference.
    pub doc: &'static str,
}
inventory::collect!(RateClass);

/// Queries without a class.
pub const READ: RateClass = RateClass { name: "read", calls: 6_000, per: MINUTE, doc: "Queries without a class." };
/// Mutations and actions without a class.
pub const WRITE: RateClass =
    RateClass { name: "write", calls: 3_000, per: MINUTE, doc: "Mutations and actions without a class." };
const MINUTE: Duration = Duration::from_secs(60);

/// Registers a class for functions of this program: `convoke::rate_class!("tokens", 120, per 60 s)`. Doc comments
/// before the name are its description in the configuration reference.
#[macro_export]
macro_rules! rate_class {
    ($(#[doc = $doc:literal])* $name:literal, $calls:literal, per $seconds:literal s) => {
        $crate::__private::inventory::submit! {
            $crate::rate_class::RateClass {
                name: $name,
                calls: $calls,
                per: ::core::time::Duration::from_secs($seconds),
                doc: ::core::concat!($($doc),*),
            }
        }
    };
}

impl RateClass {
    /// Returns the classes of this program, sorted by name.
    pub fn all() -> Vec<RateClass> {
        let mut all = vec![READ, WRITE];
        all.extend(inventory::iter::<RateClass>().copied());
        all.sort_unstable_by_key(|class| class.name);
        all
    }
}
