//! Settings of the application: typed sections of `convoke.toml`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;

/// A section of `convoke.toml` that belongs to the application, e.g. `[livekit]`.
///
/// [`crate::section!`] declares one whole: fields, defaults and what they mean. A section that is read in a way of its
/// own implements this trait and is registered by `convoke::section!(LiveKit);`. Either way a mistake in the file stops
/// the start and not the first call, and `convoke config example` shows the section: fields, defaults and doc comments
/// come from the type that is read.
pub trait Section: DeserializeOwned + Default + JsonSchema + Send + Sync + 'static {
    /// The table's name in the file.
    const NAME: &'static str;
}

/// A registered section: how to check it at start, and what it consists of.
pub struct SubmittedSection {
    /// The table's name.
    pub name: &'static str,
    /// Reads the section; says what does not fit.
    pub check: fn(toml::Value) -> Result<(), String>,
    /// The JSON schema of the table as it is read.
    pub schema: fn() -> serde_json::Value,
}
inventory::collect!(SubmittedSection);

/// What [`crate::section!`] registers.
pub const fn submitted<S: Section>() -> SubmittedSection {
    SubmittedSection {
        name: S::NAME,
        check: |value| value.try_into::<S>().map(|_| ()).map_err(|error| error.to_string()),
        schema: schema_of::<S>,
    }
}

/// The schema of a type as it is read, with everything in place.
pub fn schema_of<T: JsonSchema>() -> serde_json::Value {
    SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Declares a section of settings, or registers a [`Section`] that is declared elsewhere.
///
/// ```
/// # extern crate convoke_core as convoke;
/// convoke::section! {
///     /// What the shop decides.
///     pub struct Shop in "shop" {
///         /// Orders that one customer may make a day.
///         pub orders_per_day: u32 = 100,
///         /// What stands above every bill.
///         pub greeting: String = "Thank you".to_owned(),
///     }
/// }
///
/// assert_eq!(Shop::default().orders_per_day, 100);
/// ```
///
/// A function reads it with `ctx.settings::<Shop>()`; the file writes it as
///
/// ```toml
/// [shop]
/// orders_per_day = 20
/// ```
#[macro_export]
macro_rules! section {
    ($type:ty) => {
        $crate::__private::inventory::submit! { $crate::section::submitted::<$type>() }
    };
    ($(#[$about:meta])* $visible:vis struct $section:ident in $table:literal {
        $($(#[$doc:meta])* $field_visible:vis $name:ident: $type:ty = $default:expr),* $(,)?
    }) => {
        $(#[$about])*
        #[derive(
            Clone, Debug, PartialEq, $crate::__private::serde::Deserialize, $crate::__private::schemars::JsonSchema
        )]
        #[serde(crate = "::convoke::__private::serde", default, deny_unknown_fields)]
        #[schemars(crate = "::convoke::__private::schemars")]
        $visible struct $section { $($(#[$doc])* $field_visible $name: $type,)* }

        impl ::core::default::Default for $section {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        impl $crate::section::Section for $section {
            const NAME: &'static str = $table;
        }
        $crate::section!($section);
    };
}
