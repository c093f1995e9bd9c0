//! The way of a call, for HTTP, tests, schedules and other functions alike.
//!
//! Look up, decode the arguments, identify, check the rights, run, encode: `steps` writes the order down. An identity
//! is taken in even if its first call has arguments that do not fit. What comes before (limits, route, envelope,
//! credentials) is `http`'s and `auth`'s; who is answered how is `envelope`'s.

use std::sync::Arc;

use super::decode::{self, Body, Envelope, Format};
use super::encoded;
use super::ended;
use super::erased::Prepared;
use super::execute;
use super::identify;
use crate::context::shared::Call;
use crate::error::{Code, Error, Result};
use crate::function::{Function, Kind, Visibility};
use crate::identity::Caller;
use crate::logs::{Capture, LogLines};
use crate::performance::recorder::By;
use crate::refusals::{Refused, Stage};
use crate::registry::Registered;
use crate::runtime::Runtime;

/// How a call ended: the value as JSON in the call's format, or an error; and what the function logged.
#[derive(Debug)]
pub struct Outcome {
    /// The value's JSON.
    pub result: Result<Vec<u8>>,
    /// The lines.
    pub log_lines: LogLines,
    /// The function, if one was found.
    pub function: Option<Registered>,
}

/// Which function a request names, and where its arguments are.
pub enum Request<'a> {
    /// `/api/run/<path>`, with the envelope.
    Run {
        /// `module/path/function`.
        path: &'a str,
        /// The whole body.
        body: &'a [u8],
    },
    /// `/api/query` and its siblings: the path is in the envelope.
    OfKind {
        /// The kind the route names.
        kind: Kind,
        /// The whole body.
        body: &'a [u8],
    },
    /// In process: the arguments alone.
    Args {
        /// `module/path/function`.
        path: &'a str,
        /// The arguments' JSON.
        args: &'a str,
    },
}

impl Request<'_> {
    /// What it names before its body is read.
    fn asked(&self) -> &str {
        match self {
            Request::Run { path, .. } | Request::Args { path, .. } => path,
            Request::OfKind { kind, .. } => kind.as_str(),
        }
    }
}

impl Call {
    /// The call at its end.
    pub(crate) fn ended<'a>(
        &'a self,
        function: &'a Registered,
        by: By,
        error: Option<&'a Error>,
        log_lines: &'a LogLines,
    ) -> ended::Call<'a> {
        let Call { request_id, caller, began, .. } = self;
        ended::Call { function, request_id, caller, began: *began, by, error, log_lines }
    }
}

impl Runtime {
    /// Runs a call from outside. Never panics, and ends in exactly one outcome; the format is the request's.
    pub async fn call(&self, request: Request<'_>, caller: Caller, request_id: Arc<str>) -> (Outcome, Format) {
        let format = match &request {
            Request::Args { .. } => Ok(Format::Json),
            Request::Run { body, .. } | Request::OfKind { body, .. } => self.format(body),
        };
        let (format, found) = match format {
            Ok(format) => (format, self.look_up(&request)),
            Err(error) => (Format::Json, Err(error)),
        };
        let (function, args) = match found {
            Ok(found) => found,
            Err(error) => {
                let (asked, stage) = (request.asked(), Stage::Envelope);
                let (code, message) = (error.code(), error.message());
                let (request_id, caller) = (&*request_id, &caller);
                self.refused(Refused { stage, code, message, request_id, asked, peer: None, caller });
                let outcome = Outcome { result: Err(error), log_lines: LogLines::default(), function: None };
                return (outcome, format);
            }
        };
        let mut outcome = self.run_found(&function, args, caller, request_id).await;
        if format == Format::ConvexEncoded {
            outcome.result = outcome.result.and_then(|value| encoded::encode(&value, function.bytes_within()));
        }
        (Outcome { function: Some(function), ..outcome }, format)
    }

