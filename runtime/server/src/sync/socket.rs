//! A session on its socket: processes messages in order, runs calls concurrently, and sends one transition at a time.
//!
//! One task serves each client. It waits for an event, handles it completely, and sends the result before it waits for
//! the next. So at most one message per client is being sent, and the next transition includes the changes in the
//! meantime.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::{BoxFuture, Fuse, FusedFuture as _};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use tokio::time::{Instant, Interval, MissedTickBehavior};
use zeroize::Zeroizing;

use super::messages::{
    self, Answered, Call, ClientKind, FromClient, Modification, TRANSITION_BYTES_MAX, Token, Version,
};
use super::session::{Session, Step};
use crate::admin::Admin;
use crate::admin::key_uses::KeyUse;
use crate::auth::Authenticator;
use crate::auth::deploy_key::Scope;
use crate::live::refused;
use convoke_calls::call::Format;
use convoke_calls::call::dispatch::{Outcome, Request};
use convoke_calls::call::envelope::{LogLinesOn, encoded_error};
use convoke_calls::call::flow::flow_of;
use convoke_calls::call::idempotency::Repeatable;
use convoke_calls::codec::decode;
use convoke_calls::function::Kind;
use convoke_calls::live::{AskedQuery, Bound, LiveConnection, Owner, QueryResult};
use convoke_calls::logs::LogLines;
use convoke_calls::observe::UsedKey;
use convoke_core::error::{Code, Error, Result};
use convoke_core::excerpt::excerpt;
use convoke_core::identity::Caller;
use convoke_http::{Received, WebSocket};

/// The other side of a connection.
pub(crate) struct Peer {
    pub admin: Admin,
    pub authenticator: Authenticator,
    /// The client's address, for records.
    pub peer: IpAddr,
    /// The client's address, for limits.
    pub address: IpAddr,
    /// True if its connections count toward the limits of an owner.
    pub is_counted: bool,
    /// True if the client is a web page.
    pub has_origin: bool,
    pub kind: ClientKind,
    pub log_lines: LogLinesOn,
}

impl Peer {
    fn owner(&self, caller: &Caller) -> Option<Owner> {
        let who = caller.identity().map(|identity| identity.token_identifier());
        let key = caller.deploy_key().map(|key| key.name.as_str());
        self.is_counted.then(|| format!("{who:?} {key:?} {}", self.address).into())
    }
}

/// The reason for the end of a session.
enum End {
    /// The client has disconnected.
    Lost,
    /// The server closes with this code and reason.
    Close(u16, String),
    /// The server closes after this last message.
    Say(String),
}

impl From<convoke_http::Lost> for End {
    fn from(_: convoke_http::Lost) -> Self {
        End::Lost
    }
}

/// Converts an error to a close code. Clients recognize these prefixes as temporary and reconnect soon.
fn ended(error: &Error) -> End {
    match error.code() {
        Code::Overloaded => End::Close(1013, format!("TooManyConcurrentRequests: {}", error.message())),
        _ => internal_error(error.message()),
    }
}

fn internal_error(why: &str) -> End {
    End::Close(1011, format!("InternalServerError: {why}"))
}

/// The close code for a message that exceeds the limit.
const TOO_LONG: u16 = 1009;

const SHUTTING_DOWN: (u16, &str) = (1012, "InternalServerError: the server is shutting down");

/// Serves a client until either side ends the connection.
pub(crate) async fn serve(peer: Peer, socket: WebSocket) {
    let caller = Caller::Nobody;
    let flow = flow_of(&caller, Some(peer.address));
    let live = match peer.admin.runtime.live().open(caller.clone(), flow, peer.owner(&caller)) {
        Ok(live) => live,
        Err(error) => {
            let End::Close(code, why) = ended(&error) else { return };
            return socket.close(code, &why).await;
        }
    };
    let limits = peer.admin.runtime.limits();
    let mut ping = tokio::time::interval_at(Instant::now() + limits.live_ping_interval, limits.live_ping_interval);
    ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let connect_by = Instant::now() + limits.live_connect_timeout;
    let mut client = Client {
        peer,
        socket,
        live,
        session: Session::default(),
        client_version: Version::default(),
        caller,
        ping,
        connect_by,
        refused: Fuse::terminated(),
        queued: VecDeque::new(),
        mutation: Fuse::terminated(),
        has_written: Arc::default(),
        actions: FuturesUnordered::new(),
        had_room: true,
        deferred: None,
        transitions: 0,
    };
    let end = loop {
        if let Err(end) = client.next().await {
            break end;
        }
    };
    if let End::Lost = end {
        client.finish_mutations().await;
    }
    // The connection no longer counts, even if the close takes long.
    let Client { mut socket, live, .. } = client;
    drop(live);
    match end {
        End::Lost => {}
        End::Close(code, why) => socket.close(code, &why).await,
        End::Say(last) => {
            if socket.send(last).await.is_ok() {
                socket.close(1000, "").await;
            }
        }
    }
}

