//! The one error type of functions and of calls, and the closed set of its codes.
//!
//! Every spelling, its HTTP status and whether a retry can help are written here and nowhere else.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

/// What a function returns: its value, or an [`Error`] with a code.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Declares the codes with their spelling, HTTP status and whether the same call may succeed later.
macro_rules! codes {
    ($($(#[doc = $doc:literal])* $variant:ident = $text:literal, $status:literal, $retry:literal;)*) => {
        /// What went wrong, as a client switches on it (`errorData.code`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])* $variant,)* }

        impl Code {
            /// Every code, in the order in which clients read of them.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The spelling on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }

            /// The HTTP status of a reply with this code.
            pub const fn status(self) -> u16 {
                match self { $(Code::$variant => $status,)* }
            }

            /// What it means, in a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Code::$variant => concat!($($doc),*).trim_ascii_start(),)* }
            }

            /// Whether the same call, sent again later, can succeed without a change by the caller.
            pub const fn retryable(self) -> bool {
                match self { $(Code::$variant => $retry,)* }
            }
        }
    };
}

codes! {
    /// The function needs a caller and there is none.
    Unauthenticated = "UNAUTHENTICATED", 200, false;
    /// The caller has no right to do this.
    Forbidden = "FORBIDDEN", 200, false;
    /// The thing named does not exist, or is not the caller's.
    NotFound = "NOT_FOUND", 200, false;
    /// An argument is missing, unknown, of the wrong type, or out of bounds; `field` names it.
    InvalidArgument = "INVALID_ARGUMENT", 200, false;
    /// It collides with what is stored.
    Conflict = "CONFLICT", 200, false;
    /// The idempotency key was used with other arguments.
    IdempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED", 200, false;
    /// The state of things does not allow it.
    FailedPrecondition = "FAILED_PRECONDITION", 200, false;
    /// Too many calls, or too much of something, by this caller.
    RateLimited = "RATE_LIMITED", 200, true;
    /// A service outside failed.
    ProviderError = "PROVIDER_ERROR", 200, true;
    /// The function ran longer than it may; nothing of it was kept.
    Timeout = "TIMEOUT", 200, true;
    /// It cannot be done now.
    Unavailable = "UNAVAILABLE", 200, true;
    /// The body is not JSON, has a duplicate key, or nests too deep.
    InvalidJson = "INVALID_JSON", 400, false;
    /// The body is JSON but not a call's envelope.
    InvalidEnvelope = "INVALID_ENVELOPE", 400, false;
    /// `format` names a transport that is not supported.
    UnsupportedFormat = "UNSUPPORTED_FORMAT", 400, false;
    /// No public function has this path.
    FunctionNotFound = "FUNCTION_NOT_FOUND", 400, false;
    /// The function is of another kind than the route.
    WrongFunctionKind = "WRONG_FUNCTION_KIND", 400, false;
    /// The credentials that were sent are not valid.
    InvalidCredentials = "INVALID_CREDENTIALS", 401, false;
    /// The deploy key is valid and lacks the scope.
    InsufficientScope = "INSUFFICIENT_SCOPE", 403, false;
    /// Not a route.
    RouteNotFound = "ROUTE_NOT_FOUND", 404, false;
    /// A route, but not with this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405, false;
    /// The request did not arrive in time.
    RequestTimeout = "REQUEST_TIMEOUT", 408, true;
    /// The body is larger than the limit.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", 413, false;
    /// The body is not declared as JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415, false;
    /// Too many calls of one address.
    TooManyRequests = "TOO_MANY_REQUESTS", 429, true;
    /// The header block is larger than the limit.
    HeadersTooLarge = "HEADERS_TOO_LARGE", 431, false;
    /// The request cannot be read as HTTP.
    BadRequest = "BAD_REQUEST", 400, false;
    /// Something broke inside; the log has the reason under the request id.
    Internal = "INTERNAL", 500, false;
    /// It is unknown whether the mutation was committed.
    CommitUnknown = "COMMIT_UNKNOWN", 500, false;
    /// More calls wait than may.
    Overloaded = "OVERLOADED", 503, true;
    /// Starting, draining, or the store or identity keys cannot be used now.
    NotReady = "NOT_READY", 503, true;
}

impl Code {
    /// Returns whether the call failed by no rule: the server, the function's code or a service outside could not do it. Any
    /// other error is a refusal.
    pub const fn is_failure(self) -> bool {
        matches!(
            self,
            Code::ProviderError
                | Code::Timeout
                | Code::Unavailable
                | Code::Internal
                | Code::CommitUnknown
                | Code::Overloaded
                | Code::NotReady
        )
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// The sentence every client sees for [`Code::Internal`]; the cause stays in the log.
pub const INTERNAL_MESSAGE: &str = "Internal error. The server's log has the reason under this request id.";

/// A refusal or failure: a [`Code`], a sentence for the client, and extra data beside the code.
///
/// `Display` is what the client reads. The source, where there is one, is for the operator's log only.
pub struct Error(Box<Inner>);

struct Inner {
    code: Code,
    message: Cow<'static, str>,
    data: Map<String, Value>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// One constructor a code that functions use.
macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $code:ident;)*) => {
        $($(#[$doc])* pub fn $name(message: impl Into<Cow<'static, str>>) -> Self {
            Self::new(Code::$code, message)
        })*
    };
}

impl Error {
    /// An error with this code and sentence.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { code, message: message.into(), data: Map::new(), source: None }))
    }

    constructors! {
        /// `UNAUTHENTICATED`.
        unauthenticated => Unauthenticated;
        /// `FORBIDDEN`.
        forbidden => Forbidden;
        /// `NOT_FOUND`.
        not_found => NotFound;
        /// `CONFLICT`.
        conflict => Conflict;
        /// `FAILED_PRECONDITION`.
        failed_precondition => FailedPrecondition;
        /// `RATE_LIMITED`.
        rate_limited => RateLimited;
        /// `PROVIDER_ERROR`.
        provider => ProviderError;
        /// `TIMEOUT`.
        timeout => Timeout;
        /// `UNAVAILABLE`.
        unavailable => Unavailable;
        /// `OVERLOADED`.
        overloaded => Overloaded;
        /// `NOT_READY`.
        not_ready => NotReady;
    }

    /// `INVALID_ARGUMENT` for the argument at `field`, a path such as `interests[2].category`.
    pub fn invalid_argument(field: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidArgument, message).with("field", field.into())
    }

    /// `INTERNAL`: the client reads one fixed sentence, the log gets `cause`.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let mut error = Self::new(Code::Internal, INTERNAL_MESSAGE);
        error.0.source = Some(cause.into());
        error
    }

    /// As [`Error::internal`], of what a function panicked with.
    pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::internal(format!("the function panicked: {}", text.unwrap_or("without a message")))
    }

    /// Adds a member to `errorData`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.data.insert(key.to_owned(), value.into());
        self
    }

    /// The same, with its members written another way.
    pub fn with_data(mut self, write: impl FnOnce(&Map<String, Value>) -> Map<String, Value>) -> Self {
        self.0.data = write(&self.0.data);
        self
    }

    /// Adds the cause, for the log.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(cause.into());
        self
    }

    /// The code.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The sentence for the client.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The members of `errorData` beside `code`.
    pub fn data(&self) -> &Map<String, Value> {
        &self.0.data
    }

    /// The argument that an `INVALID_ARGUMENT` is about.
    pub fn field(&self) -> Option<&str> {
        self.0.data.get("field").and_then(Value::as_str)
    }

    /// Cause by cause, outermost first, for the log.
    pub fn chain(&self) -> String {
        let mut text = self.message().to_owned();
        let mut next = std::error::Error::source(self);
        while let Some(cause) = next {
            text.push_str(": ");
            text.push_str(&cause.to_string());
            next = cause.source();
        }
        text
    }
}