    /// Checks a body strictly, once, and finds its format before anything runs.
    fn format(&self, body: &[u8]) -> Result<Format> {
        decode::strict(body, self.limits().json_depth_max)?;
        // A body that does not name a format is of plain JSON: the common case is one search of bytes.
        if memchr::memmem::find(body, b"format").is_none() && memchr::memchr(b'\\', body).is_none() {
            return Ok(Format::Json);
        }
        Format::named(Envelope::read(body)?.format.as_deref())
    }

    fn look_up<'a>(&self, request: &Request<'a>) -> Result<(Registered, Body<'a>)> {
        match *request {
            Request::Run { path, body } => Ok((self.find(path)?.clone(), Body::Envelope(body))),
            Request::Args { path, args } => {
                decode::strict(args.as_bytes(), self.limits().json_depth_max)?;
                Ok((self.find(path)?.clone(), Body::Args(args, Format::Json)))
            }
            Request::OfKind { kind, body } => {
                let envelope = Envelope::read(body)?;
                let format = Format::named(envelope.format.as_deref())?;
                let path = envelope.path.as_deref().ok_or_else(|| {
                    Error::new(Code::InvalidEnvelope, "path is missing; send {\"path\": \"module/path:function\", …}")
                })?;
                let function = self.find(&path.replace(':', "/"))?.clone();
                if function.kind() != kind {
                    let (is, asked) = (function.kind().as_str(), kind.as_str());
                    let message = format!("{} is a {is}, not a {asked}; call it by /api/{is}", function.path);
                    return Err(Error::new(Code::WrongFunctionKind, message));
                }
                Ok((function, Body::Args(envelope.args_or_array()?, format)))
            }
        }
    }

    /// The function at a path, for a caller from outside: an internal one is as unknown as one that is not there.
    fn find(&self, path: &str) -> Result<&Registered> {
        let registry = self.registry();
        match registry.get(path) {
            Some(function) if function.is_callable_from_outside() => Ok(function),
            _ => {
                let mut message = format!("No function {:?}", shortened(path));
                let nearest = registry.nearest(path);
                if let Some(nearest) = nearest {
                    message.push_str(&format!("; did you mean {nearest:?}?"));
                }
                let error = Error::new(Code::FunctionNotFound, message);
                Err(match nearest {
                    Some(nearest) => error.with("nearest", nearest),
                    None => error,
                })
            }
        }
    }

    /// Runs a function that was found.
    pub(crate) async fn run_found(
        &self,
        function: &Registered,
        args: Body<'_>,
        caller: Caller,
        request_id: Arc<str>,
    ) -> Outcome {
        let capture = Capture::new(self.limits(), request_id.clone(), function.path.clone());
        let call = Arc::new(Call::new(self.clone(), function.entry, caller, request_id));
        let result = self.steps(function, args, call.clone(), &capture).await;
        let log_lines = capture.take();
        self.ended(&call.ended(function, By::Caller, result.as_ref().err(), &log_lines), &capture);
        Outcome { result, log_lines, function: None }
    }

    async fn steps(
        &self,
        function: &Registered,
        args: Body<'_>,
        call: Arc<Call>,
        capture: &Capture,
    ) -> Result<Vec<u8>> {
        let prepared = match (function.entry.call.0)(args) {
            // What is no call at all shows nobody: the body names no arguments, or not as an object.
            Err(error) if error.code().status() == 400 => return Err(error),
            prepared => prepared,
        };
        identify::first_sight(&call, capture).await?;
        let prepared = prepared?;
        let gate = match function.entry.visibility {
            Visibility::Admin => Gate::of(&call.caller)?,
            Visibility::Public | Visibility::Internal => Gate::Open,
        };
        let limit = self.limits().response_bytes_max;
        let (lines, capture) = (capture, capture.clone());
        let result = match prepared {
            Prepared::Query(query) => {
                let work = move |ctx: &_| {
                    let mut out = Vec::new();
                    query.run(ctx, &mut out)?;
                    gate.require_open()?;
                    Ok(out)
                };
                let value = execute::query(call, capture, function, work).await;
                value.and_then(|value| bounded(value, limit, &function.path))
            }
            Prepared::Mutation(mutation) => {
                if function.is_migration() {
                    gate.require_open()?;
                    self.before_migration().await?;
                }
                let path = function.path.clone();
                let work = move |ctx: &mut _| {
                    let mut out = Vec::new();
                    mutation.run(ctx, &mut out)?;
                    gate.require_open()?;
                    bounded(out, limit, &path)
                };
                let done = execute::mutation(call.clone(), capture, function, work).await;
                if done.is_ok() && function.entry.visibility == Visibility::Admin {
                    self.after_admin_mutation(&call).await;
                }
                done
            }
            Prepared::Action(action) => {
                // What an action does outside of the database cannot be taken back.
                gate.require_open()?;
                let permit = self.action_permit()?;
                let value = execute::action(call, capture, permit, move |ctx| action.run(ctx)).await.map_err(begun)?;
                bounded(value, limit, &function.path)
            }
        };
        if matches!(gate, Gate::Open) {
            return result;
        }
        // What the function said was not for this caller; the operator has it.
        lines.restart();
        result.or_else(|error| match error.code() {
            Code::Unauthenticated | Code::Forbidden | Code::RateLimited => Err(error),
            // Anything else would tell of what is behind the gate.
            _ => gate.require_open().map(|()| Vec::new()),
        })
    }

    /// Runs a function that is named by its type, as `caller`: for tests and programs that embed the runtime.
    ///
    /// # Errors
    /// Those of the function and of the runtime.
    pub async fn run<F: Function>(&self, caller: Caller, args: impl Into<F::Args>) -> Result<F::Output>
    where
        F::Kind: execute::Run<F>,
    {
        let function = self.function::<F>()?;
        let request_id: Arc<str> = self.request_id();
        let capture = Capture::new(self.limits(), request_id.clone(), function.path.clone());
        let call = Arc::new(Call::new(self.clone(), F::ENTRY, caller, request_id));
        let steps = async {
            identify::first_sight(&call, &capture).await?;
            if function.entry.visibility == Visibility::Admin {
                Gate::of(&call.caller)?.require_open()?;
            }
            <F::Kind as execute::Run<F>>::start(call.clone(), capture.clone(), args.into()).await
        };
        let result = steps.await;
        let log_lines = capture.take();
        self.ended(&call.ended(&function, By::Caller, result.as_ref().err(), &log_lines), &capture);
        result
    }
}