/// A running call with its request number.
type RunningCall = BoxFuture<'static, (u32, Outcome)>;

struct Client {
    peer: Peer,
    socket: WebSocket,
    live: LiveConnection,
    session: Session,
    /// The client's version: that of the last transition.
    client_version: Version,
    caller: Caller,
    ping: Interval,
    /// Deadline of the first message.
    connect_by: Instant,
    /// Resolves when the credentials are no longer accepted.
    refused: Fuse<BoxFuture<'static, Error>>,
    /// Mutations that wait for the running one.
    queued: VecDeque<Call>,
    mutation: Fuse<RunningCall>,
    /// True if the running mutation has written: live queries may see its effects at any time.
    has_written: Arc<AtomicBool>,
    actions: FuturesUnordered<RunningCall>,
    /// True if the limits of calls allowed another call at the last check.
    had_room: bool,
    /// A message that waits for earlier mutations. Later messages wait for it.
    deferred: Option<Step>,
    transitions: u64,
}

impl Client {
    /// Waits for the next event and handles it.
    async fn next(&mut self) -> Result<(), End> {
        self.begin_mutation();
        if self.mutation.is_terminated()
            && let Some(step) = self.deferred.take()
        {
            return self.step(step).await;
        }
        let limits = self.peer.admin.runtime.limits();
        let has_room =
            self.queued.len() < limits.live_mutations_queued_max && self.actions.len() < limits.live_actions_max;
        if !has_room && self.had_room {
            self.peer.admin.runtime.live().stats().meet(Bound::Calls);
        }
        self.had_room = has_room;
        let reads = self.deferred.is_none() && has_room;
        let is_connected = self.session.id().is_some();
        let draining = self.socket.draining();
        tokio::select! {
            received = self.socket.receive(), if reads => self.receive(received).await,
            (request, outcome) = &mut self.mutation => self.mutated(request, outcome).await,
            Some((request, outcome)) = self.actions.next(), if !self.actions.is_empty() => {
                let text = self.answer(Answered { request, ts: None }, outcome)?;
                self.send(text).await
            }
            () = self.live.due(), if is_connected => self.changed().await,
            _ = self.ping.tick() => self.send(messages::PING.to_owned()).await,
            error = &mut self.refused => {
                Err(End::Say(messages::auth_error(error.message(), self.session.identity(), false)))
            }
            () = draining => {
                // The running mutation is completed. The client sends the queued mutations again after it reconnects.
                if !self.mutation.is_terminated() {
                    let (request, outcome) = (&mut self.mutation).await;
                    self.mutated(request, outcome).await?;
                }
                Err(End::Close(SHUTTING_DOWN.0, SHUTTING_DOWN.1.to_owned()))
            }
            () = tokio::time::sleep_until(self.connect_by), if !is_connected => {
                self.peer.admin.runtime.live().stats().meet(Bound::Connect);
                Err(End::Close(1008, "Connect did not arrive in time".to_owned()))
            }
        }
    }

    /// Starts the oldest queued mutation, if none runs.
    fn begin_mutation(&mut self) {
        if self.mutation.is_terminated()
            && let Some(call) = self.queued.pop_front()
        {
            self.has_written = Arc::default();
            self.mutation = self.start(call).fuse();
        }
    }

    /// Runs the queued mutations of a client that disconnected, because a page may send mutations as it closes. Until
    /// then, the connection counts toward the limits.
    async fn finish_mutations(&mut self) {
        loop {
            self.begin_mutation();
            if self.mutation.is_terminated() {
                return;
            }
            (&mut self.mutation).await;
        }
    }

    async fn receive(&mut self, received: Received) -> Result<(), End> {
        let text = match received {
            Received::Text(text) => text,
            Received::Wrong(code, why) => {
                if code == TOO_LONG {
                    self.peer.admin.runtime.live().stats().meet(Bound::MessageBytes);
                }
                return Err(End::Close(code, why.to_owned()));
            }
            Received::Gone => return Err(End::Lost),
        };
        let fatal = |why: &str| End::Say(messages::fatal(why));
        let depth_max = self.peer.admin.runtime.limits().json_depth_max;
        decode::strict(text.as_bytes(), depth_max).map_err(|error| fatal(error.message()))?;
        let message = FromClient::read(&text).map_err(|why| fatal(&why))?;
        let step = self.session.receive(message).map_err(|why| fatal(&why))?;
        self.step(step).await
    }

