//! Settings of the application: typed sections of `convoke.toml`.

use serde::de::DeserializeOwned;

/// A section of `convoke.toml` that belongs to the application, e.g. `[livekit]`.
///
/// Register it with [`crate::section!`], so that a mistake in it stops the start and not the first call.
pub trait Section: DeserializeOwned + Default + Send + Sync + 'static {
    /// The table's name in the file.
    const NAME: &'static str;
}

/// A registered section: how to check it at start.
pub struct SubmittedSection {
    /// The table's name.
    pub name: &'static str,
    /// Reads the section; says what does not fit.
    pub check: fn(toml::Value) -> Result<(), String>,
}
inventory::collect!(SubmittedSection);

/// What [`crate::section!`] registers.
pub const fn submitted<S: Section>() -> SubmittedSection {
    SubmittedSection {
        name: S::NAME,
        check: |value| value.try_into::<S>().map(|_| ()).map_err(|error| error.to_string()),
    }
}

/// Registers a [`Section`], so that it is checked at start: `convoke::section!(LiveKit);`.
#[macro_export]
macro_rules! section {
    ($type:ty) => {
        $crate::__private::inventory::submit! { $crate::settings::submitted::<$type>() }
    };
}
