//! The error type of functions and calls, and the closed set of its codes.
//!
//! Each code, its HTTP status and its retry rule are defined here and nowhere else.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

/// The result of a function: its value, or an [`Error`] with a code.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Declares the codes with their text on the wire, their HTTP status, and true if a retry of the same call can succeed.
macro_rules! codes {
    ($($(#[doc = $doc:literal])* $variant:ident = $text:literal, $status:literal, $retry:literal;)*) => {
        /// The kind of an error, which clients read as `errorData.code`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[doc = $doc])* $variant,)* }

        impl Code {
            /// All codes, in the order of the documentation for clients.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The text on the wire.
            pub const fn as_str(self) -> &'static str {
                match self { $(Code::$variant => $text,)* }
            }

            /// The HTTP status of a reply with this code.
            pub const fn status(self) -> u16 {
                match self { $(Code::$variant => $status,)* }
            }

            /// The meaning, as one sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $(Code::$variant => concat!($($doc),*).trim_ascii_start(),)* }
            }

            /// True if a later retry of the same call can succeed.
            pub const fn retryable(self) -> bool {
                match self { $(Code::$variant => $retry,)* }
            }
        }
    };
}

codes! {
    /// The function requires an authenticated caller, and the call has no credentials.
    Unauthenticated = "UNAUTHENTICATED", 200, false;
    /// The caller has no right to do this.
    Forbidden = "FORBIDDEN", 200, false;
    /// The named object does not exist, or the caller has no access to it.
    NotFound = "NOT_FOUND", 200, false;
    /// An argument is missing, unknown, of the wrong type, or out of bounds; `field` names it.
    InvalidArgument = "INVALID_ARGUMENT", 200, false;
    /// The change conflicts with stored data.
    Conflict = "CONFLICT", 200, false;
    /// The idempotency key was used with other arguments.
    IdempotencyKeyReused = "IDEMPOTENCY_KEY_REUSED", 200, false;
    /// The current state does not allow the call.
    FailedPrecondition = "FAILED_PRECONDITION", 200, false;
    /// The caller made too many calls or used too much of a resource.
    RateLimited = "RATE_LIMITED", 200, true;
    /// An external service failed.
    ProviderError = "PROVIDER_ERROR", 200, true;
    /// The function ran into its timeout and was rolled back.
    Timeout = "TIMEOUT", 200, true;
    /// The call cannot be served now.
    Unavailable = "UNAVAILABLE", 200, true;
    /// The body is not JSON, has a duplicate key, or nests too deep.
    InvalidJson = "INVALID_JSON", 400, false;
    /// The body is JSON but not a call's envelope.
    InvalidEnvelope = "INVALID_ENVELOPE", 400, false;
    /// `format` names a transport that is not supported.
    UnsupportedFormat = "UNSUPPORTED_FORMAT", 400, false;
    /// No public function has this path.
    FunctionNotFound = "FUNCTION_NOT_FOUND", 400, false;
    /// The route is for another kind of function.
    WrongFunctionKind = "WRONG_FUNCTION_KIND", 400, false;
    /// The credentials that were sent are not valid.
    InvalidCredentials = "INVALID_CREDENTIALS", 401, false;
    /// The signature of a webhook is missing, wrong or too old.
    InvalidSignature = "INVALID_SIGNATURE", 401, false;
    /// The deploy key is valid but lacks the scope.
    InsufficientScope = "INSUFFICIENT_SCOPE", 403, false;
    /// There is no such route.
    RouteNotFound = "ROUTE_NOT_FOUND", 404, false;
    /// The route does not have this method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405, false;
    /// The request did not arrive in time.
    RequestTimeout = "REQUEST_TIMEOUT", 408, true;
    /// The body is larger than the limit.
    PayloadTooLarge = "PAYLOAD_TOO_LARGE", 413, false;
    /// The body is not declared as JSON.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415, false;
    /// The address made too many calls.
    TooManyRequests = "TOO_MANY_REQUESTS", 429, true;
    /// The header block is larger than the limit.
    HeadersTooLarge = "HEADERS_TOO_LARGE", 431, false;
    /// The request cannot be read as HTTP.
    BadRequest = "BAD_REQUEST", 400, false;
    /// The server failed; its log has the reason under the request id.
    Internal = "INTERNAL", 500, false;
    /// It is unknown whether the mutation was committed.
    CommitUnknown = "COMMIT_UNKNOWN", 500, false;
    /// Too many calls are waiting.
    Overloaded = "OVERLOADED", 503, true;
    /// The server is starting or draining, or its store or identity keys are not available.
    NotReady = "NOT_READY", 503, true;
}

