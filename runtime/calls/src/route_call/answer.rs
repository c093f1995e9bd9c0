//! The results of routes: a [`Response`], or a value that is sent as JSON.

use std::borrow::Cow;
use std::io::Write as _;

use schemars::{Schema, SchemaGenerator};

use crate::function::{Kind, Output};
use crate::route::encoded::Head;
use crate::route::request::RouteRequest;
use crate::route::response::{Response, ResponseBody};
use convoke_core::answer::writer::Writer;
use convoke_core::error::{Error, Result};

/// The result of a route.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the answer of a route",
    label = "it has no JSON form or no schema",
    note = "return a `Response`, or put #[value] above the struct: it is sent as JSON"
)]
pub trait RouteOutput: Send + 'static {
    /// Writes it in the form of `encoded`.
    ///
    /// # Errors
    /// `INTERNAL`: it cannot be written.
    fn write(self, request: &RouteRequest, kind: Kind, out: &mut Writer) -> Result<()>;

    /// Returns the JSON schema of its body.
    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

#[diagnostic::do_not_recommend]
impl<T: Output> RouteOutput for T {
    fn write(self, _: &RouteRequest, _: Kind, out: &mut Writer) -> Result<()> {
        out.write_all(b"\n").and_then(|()| self.write_json(out).map_err(Into::into)).map_err(|error| failed(error, out))
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        <T as Output>::schema(generator)
    }
}

impl RouteOutput for Response {
    fn write(self, request: &RouteRequest, kind: Kind, out: &mut Writer) -> Result<()> {
        let Response { status, headers, body } = self;
        if !(200..600).contains(&status) {
            return Err(Error::internal(format!("{status} is not a status of a response; use 200 to 599")));
        }
        let text =
            |value: &http::HeaderValue| value.as_bytes().iter().map(|byte| char::from(*byte)).collect::<String>();
        let headers = headers.iter().map(|(name, value)| (Cow::from(name.as_str()), Cow::from(text(value)))).collect();
        let head = Head { status, headers, is_stream: matches!(body, ResponseBody::Stream(_)) };
        let mut write = |bytes: &[u8]| out.write_all(bytes).map_err(|error| failed(error, out));
        let mut line = serde_json::to_vec(&head).map_err(Error::internal)?;
        line.push(b'\n');
        write(&line)?;
        match body {
            // These have no body (RFC 9110 §15).
            ResponseBody::Whole(_) if matches!(status, 204 | 304) => Ok(()),
            ResponseBody::Whole(bytes) => write(&bytes),
            ResponseBody::Stream(stream) if kind == Kind::Action => {
                request.put_stream(stream);
                Ok(())
            }
            ResponseBody::Stream(_) => {
                Err(Error::internal("only a route with an ActionCtx can send a stream; a transaction ends before"))
            }
        }
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        Schema::default()
    }
}

fn failed(error: std::io::Error, out: &Writer) -> Error {
    out.failure().unwrap_or_else(|| Error::internal(error))
}
