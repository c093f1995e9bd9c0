//! A session on its socket: messages in their order, calls beside each other, and one transition after the other.
//!
//! Everything of one client happens in one task. It waits for the next thing to do, does that to its end, and sends what
//! comes of it before it looks for another: so one message at most is under way to the client, and what changes meanwhile
//! is told by the next one.

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
use convoke_core::identity::Caller;
use convoke_http::{Received, WebSocket};

/// The other side of a connection.
pub(crate) struct Peer {
    pub admin: Admin,
    pub authenticator: Authenticator,
    /// As it is told in records.
    pub peer: IpAddr,
    /// As limits count it.
    pub address: IpAddr,
    /// Whether its connections are counted.
    pub is_counted: bool,
    /// Whether it is a page.
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

/// Why a session is over.
enum End {
    /// There is nobody to tell.
    Lost,
    /// With a close code and its reason.
    Close(u16, String),
    /// After a last message.
    Say(String),
}

impl From<convoke_http::Lost> for End {
    fn from(_: convoke_http::Lost) -> Self {
        End::Lost
    }
}

/// By these words clients know to come again soon, and not to give up.
fn ended(error: &Error) -> End {
    match error.code() {
        Code::Overloaded => End::Close(1013, format!("TooManyConcurrentRequests: {}", error.message())),
        _ => unwell(error.message()),
    }
}

fn unwell(why: &str) -> End {
    End::Close(1011, format!("InternalServerError: {why}"))
}

/// The close code of a message beyond its bound.
const TOO_LONG: u16 = 1009;

const GOING: (u16, &str) = (1012, "InternalServerError: the server is shutting down");

/// Serves a client until one of both sides ends it.
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
        told: Version::default(),
        caller,
        ping,
        connect_by,
        refused: Fuse::terminated(),
        queued: VecDeque::new(),
        mutation: Fuse::terminated(),
        has_written: Arc::default(),
        actions: FuturesUnordered::new(),
        had_room: true,
        held: None,
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
    // However long the client takes to go, its place is free.
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

/// An answer that is on its way, and to which call.
type Running = BoxFuture<'static, (u32, Outcome)>;

struct Client {
    peer: Peer,
    socket: WebSocket,
    live: LiveConnection,
    session: Session,
    /// The version of the last transition.
    told: Version,
    caller: Caller,
    ping: Interval,
    /// Until when the first message has to be there.
    connect_by: Instant,
    /// Ends when the credentials are no longer accepted.
    refused: Fuse<BoxFuture<'static, Error>>,
    /// Mutations that wait for the one before.
    queued: VecDeque<Call>,
    mutation: Fuse<Running>,
    /// Whether the mutation that runs has written: its effects may be seen any moment.
    has_written: Arc<AtomicBool>,
    actions: FuturesUnordered<Running>,
    /// Whether fewer calls were under way than may be, when that was looked at last.
    had_room: bool,
    /// A message that waits for the mutations before it, and others behind it.
    held: Option<Step>,
    transitions: u64,
}

impl Client {
    /// Does the next thing that there is to do.
    async fn next(&mut self) -> Result<(), End> {
        self.begin_mutation();
        if self.mutation.is_terminated()
            && let Some(step) = self.held.take()
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
        let reads = self.held.is_none() && has_room;
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
                // What runs is answered; what waits is sent again by the client, elsewhere or later.
                if !self.mutation.is_terminated() {
                    let (request, outcome) = (&mut self.mutation).await;
                    self.mutated(request, outcome).await?;
                }
                Err(End::Close(GOING.0, GOING.1.to_owned()))
            }
            () = tokio::time::sleep_until(self.connect_by), if !is_connected => {
                self.peer.admin.runtime.live().stats().meet(Bound::Connect);
                Err(End::Close(1008, "No Connect came in time".to_owned()))
            }
        }
    }

    /// Begins the mutation that waits longest, if none runs.
    fn begin_mutation(&mut self) {
        if self.mutation.is_terminated()
            && let Some(call) = self.queued.pop_front()
        {
            self.has_written = Arc::default();
            self.mutation = self.start(call).fuse();
        }
    }

    /// Does what the client sent before it went, and tells nobody: a page says its last words as it closes. Meanwhile
    /// the connection keeps its place.
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
                self.held = Some(step);
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
                    self.record(&format!("live {}", shortened(&path)));
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
            return Err(unwell(&why));
        }
        let caller = match self.peer.authenticator.authenticate(header.as_ref().map(|header| &***header)).await {
            Ok(caller) => caller,
            Err(error) => {
                let error = Error::from(error);
                return Err(match error.code().status() {
                    503 => unwell(error.message()),
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

    /// Begins a call.
    fn start(&self, call: Call) -> Running {
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
            let request_id = runtime.request_id();
            let (outcome, _) = runtime.call_of(request, repeatable, caller, flow, used, request_id).await;
            (number, outcome)
        }
        .boxed()
    }

    /// A mutation has ended: its answer, and the transition that has what it wrote.
    async fn mutated(&mut self, request: u32, outcome: Outcome) -> Result<(), End> {
        let ts = self.tell_mutated(request, outcome).await?;
        self.transition(ts, Vec::new()).await
    }

    /// Answers a mutation; the commit that the next transition has to reach.
    async fn tell_mutated(&mut self, request: u32, outcome: Outcome) -> Result<u64, End> {
        // Whoever comes again is told what became of it.
        if outcome.result.as_ref().is_err_and(|error| error.code() == Code::CommitUnknown) {
            return Err(unwell("whether the mutation was committed is not known yet"));
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
                let value = std::str::from_utf8(&value).map_err(|_| unwell("a result is no text"))?;
                Ok(messages::response(call, Ok(value), &shown))
            }
            Err(error) => Ok(messages::response(call, Err(&encoded_error(error)), &log_lines)),
        }
    }

    /// Something that is watched may have changed.
    async fn changed(&mut self) -> Result<(), End> {
        match self.live.catch_up().await.map_err(|error| ended(&error))? {
            None => Ok(()),
            Some(update) => self.send_results(update.results, 0, &[]).await,
        }
    }

    /// Takes the client to the newest commit, `at_least` or later, whatever has changed.
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

    /// Results may have what the mutation wrote that runs now. Its answer goes first, so that a client never lays its
    /// guess of what will be written over what was.
    async fn send_results(
        &mut self,
        mut told: Vec<QueryResult>,
        mut at_least: u64,
        removed: &[String],
    ) -> Result<(), End> {
        if !self.mutation.is_terminated() && self.has_written.load(Acquire) {
            let (request, outcome) = (&mut self.mutation).await;
            at_least = self.tell_mutated(request, outcome).await?;
            self.gather(&mut told, at_least).await?;
        }
        self.send_transition(self.live.reached().0.max(at_least), &told, removed).await
    }

    async fn send_transition(&mut self, ts: u64, told: &[QueryResult], removed: &[String]) -> Result<(), End> {
        let text = self.session.transition(&mut self.told, ts, told, removed);
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
            // Whoever may no longer have it does not get what waits either.
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

fn shortened(text: &str) -> &str {
    const REPEATED_BYTES_MAX: usize = 200;
    &text[..text.floor_char_boundary(REPEATED_BYTES_MAX)]
}