/// An error that `?` turns into an [`Error`]: its meaning for the client is known.
///
/// It is a trait of its own, so that rustc says what to do with an error whose meaning is not known.
#[diagnostic::on_unimplemented(
    message = "`?` does not know what `{Self}` means for the client",
    label = "it has no code that the client could switch on",
    note = "a mistake of the caller: `.map_err(|error| Error::invalid_argument(\"field\", error.to_string()))?`",
    note = "a fault of the server: `.map_err(Error::internal)?`; the client reads one fixed sentence, the log has the cause",
    note = "for an error of your own: `impl From<{Self}> for Error`"
)]
pub trait IntoError {
    /// The error with its code.
    fn into_error(self) -> Error;
}

impl<E: IntoError> From<E> for Error {
    fn from(error: E) -> Self {
        error.into_error()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.chain())?;
        if !self.0.data.is_empty() {
            write!(f, " {}", Value::Object(self.0.data.clone()))?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// `errorData` as the client reads it: the code first, then the rest.
impl Serialize for Error {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(1 + self.0.data.len()))?;
        map.serialize_entry("code", &self.0.code)?;
        for (key, value) in &self.0.data {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_data_has_the_code_first_and_the_field_beside_it() {
        let error = Error::invalid_argument("interests[2].category", "must be one of a, b");
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"code":"INVALID_ARGUMENT","field":"interests[2].category"}"#
        );
    }

    #[test]
    fn an_internal_error_hides_its_cause_from_the_client_and_keeps_it_for_the_log() {
        let error = Error::internal("disk on fire");
        assert_eq!(error.to_string(), INTERNAL_MESSAGE);
        assert!(error.chain().ends_with("disk on fire"));
    }
}