/// A 503 says that nothing was begun. What an action met with on its way is told as its own.
fn begun(error: Error) -> Error {
    match error.code() {
        Code::Overloaded | Code::NotReady => Error::unavailable(error.message().to_owned()).caused_by(error),
        _ => error,
    }
}

/// A text of the caller's as an error repeats it.
fn shortened(text: &str) -> &str {
    const REPEATED_BYTES_MAX: usize = 200;
    &text[..text.floor_char_boundary(REPEATED_BYTES_MAX)]
}

/// Whether a caller may call what is for admins: a deploy key, or an identity with the role `admin`. Whose data it may
/// touch is the function's to say.
///
/// A query or mutation is asked first, so that what it knows of the caller comes before what his token lacks: an account
/// that is closed is told so. Behind a shut gate nothing is kept and nothing else is told.
#[derive(Clone, Copy)]
enum Gate {
    Open,
    Shut,
}

impl Gate {
    fn of(caller: &Caller) -> Result<Self> {
        match caller {
            Caller::Nobody => Err(Error::unauthenticated("Authentication required")),
            Caller::User(identity) if !identity.has_role("admin") => Ok(Gate::Shut),
            Caller::User(_) | Caller::DeployKey(_) | Caller::System => Ok(Gate::Open),
        }
    }

    fn require_open(self) -> Result<()> {
        match self {
            Gate::Open => Ok(()),
            Gate::Shut => Err(Error::forbidden("Access denied: Insufficient permissions")),
        }
    }
}

fn bounded(value: Vec<u8>, limit: usize, path: &str) -> Result<Vec<u8>> {
    if value.len() > limit {
        return Err(Error::internal(format!("the result of {path} is {} bytes; at most {limit} fit", value.len())));
    }
    Ok(value)
}
