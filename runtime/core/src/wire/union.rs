//! Tagged unions: objects whose tag selects one of several variants, such as `{"type": "moved", "to": "Turin"}`.

use std::vec;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess};
use serde_json::Value;

use super::object::choice;

/// The text before and after the path of a member in an error; see [`at`].
const AT: (&str, &str) = ("at `", "`: ");

/// Reads the members of an object up to its tag. Returns the index of the tag's text in `texts` and all other members,
/// including those before the tag.
///
/// # Errors
/// The tag is missing or is not one of `texts`.
pub fn tagged<'de, A: MapAccess<'de>>(
    mut map: A,
    tag: &'static str,
    texts: &'static [&'static str],
) -> Result<(usize, Members<A>), A::Error> {
    struct Text(&'static [&'static str]);
    impl<'de> DeserializeSeed<'de> for Text {
        type Value = usize;
        fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
            choice(deserializer, self.0)
        }
    }
    let mut before = Vec::new();
    while let Some(name) = map.next_key::<String>()? {
        if name == tag {
            let place = map.next_value_seed(Text(texts))?;
            return Ok((place, Members { before: before.into_iter(), value: None, rest: map }));
        }
        before.push((name, map.next_value()?));
    }
    Err(A::Error::missing_field(tag))
}

/// The members of an object without its tag.
pub struct Members<A> {
    before: vec::IntoIter<(String, Value)>,
    /// The member of `before` whose name was read.
    value: Option<(String, Value)>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Members<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.before.next() {
            Some((name, value)) => {
                let key = seed.deserialize(StrDeserializer::new(&name))?;
                self.value = Some((name, value));
                Ok(Some(key))
            }
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let Some((name, value)) = self.value.take() else { return self.rest.next_value_seed(seed) };
        let mut track = serde_path_to_error::Track::new();
        seed.deserialize(serde_path_to_error::Deserializer::new(value, &mut track)).map_err(|error| {
            // The outer reader knows the path up to this object, but not the path within a buffered value.
            let within = track.path().to_string();
            let path = match within.as_str() {
                "." => name,
                within if within.starts_with('[') => format!("{name}{within}"),
                within => format!("{name}.{within}"),
            };
            A::Error::custom(format_args!("{}{path}{}{error}", AT.0, AT.1))
        })
    }
}

/// Splits the error of a member before the tag into its path and the rest of its text.
pub fn at(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix(AT.0)?.split_once(AT.1)
}
