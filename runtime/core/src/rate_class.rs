//! Classes of calls, and how many of each one identity may make: the runtime's own, and those that a program registers.

use std::time::Duration;

/// A class of calls and how many of them one identity may make.
#[derive(Clone, Copy, Debug)]
pub struct RateClass {
    /// What functions name: `#[mutation(rate = "tokens")]`.
    pub name: &'static str,
    /// Calls a period; 0 = no limit.
    pub calls: u32,
    /// The period.
    pub per: Duration,
    /// Why it is so many: what the configuration reference shows.
    pub doc: &'static str,
}
inventory::collect!(RateClass);

/// Queries that name no class.
pub const READ: RateClass = RateClass { name: "read", calls: 6_000, per: MINUTE, doc: "Queries that name no class." };
/// Mutations and actions that name no class.
pub const WRITE: RateClass =
    RateClass { name: "write", calls: 3_000, per: MINUTE, doc: "Mutations and actions that name no class." };
const MINUTE: Duration = Duration::from_secs(60);

/// Registers a class for functions of this program: `convoke::rate_class!("tokens", 120, per 60 s)`. Doc comments in
/// front of the name stand in the configuration reference.
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
    /// The classes of this program, by name.
    pub fn all() -> Vec<RateClass> {
        let mut all = vec![READ, WRITE];
        all.extend(inventory::iter::<RateClass>().copied());
        all.sort_unstable_by_key(|class| class.name);
        all
    }
}