    async fn step(&mut self, step: Step) -> Result<(), End> {
        match step {
            Step::Nothing => Ok(()),
            Step::Authenticate { .. } if !self.mutation.is_terminated() || !self.queued.is_empty() => {
                self.deferred = Some(step);
                Ok(())
            }
            Step::Authenticate { base_version, token } => self.authenticate(base_version, token).await,
            Step::Modify(modifications) => self.modify(modifications).await,
            Step::Call(call) if call.is_mutation => {
                self.queued.push_back(call);
                Ok(())
            }
            Step::Call(call) => {
                let action = self.start(call);
                self.actions.push(action);
                Ok(())
            }
        }
    }

    async fn modify(&mut self, modifications: Vec<Modification>) -> Result<(), End> {
        let mut removed = Vec::new();
        for modification in modifications {
            match modification {
                Modification::Add { query, path, args, journal } => {
                    self.record(&format!("live {}", excerpt(&path)));
                    let asked = AskedQuery { path, args, format: Format::ConvexEncoded, journal };
                    self.live.subscribe(query, asked).await;
                }
                Modification::Remove { query } => {
                    self.live.unsubscribe(query);
                    removed.push(messages::removed(query));
                }
            }
        }
        self.transition(0, removed).await
    }

    async fn authenticate(&mut self, base_version: u32, token: Token) -> Result<(), End> {
        let refuse = |why: &str| End::Say(messages::auth_error(why, base_version, true));
        let header = match token {
            Token::None => None,
            Token::User(token) => Some(Zeroizing::new(format!("Bearer {token}").into_bytes())),
            Token::Admin(..) if self.peer.has_origin => return Err(refuse("A page may not use a deploy key")),
            Token::Admin(key, acting_as) => {
                let suffix = acting_as.map(|identity| format!(":{}", STANDARD.encode(identity.to_string())));
                let scheme = self.peer.authenticator.deploy_key_scheme();
                Some(Zeroizing::new(format!("{scheme} {key}{}", suffix.unwrap_or_default()).into_bytes()))
            }
        };
        if let Err(why) = self.peer.admin.runtime.ready() {
            return Err(internal_error(&why));
        }
        let caller = match self.peer.authenticator.authenticate(header.as_ref().map(|header| &***header)).await {
            Ok(caller) => caller,
            Err(error) => {
                let error = Error::from(error);
                return Err(match error.code().status() {
                    503 => internal_error(error.message()),
                    _ => refuse(error.message()),
                });
            }
        };
        if let Caller::DeployKey(key) = &caller
            && !Scope::Functions.is_held_by(key)
        {
            return Err(refuse("The deploy key lacks the scope `functions`"));
        }
        let flow = flow_of(&caller, Some(self.peer.address));
        let owner = self.peer.owner(&caller);
        self.live.change_caller(caller.clone(), flow, owner).await.map_err(|error| ended(&error))?;
        self.refused = match header {
            None => Fuse::terminated(),
            Some(header) => refused(self.peer.authenticator.clone(), caller.clone(), Some(header)).boxed().fuse(),
        };
        self.caller = caller;
        self.session.authenticated();
        self.transition(0, Vec::new()).await
    }

    fn start(&self, call: Call) -> RunningCall {
        let runtime = self.peer.admin.runtime.clone();
        let (caller, peer) = (self.caller.clone(), self.peer.peer);
        let flow = flow_of(&caller, Some(self.peer.address));
        let session = self.session.id().unwrap_or_default().into();
        let has_written = self.has_written.clone();
        async move {
            let Call { is_mutation, request: number, path, args } = call;
            let (kind, repeatable) = match is_mutation {
                true => (Kind::Mutation, Some(Repeatable::Request { session, number, has_written })),
                false => (Kind::Action, None),
            };
            let request = Request::Parts { kind, path: &path, args: &args, format: Format::ConvexEncoded };
            let key = caller.deploy_key().cloned();
            let used = key.as_ref().map(|key| UsedKey { key, peer: Some(peer) });
            let origin = runtime.request_id().into();
            let (outcome, _) = runtime.call_of(request, repeatable, caller, flow, used, origin).await;
            (number, outcome)
        }
        .boxed()
    }

