//! Settings of the application: typed sections of `convoke.toml`.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;

/// A section of `convoke.toml` that belongs to the application, such as `[livekit]`.
///
/// [`crate::section!`] declares a section with its fields, defaults and descriptions. A section with its own
/// `Deserialize` implements this trait and is registered with `convoke::section!(LiveKit);`. In both cases, an error in
/// the file stops the start, and `convoke config example` shows the fields, defaults and doc comments of the section.
pub trait Section: DeserializeOwned + Default + JsonSchema + Send + Sync + 'static {
    /// The table's name in the file.
    const NAME: &'static str;

    /// Returns the names of the secrets that functions need with these settings. The server logs at start which of them
    /// are not set, and `convoke doctor` reports them.
    fn secrets(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// A registered section, with its check at start and its schema.
pub struct SubmittedSection {
    /// The table's name.
    pub name: &'static str,
    /// Parses the section and returns the error, if any.
    pub check: fn(toml::Value) -> Result<(), String>,
    /// Parses the section and returns the names of the secrets that it needs; none if it is wrong.
    pub secrets: fn(toml::Value) -> Vec<&'static str>,
    /// Returns the JSON schema of the table.
    pub schema: fn() -> serde_json::Value,
}
inventory::collect!(SubmittedSection);

/// Returns the entry that [`crate::section!`] registers.
pub const fn submitted<S: Section>() -> SubmittedSection {
    SubmittedSection {
        name: S::NAME,
        check: |value| value.try_into::<S>().map(|_| ()).map_err(|error| error.to_string()),
        secrets: |value| value.try_into::<S>().map_or_else(|_| Vec::new(), |section| section.secrets()),
        schema: schema_of::<S>,
    }
}

/// Returns the schema of a type, with all references inlined.
pub fn schema_of<T: JsonSchema>() -> serde_json::Value {
    SchemaSettings::draft2020_12()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Declares a section of settings, or registers an existing [`Section`].
///
/// ```
/// # extern crate convoke_core as convoke;
/// convoke::section! {
///     /// Settings of the shop.
///     pub struct Shop in "shop" {
///         /// Orders per customer and day.
///         pub orders_per_day: u32 = 100,
///         /// The first line of each bill.
///         pub greeting: String = "Thank you".to_owned(),
///     }
/// }
///
/// assert_eq!(Shop::default().orders_per_day, 100);
/// ```
///
/// A function reads it with `ctx.settings::<Shop>()`. Its form in the file is
///
/// ```toml
/// [shop]
/// orders_per_day = 20
/// ```
#[macro_export]
macro_rules! section {
    ($type:ty) => {
        $crate::__private::inventory::submit! { $crate::sections::submitted::<$type>() }
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

        impl $crate::sections::Section for $section {
            const NAME: &'static str = $table;
        }
        $crate::section!($section);
    };
}
