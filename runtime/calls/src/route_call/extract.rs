//! The extractors: the parameters of a route's function, each of which reads one part of the request.

use std::ops::{Deref, DerefMut};

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use super::text_values;
use crate::codec::decode;
use crate::route::definition::{Parameter, Source};
use crate::route::request::RouteRequest;
use convoke_core::error::{Code, Error, Result};

/// A parameter of a route's function.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an extractor",
    label = "a route does not know from which part of the request to read it",
    note = "use Json<…>, Path<…>, Query<…>, Form<…>, Headers, Bytes or Request"
)]
pub trait FromRequest: Clone + Send + 'static {
    /// The part of the request that it reads.
    #[doc(hidden)]
    const SOURCE: Source;

    /// Returns the JSON schema of its value.
    #[doc(hidden)]
    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let _ = generator;
        Schema::default()
    }

    /// Reads it. `name` and `place` are those of the parameter.
    #[doc(hidden)]
    fn from_request(request: &RouteRequest, name: &'static str, place: usize) -> Result<Self>;
}

impl Parameter {
    /// Returns the parameter of this type.
    pub const fn of<T: FromRequest>(name: &'static str) -> Self {
        Self { name, source: T::SOURCE, schema: T::schema }
    }
}

/// A type that an extractor can read.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from a request",
    label = "`Json`, `Path`, `Query` and `Form` need a type with a JSON form and a schema",
    note = "put #[args] or #[value] above the struct, or use a number, a String or an Id"
)]
pub trait Extracted: Clone + Send + 'static {
    /// Reads it from JSON that is already validated.
    #[doc(hidden)]
    fn read(json: &str) -> Result<Self>;

    /// Returns its JSON schema.
    #[doc(hidden)]
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Clone + Send + 'static> Extracted for T {
    fn read(json: &str) -> Result<Self> {
        decode::plain(json)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

macro_rules! wrappers {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name<T>(pub T);

        impl<T> Deref for $name<T> {
            type Target = T;

            fn deref(&self) -> &T {
                &self.0
            }
        }

        impl<T> DerefMut for $name<T> {
            fn deref_mut(&mut self) -> &mut T {
                &mut self.0
            }
        }
    )*};
}

wrappers! {
    /// The body as JSON, as strict as the arguments of a call: no unknown or repeated members.
    ///
    /// # Errors
    /// `UNSUPPORTED_MEDIA_TYPE`: the content type is neither `application/json` nor `application/…+json`, or the body is
    /// compressed. `INVALID_JSON`; `INVALID_ARGUMENT` with the path of the mistake.
    Json;

    /// The part of the path with the name of the parameter: `meeting: Path<…>` reads `{meeting}`.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with the name of the parameter.
    Path;

    /// The query, as the members of a struct. A member of an array may be repeated.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` with the name of the member: missing, unknown, of the wrong type, or sent twice.
    Query;

    /// The body as `application/x-www-form-urlencoded`, as the members of a struct.
    ///
    /// # Errors
    /// `UNSUPPORTED_MEDIA_TYPE`: another content type, or the body is compressed. `INVALID_ARGUMENT` as for [`Query`].
    Form;
}

/// All headers of the request.
///
/// # Errors
/// None.
#[derive(Clone, Debug)]
pub struct Headers(pub HeaderMap);

impl Headers {
    /// Returns a header as text: the first one if it is sent more than once, `None` if it is missing or not ASCII.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.to_str().ok()
    }
}

impl<T: Extracted> FromRequest for Json<T> {
    const SOURCE: Source = Source::Json;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }

    fn from_request(request: &RouteRequest, _: &'static str, _: usize) -> Result<Self> {
        let is_json = |essence: &str| {
            let suffix = essence.get(essence.len().saturating_sub(5)..);
            essence.eq_ignore_ascii_case("application/json")
                || (essence.len() > "application/+json".len()
                    && essence.get(..12).is_some_and(|start| start.eq_ignore_ascii_case("application/"))
                    && suffix.is_some_and(|end| end.eq_ignore_ascii_case("+json")))
        };
        check_content(request, is_json, "application/json")?;
        if request.body().is_empty() {
            return Err(Error::new(Code::InvalidJson, "The body is empty; send a JSON value"));
        }
        let json = decode::strict(request.body(), JSON_DEPTH_MAX)?;
        T::read(json).map(Self)
    }
}

/// Maximum nesting of a body.
const JSON_DEPTH_MAX: usize = 64;

impl<T: Extracted> FromRequest for Path<T> {
    const SOURCE: Source = Source::Path;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }

    fn from_request(request: &RouteRequest, name: &'static str, place: usize) -> Result<Self> {
        let text = request.path_value(name).ok_or_else(|| Error::internal(format!("no {name} in the path")))?;
        let json = text_values::value(text, request.schema(place)).to_string();
        T::read(&json).map(Self).map_err(|error| Error::invalid_argument(name, named(error.message(), name)))
    }
}

/// Names the parameter in a message about the whole value.
fn named(message: &str, name: &str) -> String {
    match message.strip_prefix("args: ") {
        Some(rest) => format!("{name}: {rest}"),
        None => format!("{name}: {message}"),
    }
}

impl<T: Extracted> FromRequest for Query<T> {
    const SOURCE: Source = Source::Query;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }

    fn from_request(request: &RouteRequest, _: &'static str, place: usize) -> Result<Self> {
        let query = request.uri().query().unwrap_or_default();
        T::read(&text_values::object(query.as_bytes(), request.schema(place))?.to_string()).map(Self)
    }
}

impl<T: Extracted> FromRequest for Form<T> {
    const SOURCE: Source = Source::Form;

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        T::schema(generator)
    }

    fn from_request(request: &RouteRequest, _: &'static str, place: usize) -> Result<Self> {
        const FORM: &str = "application/x-www-form-urlencoded";
        check_content(request, |essence| essence.eq_ignore_ascii_case(FORM), FORM)?;
        T::read(&text_values::object(request.body(), request.schema(place))?.to_string()).map(Self)
    }
}

impl FromRequest for Headers {
    const SOURCE: Source = Source::Headers;

    fn from_request(request: &RouteRequest, _: &'static str, _: usize) -> Result<Self> {
        Ok(Self(request.headers().clone()))
    }
}

/// The body as it was sent, whatever its content type.
impl FromRequest for Bytes {
    const SOURCE: Source = Source::Bytes;

    fn from_request(request: &RouteRequest, _: &'static str, _: usize) -> Result<Self> {
        Ok(request.body().clone())
    }
}

/// The whole request.
impl FromRequest for RouteRequest {
    const SOURCE: Source = Source::Request;

    fn from_request(request: &RouteRequest, _: &'static str, _: usize) -> Result<Self> {
        Ok(request.clone())
    }
}

fn check_content(request: &RouteRequest, fits: impl Fn(&str) -> bool, expected: &str) -> Result<()> {
    let unsupported = |message: String| Error::new(Code::UnsupportedMediaType, message);
    let mut declared = request.headers().get_all(CONTENT_TYPE).iter();
    let essence = declared.next().and_then(|value| value.to_str().ok()).and_then(|value| value.split(';').next());
    if declared.next().is_some() || !essence.is_some_and(|essence| fits(essence.trim())) {
        return Err(unsupported(format!("The body must be declared as {expected}.")));
    }
    let coding = request.headers().get(CONTENT_ENCODING);
    match coding.is_none_or(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        true => Ok(()),
        false => Err(unsupported("The body must not be compressed.".to_owned())),
    }
}