    /// Sends the response of a mutation, then a transition that includes its writes.
    async fn mutated(&mut self, request: u32, outcome: Outcome) -> Result<(), End> {
        let ts = self.respond_to_mutation(request, outcome).await?;
        self.transition(ts, Vec::new()).await
    }

    /// Sends the response of a mutation. Returns the commit that the next transition must reach.
    async fn respond_to_mutation(&mut self, request: u32, outcome: Outcome) -> Result<u64, End> {
        // The client reconnects, repeats the mutation, and then receives its result.
        if outcome.result.as_ref().is_err_and(|error| error.code() == Code::CommitUnknown) {
            return Err(internal_error("whether the mutation was committed is not known yet"));
        }
        let ts = self.peer.admin.runtime.store().commits().newest().0;
        let text = self.answer(Answered { request, ts: Some(ts) }, outcome)?;
        self.send(text).await?;
        Ok(ts)
    }

    fn answer(&self, call: Answered, outcome: Outcome) -> Result<String, End> {
        let Outcome { result, log_lines, .. } = outcome;
        match result {
            Ok(value) => {
                let shown = match self.peer.log_lines {
                    LogLinesOn::Always => log_lines,
                    LogLinesOn::Error => LogLines::default(),
                };
                let value = value.joined();
                let value = std::str::from_utf8(&value).map_err(|_| internal_error("a result is not UTF-8"))?;
                Ok(messages::response(call, Ok(value), &shown))
            }
            Err(error) => Ok(messages::response(call, Err(&encoded_error(error)), &log_lines)),
        }
    }

    /// Sends changed results, if any.
    async fn changed(&mut self) -> Result<(), End> {
        match self.live.catch_up().await.map_err(|error| ended(&error))? {
            None => Ok(()),
            Some(update) => self.send_results(update.results, 0, &[]).await,
        }
    }

    /// Sends a transition to the latest commit, at least `at_least`, even if no result changed.
    async fn transition(&mut self, at_least: u64, removed: Vec<String>) -> Result<(), End> {
        let mut told = Vec::new();
        self.gather(&mut told, at_least).await?;
        self.send_results(told, at_least, &removed).await
    }

    async fn gather(&mut self, told: &mut Vec<QueryResult>, at_least: u64) -> Result<(), End> {
        while let Some(update) = self.live.catch_up().await.map_err(|error| ended(&error))? {
            told.retain(|one| update.results.iter().all(|newer| newer.query != one.query));
            told.extend(update.results);
            if self.live.reached().0 >= at_least {
                break;
            }
        }
        Ok(())
    }

    /// Sends results. They may include writes of the running mutation. Its response is sent first, so that the client
    /// never applies its optimistic update to results that already include the writes.
    async fn send_results(
        &mut self,
        mut told: Vec<QueryResult>,
        mut at_least: u64,
        removed: &[String],
    ) -> Result<(), End> {
        if !self.mutation.is_terminated() && self.has_written.load(Acquire) {
            let (request, outcome) = (&mut self.mutation).await;
            at_least = self.respond_to_mutation(request, outcome).await?;
            self.gather(&mut told, at_least).await?;
        }
        self.send_transition(self.live.reached().0.max(at_least), &told, removed).await
    }

    async fn send_transition(&mut self, ts: u64, told: &[QueryResult], removed: &[String]) -> Result<(), End> {
        let text = self.session.transition(&mut self.client_version, ts, told, removed);
        if text.len() <= TRANSITION_BYTES_MAX || self.peer.kind == ClientKind::Plain {
            return self.send(text).await;
        }
        self.transitions += 1;
        for part in messages::parts(&text, self.transitions) {
            self.send(part).await?;
        }
        Ok(())
    }

    async fn send(&mut self, text: String) -> Result<(), End> {
        let charge = self.peer.admin.runtime.answers().charge_made(text.len());
        let sent = tokio::select! {
            sent = self.socket.send(text) => sent.map_err(End::from),
            // A client that lost access does not receive the waiting message either.
            _ = &mut self.refused => Err(End::Lost),
        };
        drop(charge);
        sent
    }

    fn record(&self, what: &str) {
        let Caller::DeployKey(key) = &self.caller else { return };
        let runtime = &self.peer.admin.runtime;
        let used = KeyUse {
            key: key.name.clone(),
            what: what.to_owned(),
            outcome: "OK".to_owned(),
            request_id: runtime.request_id().to_string(),
            acting_as: key.acting_as.as_ref().map(|identity| identity.token_identifier()),
            peer: Some(self.peer.peer.to_string()),
            at: runtime.clock().now(),
        };
        self.peer.admin.audit.record(runtime.database(), used);
    }
}
