//! Between the listener and the calls: credentials, scopes, then dispatch, then the envelope; and the record of every
//! use of a deploy key.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::Method;
use hyper::header::{ALLOW, HeaderValue};
use tracing::Instrument as _;

use crate::admin::audit::{Audit, KeyUse};
use crate::admin::routes::{self, Found};
use crate::admin::{Admin, AdminRequest, operator};
use crate::auth::deploy_key::Scope;
use crate::auth::{AuthError, Authenticator, acting_as};
use crate::call::Format;
use crate::call::dispatch::{Outcome, Request};
use crate::call::envelope::{self, LogLinesOn};
use crate::error::{Code, Error, Result};
use crate::function::Kind;
use crate::http::{Handler, Incoming, Refusal, Reply, RouteKind, Target, Traffic};
use crate::identity::{Caller, DeployKeyCaller};
use crate::logs::LogLines;
use crate::metrics;
use crate::openapi::pages::Pages;
use crate::refusals::{Refused, Stage};
use crate::runtime::Runtime;

/// How often a stream looks whether its key is still accepted.
const KEY_LOOKED_AT: Duration = Duration::from_millis(250);

/// Answers the listener's requests with the runtime's functions.
pub struct Gateway {
    runtime: Runtime,
    authenticator: Authenticator,
    log_lines: LogLinesOn,
    pages: Pages,
    traffic: OnceLock<Arc<Traffic>>,
    admin: Admin,
}

impl Gateway {
    /// A gateway to this runtime, for callers that `authenticator` knows.
    pub fn new(runtime: Runtime, authenticator: Authenticator, log_lines: LogLinesOn) -> Self {
        let admin = Admin { runtime: runtime.clone(), environment: authenticator.environment() };
        Self { runtime, authenticator, log_lines, pages: Pages::default(), traffic: OnceLock::new(), admin }
    }

    async fn caller(&self, incoming: &Incoming) -> Result<Caller, Reply> {
        let Some(header) = incoming.authorization.as_ref().map(|value| value.as_bytes()) else {
            return if incoming.is_operator { self.operator(incoming).await } else { Ok(Caller::Nobody) };
        };
        match self.authenticator.remembered(header) {
            Some(caller) => Ok(caller),
            None => self.authenticator.authenticate(Some(header)).await.map_err(|error| self.reject(incoming, error)),
        }
    }

    async fn operator(&self, incoming: &Incoming) -> Result<Caller, Reply> {
        let identity = match &incoming.act_as {
            None => None,
            Some(given) => {
                let identity = given.to_str().ok().and_then(acting_as::read);
                let problem = || Error::new(Code::BadRequest, "X-Convoke-Act-As is not the base64 JSON of an identity");
                Some(identity.ok_or_else(|| failed(&problem()))?)
            }
        };
        operator::caller(&self.runtime, identity).await.map_err(|error| failed(&error))
    }

    async fn function(&self, incoming: &Incoming, request: Request<'_>) -> Reply {
        let caller = match self.caller(incoming).await {
            Ok(caller) => caller,
            Err(reply) => return reply,
        };
        let key = match &caller {
            Caller::DeployKey(key) => Some(key.clone()),
            // The operator, as a user who is seen for the first time.
            Caller::User(identity) if incoming.is_operator && incoming.authorization.is_none() => {
                Some(operator::key(Some(identity.clone())))
            }
            Caller::Nobody | Caller::User(_) | Caller::System => None,
        };
        if let Some(key) = &key
            && !key.has_scope(Scope::Functions)
        {
            let what = format!("run {}", asked(incoming));
            return self.lacks(incoming, key, what, Scope::Functions).await;
        }
        let call = self.runtime.call(request, caller, incoming.request_id.clone());
        let (outcome, format) = match incoming.trace_parent {
            // The operator's lines of this call stand in the caller's trace.
            Some(trace) => {
                call.instrument(tracing::info_span!(target: "convoke::call", "trace", parent = %trace)).await
            }
            None => call.await,
        };
        if let Some(key) = key {
            self.record_call(incoming, &key, &outcome).await;
        }
        let log_lines = if incoming.is_operator { LogLinesOn::Always } else { self.log_lines };
        reply(outcome, format, log_lines)
    }

    async fn record_call(&self, incoming: &Incoming, key: &DeployKeyCaller, outcome: &Outcome) {
        let (what, wait) = match &outcome.function {
            Some(function) => {
                (format!("{} {}", function.kind().as_str(), function.path), function.kind() != Kind::Query)
            }
            None => (format!("run {}", asked(incoming)), false),
        };
        let used = self.used(incoming, key, what, outcome.result.as_ref().err().map(Error::code));
        Audit::record(&self.runtime, used, wait).await;
    }