impl Code {
    /// Returns true if the server, the function's code or an external service failed. Any other error is a rejection by
    /// a rule.
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

/// The message of [`Code::Internal`] for clients. Only the log has the cause.
pub const INTERNAL_MESSAGE: &str = "Internal error. The server's log has the reason under this request id.";

/// The member of `errorData` with the code.
const CODE: &str = "code";

/// A rejection or failure: a [`Code`], a message for the client, and additional data.
///
/// `Display` is the message for the client. The source, if any, is only for the operator's log.
pub struct Error(Box<Inner>);

struct Inner {
    code: Code,
    message: Cow<'static, str>,
    data: Map<String, Value>,
    /// The status of a route's response, if it differs from that of the code.
    status: Option<u16>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Defines one constructor per code that functions use.
macro_rules! constructors {
    ($($(#[$doc:meta])* $name:ident => $code:ident;)*) => {
        $($(#[$doc])* pub fn $name(message: impl Into<Cow<'static, str>>) -> Self {
            Self::new(Code::$code, message)
        })*
    };
}

impl Error {
    /// Creates an error with this code and message.
    pub fn new(code: Code, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { code, message: message.into(), data: Map::new(), status: None, source: None }))
    }

    constructors! {
        /// Creates an `UNAUTHENTICATED` error.
        unauthenticated => Unauthenticated;
        /// Creates a `FORBIDDEN` error.
        forbidden => Forbidden;
        /// Creates a `NOT_FOUND` error.
        not_found => NotFound;
        /// Creates a `CONFLICT` error.
        conflict => Conflict;
        /// Creates a `FAILED_PRECONDITION` error.
        failed_precondition => FailedPrecondition;
        /// Creates a `RATE_LIMITED` error.
        rate_limited => RateLimited;
        /// Creates a `PROVIDER_ERROR` error.
        provider => ProviderError;
        /// Creates a `TIMEOUT` error.
        timeout => Timeout;
        /// Creates an `UNAVAILABLE` error.
        unavailable => Unavailable;
        /// Creates an `OVERLOADED` error.
        overloaded => Overloaded;
        /// Creates a `NOT_READY` error.
        not_ready => NotReady;
    }

    /// Creates an `INVALID_ARGUMENT` error for the argument at `field`, a path such as `interests[2].category`.
    pub fn invalid_argument(field: impl Into<String>, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(Code::InvalidArgument, message).with("field", field.into())
    }

    /// Creates an `INTERNAL` error. The client gets a fixed message, and the log gets `cause`.
    pub fn internal(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        let mut error = Self::new(Code::Internal, INTERNAL_MESSAGE);
        error.0.source = Some(cause.into());
        error
    }

    /// Creates an `INTERNAL` error from the panic of a function.
    pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Self {
        let text = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
        Self::internal(format!("the function panicked: {}", text.unwrap_or("without a message")))
    }

    /// Adds a member to `errorData`. The member `code` is the error's code: a release ignores another value for it.
    ///
    /// # Panics
    /// In a debug build, if the key is `code`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        debug_assert!(key != CODE, "errorData.code is the code of the error: use another name for your member");
        if key != CODE {
            self.0.data.insert(key.to_owned(), value.into());
        }
        self
    }

    /// Sets the HTTP status of the response of a route, from 400 to 599. The response of a call always has the status of
    /// the code.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        debug_assert!((400..600).contains(&status), "{status} is not a status of an error");
        self.0.status = Some(status);
        self
    }

    /// The HTTP status of the response of a route.
    pub fn route_status(&self) -> u16 {
        self.0.status.unwrap_or(self.code().status())
    }

    /// Replaces the members of `errorData` by the result of `write`, except for `code`.
    pub fn with_data(mut self, write: impl FnOnce(&Map<String, Value>) -> Map<String, Value>) -> Self {
        self.0.data = write(&self.0.data);
        self.0.data.remove(CODE);
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

    /// The message for the client.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The members of `errorData` without `code`.
    pub fn data(&self) -> &Map<String, Value> {
        &self.0.data
    }

    /// The path of the argument of an `INVALID_ARGUMENT`.
    pub fn field(&self) -> Option<&str> {
        self.0.data.get("field").and_then(Value::as_str)
    }

    /// The message and all causes, outermost first, for the log.
    pub fn chain(&self) -> String {
        // The message of an internal error refers its reader to the log. There, the cause is enough.
        match std::error::Error::source(self).filter(|_| self.message() == INTERNAL_MESSAGE) {
            Some(cause) => chain(cause),
            None => chain(self),
        }
    }
}

/// An error and its causes, outermost first.
pub fn causes<'error>(
    error: &'error (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'error (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// The texts of an error and of all causes, outermost first, in one line.
pub fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Like [`chain`], without the texts that an outer one contains.
pub fn distinct_chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    for cause in causes(error).map(ToString::to_string) {
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// An error that `?` converts to an [`Error`], because its meaning for the client is known.
///
/// This is a separate trait, so that rustc can explain what to do with an error whose meaning is unknown.
#[diagnostic::on_unimplemented(
    message = "`?` has no error code for `{Self}`",
    label = "the client would get no error code",
    note = "a mistake of the caller: `.map_err(|error| Error::invalid_argument(\"field\", error.to_string()))?`",
    note = "a fault of the server: `.map_err(Error::internal)?`; the client gets a fixed sentence, and the log has the cause",
    note = "for an error of your own: `impl From<{Self}> for Error`"
)]
pub trait IntoError {
    /// Converts the error to one with a code.
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

/// Serializes `errorData`: the code first, then the other members.
impl Serialize for Error {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeMap;
        let mut map = serializer.serialize_map(Some(1 + self.0.data.len()))?;
        map.serialize_entry(CODE, &self.0.code)?;
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
    fn error_data_has_the_code_first_and_then_the_field() {
        let error = Error::invalid_argument("interests[2].category", "must be one of a, b");
        assert_eq!(
            serde_json::to_string(&error).unwrap(),
            r#"{"code":"INVALID_ARGUMENT","field":"interests[2].category"}"#
        );
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "errorData.code is the code of the error")]
    fn member_of_the_name_code_is_a_mistake() {
        let _ = Error::forbidden("No").with("code", "MINE");
    }

    #[test]
    fn code_of_the_error_stays_the_only_one() {
        let write =
            |_: &Map<String, Value>| Map::from_iter([("code".to_owned(), "MINE".into()), ("a".to_owned(), 1.into())]);
        let error = Error::forbidden("No").with_data(write);
        assert_eq!(serde_json::to_string(&error).unwrap(), r#"{"code":"FORBIDDEN","a":1}"#);
    }

    #[test]
    fn internal_error_shows_its_cause_in_the_log_only() {
        let error = Error::internal("disk on fire");
        assert_eq!(error.to_string(), INTERNAL_MESSAGE);
        assert!(error.chain().ends_with("disk on fire"));
    }
}
