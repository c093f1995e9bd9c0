//! The layer between the listener and the calls. It checks credentials and scopes, dispatches the call, writes the
//! envelope, and records every admin request.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::Method;
use hyper::header::{ALLOW, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use tracing::Instrument as _;

use crate::admin::key_uses::KeyUse;
use crate::admin::{Admin, AdminRequest, operator};
use crate::auth::deploy_key::Scope;
use crate::auth::{AuthError, Authenticator, acting_as};
use crate::copies::Copies;
use crate::files;
use crate::following::Following;
use crate::live::{self, Watcher};
use crate::mcp::tools::Tools;
use crate::metrics;
use crate::openapi::pages::Pages;
use crate::page;
use crate::routes::{self, AdminRoute, ConsoleRoute, Endpoint};
use crate::site::Site;
use crate::sync::{self, ClientKind, Peer};
use convoke_calls::call::Format;
use convoke_calls::call::dispatch::{Origin, Outcome, Request};
use convoke_calls::call::envelope::{self, LogLinesOn};
use convoke_calls::call::flow::flow_of;
use convoke_calls::call::idempotency::Repeatable;
use convoke_calls::call::provision;
use convoke_calls::call::timestamp;
use convoke_calls::function::Kind;
use convoke_calls::live::AskedQuery;
use convoke_calls::logs::LogLines;
use convoke_calls::observe::{Rejection, Stage, UsedKey};
use convoke_calls::registry::Registered;
use convoke_calls::route::RouteDef;
use convoke_calls::runtime::Runtime;
use convoke_core::answer::budget::Budget;
use convoke_core::error::{Code, Error, Result};
use convoke_core::excerpt::excerpt;
use convoke_core::identity::{Caller, DeployKeyCaller, Identity};
use convoke_http::{Handler, Incoming, RejectedRequest, RejectionObserver, Reply, Routes, Traffic, counted_as};
use convoke_store::Flow;

mod application;
mod console;
mod mcp;
mod request_span;

/// Response header: the call created the user that the operator acts as.
pub const USER_CREATED: HeaderName = HeaderName::from_static("x-convoke-user-created");
/// Response header: the response is that of an earlier call.
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Interval at which a stream checks that its key is still accepted.
const KEY_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Serves the listener's requests with the runtime's functions.
pub struct Gateway {
    runtime: Runtime,
    routes: Routes<Endpoint>,
    /// The routes of the application; see [`Endpoint::Route`].
    own_routes: Vec<(Registered, &'static RouteDef)>,
    authenticator: Authenticator,
    log_lines: LogLinesOn,
    pages: Pages,
    tools: Tools,
    traffic: OnceLock<Arc<Traffic>>,
    admin: Admin,
    site: Option<Site>,
}

/// The end of a call.
struct Ended {
    outcome: Outcome,
    format: Format,
    /// True if the operator's call created the user that the operator acts as.
    has_created_user: bool,
}

impl Gateway {
    /// Creates a gateway for the users of `authenticator` and for the deploy keys of `admin`.
    pub fn new(admin: Admin, authenticator: Authenticator, log_lines: LogLinesOn) -> Self {
        let authenticator = authenticator.with_deploy_keys(admin.keys.clone());
        let runtime = admin.runtime.clone();
        let own_routes: Vec<_> =
            runtime.registry().routes().filter_map(|function| Some((function.clone(), function.def.route?))).collect();
        let routes = routes::table(admin.console.audience(), admin.environment, &own_routes, false);
        let (pages, tools, traffic) = (Pages::default(), Tools::default(), OnceLock::new());
        Self { runtime, routes, own_routes, authenticator, log_lines, pages, tools, traffic, admin, site: None }
    }

    /// Serves the files of a site at the paths that no route has.
    #[must_use]
    pub fn with_site(self, site: Site) -> Self {
        let (audience, environment) = (self.admin.console.audience(), self.admin.environment);
        Self { routes: routes::table(audience, environment, &self.own_routes, true), site: Some(site), ..self }
    }

    async fn caller(&self, incoming: &Incoming<Endpoint>) -> Result<Caller, Reply> {
        if let Some(browser) = &incoming.browser {
            return Box::pin(self.console_caller(incoming, browser)).await;
        }
        let Some(header) = incoming.authorization.as_ref().map(|value| value.as_bytes()) else {
            return if incoming.is_operator { Box::pin(self.operator(incoming)).await } else { Ok(Caller::Nobody) };
        };
        match self.authenticator.cached(header) {
            Some(caller) => Ok(caller),
            None => {
                let authenticated = Box::pin(self.authenticator.authenticate(Some(header))).await;
                authenticated.map_err(|error| self.reject(incoming, error))
            }
        }
    }

    async fn operator(&self, incoming: &Incoming<Endpoint>) -> Result<Caller, Reply> {
        let user = self.acting_as(incoming).map_err(|error| failed(&error))?;
        operator::caller(&self.admin, user).await.map_err(|error| failed(&error))
    }

    /// Returns the user that the request acts as, and whether an unknown user is created.
    fn acting_as(&self, incoming: &Incoming<Endpoint>) -> Result<Option<(Identity, Option<bool>)>> {
        let Some(given) = &incoming.act_as else { return Ok(None) };
        let user = given.to_str().ok().and_then(acting_as::read);
        let identity = user.as_ref().and_then(|user| user.identity(self.authenticator.default_issuer()));
        let found = identity.zip(user.map(|user| user.create));
        found.map(Some).ok_or_else(|| {
            let message =
                "X-Convoke-Act-As must be the base64 JSON of a user: {\"issuer\": …, \"subject\": …}, both not empty";
            Error::new(Code::BadRequest, message)
        })
    }

    /// Returns the caller of functions and the caller's deploy key, if any.
    async fn function_caller(
        &self,
        incoming: &Incoming<Endpoint>,
    ) -> Result<(Caller, Option<Arc<DeployKeyCaller>>), Reply> {
        let caller = self.caller(incoming).await?;
        let key = match &caller {
            Caller::DeployKey(key) => Some(key.clone()),
            // The operator acts as a user that does not exist yet.
            Caller::User(identity) if is_operator(incoming) => Some(operator::key(Some(identity.clone()))),
            Caller::Nobody | Caller::User(_) | Caller::System => None,
        };
        if let Some(key) = &key
            && !Scope::Functions.is_held_by(key)
        {
            let what = format!("run {}", excerpt(&asked(incoming)));
            return Err(self.lacks(incoming, key, what, Scope::Functions));
        }
        Ok((caller, key))
    }

    /// Subscribes to live queries.
    async fn live(&self, incoming: &Incoming<Endpoint>) -> Reply {
        let (watcher, queries) = match self.watcher(incoming, "live").await {
            Ok(found) => found,
            Err(reply) => return reply,
        };
        match live::answer(&self.runtime, &self.authenticator, watcher, &queries).await {
            Ok(reply) => self.while_logged_in(reply, incoming),
            Err(error) => Reply { retry_after_s: Some(1), ..failed(&error) },
        }
    }

    /// Runs queries once, on one snapshot.
    async fn query_batch(&self, incoming: &Incoming<Endpoint>) -> Reply {
        let (watcher, queries) = match self.watcher(incoming, "query").await {
            Ok(found) => found,
            Err(reply) => return reply,
        };
        match live::once(&self.runtime, watcher, queries).await {
            Ok(body) => Reply::json(200, body),
            Err(error) => Reply { retry_after_s: Some(1), ..failed(&error) },
        }
    }

    /// Returns the timestamp of the latest commit. Clients run queries at it.
    fn query_ts(&self) -> Reply {
        let commits = self.runtime.store().commits();
        // Without row-level changes, a change of one row would count as a change of every row of its table.
        commits.watch_all_for_a_while();
        Reply::json(200, serde_json::json!({ "ts": timestamp::write(commits.newest()) }).to_string())
    }

    /// Returns the queries of a request and their subscriber. `what` names the request in the record of key uses.
    async fn watcher(&self, incoming: &Incoming<Endpoint>, what: &str) -> Result<(Watcher, Vec<AskedQuery>), Reply> {
        let (caller, key) = self.function_caller(incoming).await?;
        let limits = self.runtime.limits();
        let asked = match incoming.method {
            Method::GET => {
                AskedQuery::read(incoming.query("path"), incoming.query("args").as_deref(), limits).map(|one| vec![one])
            }
            _ => AskedQuery::read_all(&incoming.body, limits),
        };
        let queries = asked.map_err(|error| {
            self.rejected(incoming, Stage::Envelope, &caller, &error);
            failed(&error)
        })?;
        if let Some(key) = &key {
            for query in &queries {
                let used = self.used(incoming, key, format!("{what} {}", excerpt(&query.path)), None);
                self.admin.audit.record(self.runtime.database(), used);
            }
        }
        let address = counted_as(incoming.peer);
        let who = caller.identity().map(|identity| identity.token_identifier());
        let key_name = key.as_ref().map(|key| key.name.as_str());
        let watcher = Watcher {
            flow: flow_of(&caller, Some(address)),
            owner: (!incoming.is_of_proxy).then(|| format!("{who:?} {key_name:?} {address}").into()),
            authorization: incoming.authorization.clone(),
            last_event: incoming.last_event.as_ref().and_then(|id| id.to_str().ok()).map(str::to_owned),
            caller,
        };
        Ok((watcher, queries))
    }

    /// Opens a connection for live results and calls. The client authenticates on the connection.
    fn sync(&self, mut incoming: Box<Incoming<Endpoint>>) -> Reply {
        let Some(upgrade) = incoming.upgrade.take() else {
            return failed(&Error::new(Code::BadRequest, "This route is a WebSocket"));
        };
        let peer = Peer {
            admin: self.admin.clone(),
            authenticator: self.authenticator.clone(),
            peer: incoming.peer,
            address: counted_as(incoming.peer),
            is_counted: !incoming.is_of_proxy,
            has_origin: upgrade.has_origin(),
            kind: ClientKind::of(incoming.param(0), upgrade.client()),
            log_lines: self.log_lines,
        };
        upgrade.accept(move |socket| sync::serve(peer, socket))
    }

    /// Sends the signal of a one-time URL. An external service reads the HTTP status, so an error has its own.
    async fn callback(&self, incoming: &Incoming<Endpoint>) -> Reply {
        let called = match std::str::from_utf8(&incoming.body) {
            Ok(body) => self.runtime.call_back(incoming.param(0), body).await,
            Err(_) => Err(Error::new(Code::InvalidJson, "The body is not UTF-8")),
        };
        let Err(error) = called else { return Reply::json(200, &b"{}"[..]) };
        let status = match error.code() {
            Code::NotFound => 404,
            Code::Conflict | Code::FailedPrecondition => 409,
            code => code.status(),
        };
        self.rejected(incoming, Stage::Envelope, &Caller::Nobody, &error);
        Reply { status, ..failed(&error) }
    }

    async fn function(&self, incoming: &Incoming<Endpoint>, request: Request<'_>) -> Reply {
        let (caller, key) = match self.function_caller(incoming).await {
            Ok(found) => found,
            Err(reply) => return reply,
        };
        let idempotency_key = incoming.idempotency_key.as_ref().map(|field| field.as_bytes());
        match self.ended(incoming, request, caller, key.as_deref(), idempotency_key).await {
            Ok(Ended { outcome, format, has_created_user }) => {
                let mut reply = reply(outcome, format, self.log_lines(incoming));
                if has_created_user {
                    reply.fields.push((USER_CREATED, const { HeaderValue::from_static("true") }));
                }
                reply
            }
            Err(error) => failed(&error),
        }
    }

    /// Runs a function for a client.
    ///
    /// # Errors
    /// `BAD_REQUEST`: an invalid idempotency key. Errors of the call are part of the outcome.
    async fn ended(
        &self,
        incoming: &Incoming<Endpoint>,
        request: Request<'_>,
        caller: Caller,
        key: Option<&DeployKeyCaller>,
        idempotency_key: Option<&[u8]>,
    ) -> Result<Ended> {
        let unknown = match &caller {
            Caller::User(identity) if is_operator(incoming) => Some(Arc::clone(identity)),
            Caller::Nobody | Caller::User(_) | Caller::DeployKey(_) | Caller::System => None,
        };
        let flow = flow_of(&caller, Some(counted_as(incoming.peer)));
        let peer = (!incoming.is_operator).then_some(incoming.peer);
        let used = key.map(|key| UsedKey { key, peer });
        let repeatable = match idempotency_key.map(Repeatable::key).transpose() {
            Ok(repeatable) => repeatable,
            Err(error) => {
                self.rejected(incoming, Stage::Envelope, &caller, &error);
                return Err(error);
            }
        };
        // The operator's log lines of this call belong to the caller's trace.
        let trace = incoming.trace_parent.as_ref();
        let span = trace.map(|trace| tracing::info_span!(target: "convoke::call", "trace", parent = %trace));
        let sent = request_span::begin(&self.runtime, incoming, &self.own_routes);
        let origin = Origin { request_id: incoming.request_id.clone(), span: Some(sent.clone()) };
        let call = || self.runtime.call_of(request, repeatable, caller, flow, used, origin);
        let (outcome, format) = match span {
            Some(span) => Box::pin(call().instrument(span)).await,
            None => call().await,
        };
        request_span::end(&sent, outcome.result.as_ref().err());
        let has_created_user = match unknown.as_deref() {
            Some(Identity { issuer, subject, .. }) => {
                Box::pin(provision::is_known(self.runtime.database(), issuer, subject)).await.unwrap_or(false)
            }
            None => false,
        };
        Ok(Ended { outcome, format, has_created_user })
    }

    /// Returns the responses to this request that carry log lines.
    fn log_lines(&self, incoming: &Incoming<Endpoint>) -> LogLinesOn {
        if incoming.is_operator { LogLinesOn::Always } else { self.log_lines }
    }

    /// Serves an admin request: authenticates the caller, checks the scope, calls the handler, and records the use.
    async fn admin(&self, incoming: &Incoming<Endpoint>, route: Option<AdminRoute>) -> Reply {
        let key = match self.caller(incoming).await {
            Ok(Caller::DeployKey(key)) => key,
            // A client of the control socket is the operator, also while it acts as a user.
            Ok(_) if is_operator(incoming) => operator::key(None),
            Ok(Caller::Nobody | Caller::User(_) | Caller::System) => {
                return self.reject(incoming, self.authenticator.deploy_key_required());
            }
            Err(reply) => return reply,
        };
        self.admin_as(incoming, &key, route).await
    }

    async fn admin_as(
        &self,
        incoming: &Incoming<Endpoint>,
        key: &Arc<DeployKeyCaller>,
        route: Option<AdminRoute>,
    ) -> Reply {
        let Some(route) = route else { return self.no_admin_route(incoming, key) };
        let (method, path) = (&incoming.method, &*admin_path(incoming));
        let what = format!("{method} {path}");
        if let Some(scope) = route.scope
            && !scope.is_held_by(key)
        {
            return self.lacks(incoming, key, what, scope);
        }
        let began = self.runtime.clock().monotonic();
        let span = request_span::begin(&self.runtime, incoming, &self.own_routes);
        let request = AdminRequest::new(key, incoming);
        let answered = (route.handler)(&self.admin, request).await;
        request_span::end(&span, answered.as_ref().err());
        let elapsed = self.runtime.clock().monotonic().saturating_sub(began);
        tracing::info!(
            target: "convoke::admin",
            request_id = &*incoming.request_id,
            method = method.as_str(),
            path,
            outcome = answered.as_ref().err().map_or("OK", |error| error.code().as_str()),
            took_us = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX),
            deploy_key = key.name,
            "admin"
        );
        let used = self.used(incoming, key, what, answered.as_ref().err().map(Error::code));
        match *method {
            Method::GET if !self.is_news(incoming, &used) => {}
            Method::GET => self.admin.audit.record(self.runtime.database(), used),
            _ => self.admin.audit.record_change(self.runtime.database(), used).await,
        }
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

    /// Rejects an unknown admin route. Only authenticated callers learn which routes exist.
    fn no_admin_route(&self, incoming: &Incoming<Endpoint>, key: &Arc<DeployKeyCaller>) -> Reply {
        let methods: Vec<&str> = self.routes.methods(incoming.uri.path()).map(Method::as_str).collect();
        if methods.is_empty() {
            let error = Error::new(Code::RouteNotFound, "There is no such route.");
            self.rejected(incoming, Stage::Envelope, &Caller::DeployKey(key.clone()), &error);
            return failed(&error);
        }
        let error = Error::new(Code::MethodNotAllowed, "This route has no such method.");
        self.rejected(incoming, Stage::Envelope, &Caller::DeployKey(key.clone()), &error);
        let allow = HeaderValue::try_from(methods.join(", ")).map(|allow| (ALLOW, allow));
        Reply { fields: allow.into_iter().collect(), ..failed(&error) }
    }

    /// Ends a stream soon after its key is rejected: revoked, expired, or with a secret that a rotation replaced.
    fn while_accepted(&self, reply: Reply, incoming: &Incoming<Endpoint>) -> Reply {
        let reply = self.while_logged_in(reply, incoming);
        let Some(header) = incoming.authorization.clone().filter(|_| reply.body.is_stream()) else { return reply };
        let authenticator = self.authenticator.clone();
        let refused = async move {
            while authenticator.authenticate(Some(header.as_bytes())).await.is_ok() {
                tokio::time::sleep(KEY_CHECK_INTERVAL).await;
            }
        };
        Reply { body: reply.body.until(refused), ..reply }
    }

    fn lacks(&self, incoming: &Incoming<Endpoint>, key: &DeployKeyCaller, what: String, scope: Scope) -> Reply {
        let used = self.used(incoming, key, what, Some(Code::InsufficientScope));
        self.admin.audit.record(self.runtime.database(), used);
        let header = incoming.authorization.as_ref().map_or(&b""[..], |value| value.as_bytes());
        self.reject(incoming, self.authenticator.insufficient(header, scope))
    }

    /// Rejects the credentials of a request and informs the observers.
    fn reject(&self, incoming: &Incoming<Endpoint>, error: AuthError) -> Reply {
        let (www_authenticate, retry_after) = (error.challenge(), error.retry_after_seconds());
        let retry_after_s = retry_after.map(|seconds| u32::try_from(seconds).unwrap_or(u32::MAX));
        let error = Error::from(error);
        self.rejected(incoming, Stage::Credentials, &Caller::Nobody, &error);
        Reply { www_authenticate, retry_after_s, ..failed(&error) }
    }

    fn rejected(&self, incoming: &Incoming<Endpoint>, stage: Stage, caller: &Caller, error: &Error) {
        let rejection = Rejection { stage, asked: &asked(incoming), peer: Some(incoming.peer) };
        self.runtime.rejected(rejection, &incoming.request_id, caller, error);
    }

    fn used(
        &self,
        incoming: &Incoming<Endpoint>,
        key: &DeployKeyCaller,
        what: String,
        refused: Option<Code>,
    ) -> KeyUse {
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
    type Endpoint = Endpoint;

    fn routes(&self) -> &Routes<Endpoint> {
        &self.routes
    }

    async fn call(&self, incoming: Box<Incoming<Endpoint>>) -> Reply {
        if let Some(browser) = &incoming.browser
            && let Err(error) = self.admin.console.admit(browser, &incoming.method)
        {
            self.rejected(&incoming, Stage::Credentials, &Caller::Nobody, &error);
            return failed(&error);
        }
        match incoming.endpoint {
            Endpoint::Run => {
                self.function(&incoming, Request::Run { path: incoming.param(0), body: &incoming.body }).await
            }
            Endpoint::Route(index) => self.route(&incoming, index).await,
            Endpoint::Kind(kind) => self.function(&incoming, Request::OfKind { kind, body: &incoming.body }).await,
            Endpoint::QueryAtTs => self.function(&incoming, Request::QueryAtTs { body: &incoming.body }).await,
            Endpoint::QueryTs => self.query_ts(),
            Endpoint::QueryBatch => Box::pin(self.query_batch(&incoming)).await,
            // Rare requests are boxed: the future of each call is as large as its largest branch.
            Endpoint::Live => Box::pin(self.live(&incoming)).await,
            Endpoint::Callback => Box::pin(self.callback(&incoming)).await,
            Endpoint::Mcp => Box::pin(self.mcp(&incoming)).await,
            Endpoint::Sync => self.sync(incoming),
            Endpoint::Forget => Reply::json(200, &b"{}"[..]),
            Endpoint::OpenApi => self.pages.description(self.runtime.registry(), &incoming),
            Endpoint::LlmsTxt => self.pages.for_models(self.runtime.registry(), &incoming),
            Endpoint::Docs => self.pages.reference(incoming.param(0), &incoming),
            Endpoint::Site => match &self.site {
                Some(site) => Box::pin(site.reply(&incoming)).await,
                None => page::none(),
            },
            Endpoint::Home => page::found(const { HeaderValue::from_static("/docs") }),
            Endpoint::Metrics => {
                let (authenticator, traffic) = (Some(&self.authenticator), self.traffic.get());
                let page = metrics::Page { runtime: &self.runtime, authenticator, traffic };
                Reply { content_type: metrics::CONTENT_TYPE, ..Reply::json(200, page.text().await) }
            }
            Endpoint::Upload => Box::pin(files::upload::answer(&self.runtime, incoming)).await,
            Endpoint::File => Box::pin(files::read::answer(&self.runtime, &incoming)).await,
            Endpoint::Admin(route) => Box::pin(self.admin(&incoming, Some(route))).await,
            Endpoint::NoAdminRoute => Box::pin(self.admin(&incoming, None)).await,
            Endpoint::Console(route) => Box::pin(self.console(&incoming, route)).await,
        }
    }

    fn ready(&self) -> Result<(), String> {
        self.runtime.ready()?;
        if let Some(reason) = Following::not_ready(&self.runtime) {
            return Err(reason);
        }
        match self.authenticator.has_no_keys() {
            true => Err("no identity provider's keys could be fetched yet, so users are rejected".to_owned()),
            false => Ok(()),
        }
    }

    fn ready_detail(&self) -> Option<String> {
        let blocked = self.runtime.scheduler().blocked_runs();
        let blocked = (blocked > 0)
            .then(|| format!("{blocked} runs of workflows are blocked; see `convoke workflows list --state blocked`"));
        let details: Vec<String> = blocked
            .into_iter()
            .chain(Copies::problem(&self.runtime))
            .chain(Following::problem(&self.runtime))
            .collect();
        (!details.is_empty()).then(|| details.join("; "))
    }

    fn rejections(&self) -> &dyn RejectionObserver {
        self
    }

    fn room(&self, incoming: &Incoming<Endpoint>) -> Result<(), &'static str> {
        let kind = match incoming.endpoint {
            Endpoint::Run => self.runtime.registry().get(incoming.param(0)).map(|function| function.kind()),
            Endpoint::Kind(kind) => Some(kind),
            Endpoint::Route(index) => self.own_routes.get(index).map(|(function, _)| function.kind()),
            Endpoint::Live | Endpoint::QueryAtTs | Endpoint::QueryBatch => Some(Kind::Query),
            Endpoint::Mcp => self.tool_named_in_the_head(incoming).map(Registered::kind),
            Endpoint::Sync
            | Endpoint::QueryTs
            | Endpoint::Forget
            | Endpoint::Callback
            | Endpoint::Admin(_)
            | Endpoint::NoAdminRoute
            | Endpoint::Metrics
            | Endpoint::OpenApi
            | Endpoint::LlmsTxt
            | Endpoint::Docs
            | Endpoint::Home
            | Endpoint::Upload
            | Endpoint::File
            | Endpoint::Site
            | Endpoint::Console(_) => None,
        };
        // A request that calls no function is rejected after its body is read.
        let Some(kind) = kind else { return Ok(()) };
        let address = counted_as(incoming.peer);
        let flow = match incoming.authorization.as_ref().map(|header| self.authenticator.cached(header.as_bytes())) {
            None => flow_of(&Caller::Nobody, Some(address)),
            Some(Some(caller)) => flow_of(&caller, Some(address)),
            // The caller of an unverified token is unknown; all such callers of the address share a flow.
            Some(None) => Flow::of(("unknown", address)),
        };
        self.runtime.room(kind, flow).map_err(|_overloaded| "Too many calls are waiting; try again in a second")
    }

    fn answers(&self) -> Option<Arc<Budget>> {
        Some(Arc::clone(self.runtime.answers()))
    }

    fn bound(&self, traffic: &Arc<Traffic>) {
        // If two servers share a gateway, it reports the traffic of the first.
        let _ = self.traffic.set(traffic.clone());
    }
}

impl RejectionObserver for Gateway {
    fn rejected(&self, request: RejectedRequest<'_>) {
        let RejectedRequest { code, message, request_id, method, path, peer } = request;
        let rejection =
            Rejection { stage: Stage::Listener, asked: &format!("{method} {}", without_token(path)), peer: Some(peer) };
        self.runtime.rejected(rejection, &request_id.into(), &Caller::Nobody, &Error::new(code, message));
    }
}

fn reply(outcome: Outcome, format: Format, log_lines: LogLinesOn) -> Reply {
    // Each 503 carries `Retry-After`.
    let retry_after_s = match &outcome.result {
        Err(error) if error.code().status() == 503 => Some(1),
        Err(_) | Ok(_) => None,
    };
    let replayed = outcome.is_replayed.then_some((IDEMPOTENCY_REPLAYED, const { HeaderValue::from_static("true") }));
    let (status, body) = envelope::write(outcome, format, log_lines);
    Reply { retry_after_s, fields: replayed.into_iter().collect(), ..Reply::json(status, body) }
}

/// Returns a path for logs and records without a token that it contains.
fn without_token(path: &str) -> &str {
    let begins = ["/files/uploads/", "/files/", "/api/callback/", "/console/api/downloads/"];
    begins.into_iter().find(|begin| path.starts_with(begin)).unwrap_or(path)
}

/// Returns the target of a request for logs and records, as far as it is known before the body is read.
fn asked(incoming: &Incoming<Endpoint>) -> Cow<'_, str> {
    match incoming.endpoint {
        Endpoint::Run => incoming.param(0).into(),
        Endpoint::Kind(kind) => kind.as_str().into(),
        Endpoint::QueryAtTs | Endpoint::QueryBatch => Kind::Query.as_str().into(),
        Endpoint::Live => "live".into(),
        Endpoint::Sync => "sync".into(),
        Endpoint::Admin(_) | Endpoint::NoAdminRoute => admin_path(incoming),
        // The path contains a token, which sends a signal once.
        Endpoint::Callback => "api/callback".into(),
        // The path contains a ticket, which grants the download until it is used.
        Endpoint::Console(ConsoleRoute::Download) => "console/api/downloads".into(),
        // These paths contain tokens.
        Endpoint::Upload => "files/uploads".into(),
        Endpoint::File => "files".into(),
        Endpoint::QueryTs
        | Endpoint::Route(_)
        | Endpoint::Mcp
        | Endpoint::Forget
        | Endpoint::Metrics
        | Endpoint::OpenApi
        | Endpoint::LlmsTxt
        | Endpoint::Docs
        | Endpoint::Home
        | Endpoint::Site
        | Endpoint::Console(_) => incoming.uri.path().trim_start_matches('/').into(),
    }
}

/// Returns the decoded path of an admin request, without the common prefix.
fn admin_path(incoming: &Incoming<Endpoint>) -> Cow<'_, str> {
    let path = incoming.uri.path();
    let path = path.strip_prefix("/console").unwrap_or(path);
    percent_decode_str(path.strip_prefix(routes::ADMIN).unwrap_or(path)).decode_utf8_lossy()
}

/// Returns true if the request comes from the operator: by the control socket, or by a page of the console. A page's
/// caller without a key is a user that the operator acts as.
fn is_operator(incoming: &Incoming<Endpoint>) -> bool {
    (incoming.is_operator && incoming.authorization.is_none()) || incoming.browser.is_some()
}

fn failed(error: &Error) -> Reply {
    Reply::json(error.code().status(), envelope::failure(error, &LogLines::default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused_path_is_named_without_its_token() {
        for path in ["/files/uploads/AaIj", "/files/uploads/AaIj/", "/api/callback/AaIj"] {
            assert!(!without_token(path).contains("AaIj"), "{path}");
        }
        assert_eq!(without_token("/api/run/notes/get"), "/api/run/notes/get");
    }
}