    /// An admin request: the caller, the route, its scope, its handler, the record.
    async fn admin(&self, incoming: &Incoming, method: &Method, path: &str, query: Option<&str>) -> Reply {
        let key = match self.caller(incoming).await {
            Ok(Caller::DeployKey(key)) => key,
            // Whoever opened the control socket is the operator, whomever he calls functions as.
            Ok(_) if incoming.is_operator && incoming.authorization.is_none() => operator::key(None),
            Ok(Caller::Nobody | Caller::User(_) | Caller::System) => {
                return self.reject(incoming, self.authenticator.deploy_key_required());
            }
            Err(reply) => return reply,
        };
        let (route, parts) = match routes::find(method, path) {
            Found::Route(route, parts) => (route, parts),
            Found::OtherMethods(allow) => {
                let error = Error::new(Code::MethodNotAllowed, "This route has no such method.");
                self.turned_away(incoming, &key, &error);
                let allow = HeaderValue::try_from(allow).map(|allow| (ALLOW, allow));
                return Reply { fields: allow.into_iter().collect(), ..failed(&error) };
            }
            Found::Nothing => {
                let error = Error::new(Code::RouteNotFound, "There is no such route.");
                self.turned_away(incoming, &key, &error);
                return failed(&error);
            }
        };
        let what = format!("{method} {path}");
        if !key.has_scope(route.scope) {
            return self.lacks(incoming, &key, what, route.scope).await;
        }
        let began = self.runtime.clock().monotonic();
        let request = AdminRequest::new(&key, incoming, parts, query);
        let answered = (route.handler)(&self.admin, request).await;
        let took = self.runtime.clock().monotonic().saturating_sub(began);
        tracing::info!(
            target: "convoke::admin",
            request_id = &*incoming.request_id,
            method = method.as_str(),
            path,
            outcome = answered.as_ref().err().map_or("OK", |error| error.code().as_str()),
            took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            deploy_key = key.name,
            "admin"
        );
        let used = self.used(incoming, &key, what, answered.as_ref().err().map(Error::code));
        Audit::record(&self.runtime, used, *method != Method::GET).await;
        match answered {
            Ok(reply) => self.while_accepted(reply, incoming),
            Err(error) => {
                if error.code().status() >= 500 {
                    let request_id = &*incoming.request_id;
                    tracing::error!(target: "convoke::admin", request_id, path, "{}", error.chain());
                }
                failed(&error)
            }
        }
    }

    /// A stream ends soon after its key is refused: revoked, expired, or without its former secret.
    fn while_accepted(&self, reply: Reply, incoming: &Incoming) -> Reply {
        let Some(header) = incoming.authorization.clone().filter(|_| reply.body.is_stream()) else { return reply };
        let authenticator = self.authenticator.clone();
        let refused = async move {
            while authenticator.authenticate(Some(header.as_bytes())).await.is_ok() {
                tokio::time::sleep(KEY_LOOKED_AT).await;
            }
        };
        Reply { body: reply.body.until(refused), ..reply }
    }

    async fn lacks(&self, incoming: &Incoming, key: &DeployKeyCaller, what: String, scope: Scope) -> Reply {
        let used = self.used(incoming, key, what, Some(Code::InsufficientScope));
        Audit::record(&self.runtime, used, false).await;
        let header = incoming.authorization.as_ref().map_or(&b""[..], |value| value.as_bytes());
        self.reject(incoming, self.authenticator.insufficient(header, scope))
    }

    /// Tells the client why his credentials do not let him in, and the operator's log that they did not.
    fn reject(&self, incoming: &Incoming, error: AuthError) -> Reply {
        self.runtime.refused(Refused {
            stage: Stage::Credentials,
            code: error.code(),
            message: &error.to_string(),
            request_id: &incoming.request_id,
            asked: incoming.target.asked(),
            peer: Some(incoming.peer),
            caller: &Caller::Nobody,
        });
        rejected(error)
    }

    /// Tells the operator's log of an admin request that no handler answers.
    fn turned_away(&self, incoming: &Incoming, key: &Arc<DeployKeyCaller>, error: &Error) {
        self.runtime.refused(Refused {
            stage: Stage::Envelope,
            code: error.code(),
            message: error.message(),
            request_id: &incoming.request_id,
            asked: incoming.target.asked(),
            peer: Some(incoming.peer),
            caller: &Caller::DeployKey(key.clone()),
        });
    }

    fn used(&self, incoming: &Incoming, key: &DeployKeyCaller, what: String, refused: Option<Code>) -> KeyUse {
        KeyUse {
            key: key.name.clone(),
            what,
            outcome: refused.map_or("OK", Code::as_str).to_owned(),
            request_id: incoming.request_id.to_string(),
            acting_as: key.acting_as.as_ref().map(|identity| identity.token_identifier()),
            peer: (!incoming.is_operator).then(|| incoming.peer.to_string()),
            at: self.runtime.clock().now(),
        }
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
            Target::Admin { method, path, query } => self.admin(&incoming, method, path, query.as_deref()).await,
        }
    }

    fn ready(&self) -> Result<(), String> {
        self.runtime.ready()?;
        match self.authenticator.has_no_keys() {
            true => Err("the keys of no identity provider could be fetched yet, so nobody can be let in".to_owned()),
            false => Ok(()),
        }
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

fn reply(outcome: Outcome, format: Format, log_lines: LogLinesOn) -> Reply {
    // Whoever is told to come again is told when.
    let retry_after_s = match &outcome.result {
        Err(error) if error.code().status() == 503 => Some(1),
        Err(_) | Ok(_) => None,
    };
    let (status, body) = envelope::write(outcome, format, log_lines);
    Reply { retry_after_s, ..Reply::json(status, body) }
}

/// What a request names, as far as that is known before its body is read.
fn asked(incoming: &Incoming) -> &str {
    const REPEATED_BYTES_MAX: usize = 200;
    let asked = incoming.target.asked();
    &asked[..asked.floor_char_boundary(REPEATED_BYTES_MAX)]
}

fn rejected(error: AuthError) -> Reply {
    let (www_authenticate, retry_after) = (error.challenge(), error.retry_after_seconds());
    let retry_after_s = retry_after.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX));
    Reply { www_authenticate, retry_after_s, ..failed(&error.into()) }
}

fn failed(error: &Error) -> Reply {
    Reply::json(error.code().status(), envelope::failure(error, &LogLines::default()))
}
