//! Between the listener and the calls: credentials, then dispatch, then the envelope.

use std::sync::{Arc, OnceLock};

use tracing::Instrument as _;

use crate::auth::{AuthError, Authenticator};
use crate::call::Format;
use crate::call::dispatch::{Outcome, Request};
use crate::call::envelope::{self, LogLinesOn};
use crate::error::{Code, Error};
use crate::function::Kind;
use crate::http::{Handler, Incoming, Refusal, Reply, RouteKind, Target, Traffic};
use crate::identity::Caller;
use crate::logs::LogLines;
use crate::metrics;
use crate::openapi::pages::Pages;
use crate::refusals::{Refused, Stage};
use crate::runtime::Runtime;

/// Answers the listener's requests with the runtime's functions.
pub struct Gateway {
    runtime: Runtime,
    authenticator: Authenticator,
    log_lines: LogLinesOn,
    pages: Pages,
    traffic: OnceLock<Arc<Traffic>>,
}

impl Gateway {
    /// A gateway to this runtime, for callers that `authenticator` knows.
    pub fn new(runtime: Runtime, authenticator: Authenticator, log_lines: LogLinesOn) -> Self {
        Self { runtime, authenticator, log_lines, pages: Pages::default(), traffic: OnceLock::new() }
    }

    async fn caller(&self, incoming: &Incoming) -> Result<Caller, AuthError> {
        let Some(header) = incoming.authorization.as_ref().map(|value| value.as_bytes()) else {
            return Ok(Caller::Nobody);
        };
        match self.authenticator.remembered(header) {
            Some(caller) => Ok(caller),
            None => self.authenticator.authenticate(Some(header)).await,
        }
    }

    async fn function(&self, incoming: &Incoming, request: Request<'_>) -> Reply {
        let caller = match self.caller(incoming).await {
            Ok(caller) => caller,
            Err(error) => {
                self.runtime.refused(Refused {
                    stage: Stage::Credentials,
                    code: error.code(),
                    message: &error.to_string(),
                    request_id: &incoming.request_id,
                    asked: incoming.target.asked(),
                    peer: Some(incoming.peer),
                    caller: &Caller::Nobody,
                });
                return rejected(error);
            }
        };
        let call = self.runtime.call(request, caller, incoming.request_id.clone());
        let (outcome, format) = match incoming.trace_parent {
            // The operator's lines of this call stand in the caller's trace.
            Some(trace) => {
                call.instrument(tracing::info_span!(target: "convoke::call", "trace", parent = %trace)).await
            }
            None => call.await,
        };
        self.reply(outcome, format)
    }

    fn reply(&self, outcome: Outcome, format: Format) -> Reply {
        // Whoever is told to come again is told when.
        let retry_after_s = match &outcome.result {
            Err(error) if error.code().status() == 503 => Some(1),
            Err(_) | Ok(_) => None,
        };
        let (status, body) = envelope::write(outcome, format, self.log_lines);
        Reply { retry_after_s, ..Reply::json(status, body) }
    }
}

impl Handler for Gateway {
    async fn call(&self, incoming: Incoming) -> Reply {
        match &incoming.target {
            Target::Run(path) => self.function(&incoming, Request::Run { path, body: &incoming.body }).await,
            Target::Kind(kind) => {
                let kind = match kind {
                    RouteKind::Query => Kind::Query,
                    RouteKind::Mutation => Kind::Mutation,
                    RouteKind::Action => Kind::Action,
                };
                self.function(&incoming, Request::OfKind { kind, body: &incoming.body }).await
            }
            Target::OpenApi => self.pages.description(self.runtime.registry(), &incoming),
            Target::Docs(page) => self.pages.reference(page, &incoming),
            Target::Metrics => {
                let (authenticator, traffic) = (Some(&self.authenticator), self.traffic.get());
                let page = metrics::Page { runtime: &self.runtime, authenticator, traffic };
                Reply { content_type: metrics::CONTENT_TYPE, ..Reply::json(200, page.text().await) }
            }
            Target::Admin { .. } => failed(&Error::new(Code::RouteNotFound, "No such route")),
        }
    }

    fn ready(&self) -> Result<(), String> {
        self.runtime.ready()
    }

    fn refused(&self, refusal: Refusal<'_>) {
        let Refusal { code, message, request_id, method, path, peer } = refusal;
        let asked = format!("{method} {path}");
        let (stage, caller, peer) = (Stage::Listener, &Caller::Nobody, Some(peer));
        self.runtime.refused(Refused { stage, code, message, request_id, asked: &asked, peer, caller });
    }

    fn bound(&self, traffic: &Arc<Traffic>) {
        // A gateway behind two servers shows the first one's.
        let _ = self.traffic.set(traffic.clone());
    }
}

fn rejected(error: AuthError) -> Reply {
    let (www_authenticate, retry_after) = (error.challenge(), error.retry_after_seconds());
    let retry_after_s = retry_after.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX));
    Reply { www_authenticate, retry_after_s, ..failed(&error.into()) }
}

fn failed(error: &Error) -> Reply {
    Reply::json(error.code().status(), envelope::failure(error, &LogLines::default()))
}
