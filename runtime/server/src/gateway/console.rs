//! The console's part of the gateway: authentication of pages, login and logout.
//!
//! The same handlers serve pages and other clients. A page has the current rights of the session's holder: none if its
//! deploy key was revoked or has expired.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use hyper::header::{CONTENT_DISPOSITION, HeaderValue, SET_COOKIE};
use serde::Deserialize;
use serde_json::json;

use super::{Endpoint, Gateway, KEY_CHECK_INTERVAL, failed};
use crate::admin::key_uses::KeyUse;
use crate::admin::{AdminRequest, operator, success, success_once};
use crate::auth::deploy_key::Scope;
use crate::console::{Console, Holder, NoSession, SESSION_LIFE};
use crate::routes::{ADMIN, ConsoleRoute};
use convoke_calls::observe::Stage;
use convoke_core::error::{Code, Error, Result};
use convoke_core::identity::{Caller, DeployKeyCaller};
use convoke_http::{Browser, Incoming, Reply, operator_request};
use convoke_store::Database;

impl Gateway {
    pub(super) async fn console(&self, incoming: &Incoming<Endpoint>, route: ConsoleRoute) -> Reply {
        let answered = match (route, &incoming.browser) {
            (ConsoleRoute::Link, _) => self.link(incoming).await,
            (_, None) => Err(Error::new(Code::RouteNotFound, "There is no such route.")),
            (ConsoleRoute::Page, Some(_)) => return self.admin.console.assets().reply(incoming.param(0), incoming),
            (ConsoleRoute::Login, Some(browser)) => self.login(incoming, browser).await,
            (ConsoleRoute::Session, Some(browser)) => self.session(browser).await,
            (ConsoleRoute::Logout, Some(browser)) => self.logout(incoming, browser).await,
            (ConsoleRoute::Ticket, Some(browser)) => self.ticket(incoming, browser).await,
            (ConsoleRoute::Download, Some(browser)) => return self.download(incoming, browser).await,
        };
        answered.unwrap_or_else(|error| {
            if error.code() == Code::InvalidCredentials {
                self.rejected(incoming, Stage::Credentials, &Caller::Nobody, &error);
            }
            failed(&error)
        })
    }

    /// `POST /api/admin/console`: returns a one-time code that opens the console with the caller's own rights.
    async fn link(&self, incoming: &Incoming<Endpoint>) -> Result<Reply> {
        let (holder, key) = match self.caller(incoming).await {
            Ok(Caller::DeployKey(key)) => {
                let proof =
                    incoming.authorization.as_ref().map(|header| self.authenticator.key_proof(header.as_bytes()));
                match proof {
                    None => (Holder::Operator, key),
                    Some(proof) => (Holder::Key(proof.ok_or_else(not_accepted)?), key),
                }
            }
            Ok(Caller::Nobody | Caller::User(_) | Caller::System) => {
                return Ok(self.reject(incoming, self.authenticator.deploy_key_required()));
            }
            Err(reply) => return Ok(reply),
        };
        let url = self.admin.console.url();
        let used = self.used(incoming, &key, "POST console".to_owned(), url.as_ref().err().map(Error::code));
        self.admin.audit.record_change(self.runtime.database(), used).await;
        let code = self.admin.console.sessions().code(holder)?;
        success_once(&json!({ "url": url?, "code": code }))
    }

    /// Returns the caller of a page's request.
    pub(super) async fn console_caller(
        &self,
        incoming: &Incoming<Endpoint>,
        browser: &Browser,
    ) -> std::result::Result<Caller, Reply> {
        let user = self.acting_as(incoming).map_err(|error| failed(&error))?;
        let refused = |error: Error| {
            self.rejected(incoming, Stage::Credentials, &Caller::Nobody, &error);
            failed(&error)
        };
        match self.holder(browser).await.map_err(refused)?.0 {
            Holder::Operator => operator::caller(&self.admin, user).await.map_err(|error| failed(&error)),
            Holder::Key(proof) => {
                let accepted = self.authenticator.accept_proof(&proof, user.map(|(identity, _)| identity));
                accepted.map_err(|error| self.reject(incoming, error))
            }
        }
    }

    /// Returns the holder of the page's session and the remaining time. Rejects insecure connections.
    async fn holder(&self, browser: &Browser) -> Result<(Holder, Duration)> {
        self.admin.console.require_private(browser)?;
        Ok(found(&self.admin.console, self.runtime.database(), browser).await?)
    }

    /// `POST session`: opens a session with a code in the body or a deploy key in `Authorization`. The response
    /// contains the page's secret and sets the cookie.
    async fn login(&self, incoming: &Incoming<Endpoint>, browser: &Browser) -> Result<Reply> {
        #[derive(Default, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Login {
            code: Option<String>,
        }
        let console = &self.admin.console;
        console.require_private(browser)?;
        let Login { code } = AdminRequest::new(&operator::key(None), incoming).args()?;
        let holder = match (code, &incoming.authorization) {
            (Some(code), _) => console.sessions().redeem(&code).ok_or_else(|| {
                let message =
                    "This link was already used or is older than a minute; run `convoke console` for a new one";
                Error::new(Code::InvalidCredentials, message)
            })?,
            (None, Some(header)) => {
                // The rejection of a key is the same as for other requests, with a challenge.
                if let Err(error) = self.authenticator.authenticate(Some(header.as_bytes())).await {
                    return Ok(self.reject(incoming, error));
                }
                Holder::Key(self.authenticator.key_proof(header.as_bytes()).ok_or_else(not_accepted)?)
            }
            (None, None) => {
                return Err(Error::invalid_argument("code", "code: is missing, and no deploy key was sent"));
            }
        };
        let key = self.key_of(&holder)?;
        let used = self.used(incoming, &key, "console login".to_owned(), None);
        self.admin.audit.record_change(self.runtime.database(), used).await;
        let opened = console.sessions().open(self.runtime.database(), holder).await?;
        let mut shown = self.shown(&key, SESSION_LIFE.as_secs());
        shown["secret"] = opened.secret.into();
        let reply = success_once(&shown)?;
        Ok(with_cookie(reply, browser, &opened.cookie, SESSION_LIFE.as_secs()))
    }

    /// `GET session`: returns the name and the rights of the session.
    async fn session(&self, browser: &Browser) -> Result<Reply> {
        let (holder, left) = self.holder(browser).await?;
        let key = self.key_of(&holder)?;
        success(&self.shown(&key, left.as_secs()))
    }

    /// Returns a session. `buildError` is present if the sources of the program are watched, and null after a build that
    /// succeeded.
    fn shown(&self, key: &DeployKeyCaller, seconds_left: u64) -> serde_json::Value {
        let mut shown = json!({
            "name": key.name,
            "scopes": key.scopes,
            "choice": Scope::ALL.map(|scope| json!({ "name": scope.as_str(), "allows": scope.allows() })),
            "environment": self.admin.environment,
            "version": env!("CARGO_PKG_VERSION"),
            "issuer": self.authenticator.default_issuer(),
            "secondsLeft": seconds_left,
        });
        if let Some(build) = self.admin.console.build() {
            shown["buildError"] = build.get().into();
        }
        shown
    }

    /// `DELETE session`: ends the session.
    async fn logout(&self, incoming: &Incoming<Endpoint>, browser: &Browser) -> Result<Reply> {
        let (holder, _) = self.holder(browser).await?;
        if let Some(cookie) = cookie(browser) {
            self.admin.console.sessions().end(self.runtime.database(), cookie).await?;
        }
        if let Ok(key) = self.key_of(&holder) {
            let used = self.used(incoming, &key, "console logout".to_owned(), None);
            self.admin.audit.record(self.runtime.database(), used);
        }
        Ok(with_cookie(success(&serde_json::Value::Null)?, browser, "", 0))
    }

    /// Returns the holder as a caller with its current rights.
    fn key_of(&self, holder: &Holder) -> Result<Arc<DeployKeyCaller>> {
        match holder {
            Holder::Operator => Ok(operator::key(None)),
            Holder::Key(proof) => match self.authenticator.accept_proof(proof, None) {
                Ok(Caller::DeployKey(key)) => Ok(key),
                Ok(Caller::Nobody | Caller::User(_) | Caller::System) => Err(not_accepted()),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// `POST downloads` with `{path}`, an admin request without `/api/admin/`: returns a URL from which the browser can
    /// download the response once, within a minute. The rights are checked at the download.
    async fn ticket(&self, incoming: &Incoming<Endpoint>, browser: &Browser) -> Result<Reply> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Download {
            path: String,
        }
        self.holder(browser).await?;
        let Download { path } = AdminRequest::new(&operator::key(None), incoming).args()?;
        let cookie = cookie(browser).ok_or(NoSession::NoCookie)?;
        let ticket = self.admin.console.sessions().ticket(cookie, path)?;
        success_once(&json!({ "url": format!("/console/api/downloads/{ticket}") }))
    }

    /// `GET downloads/{ticket}`: returns the response of a ticket's request as a file.
    async fn download(&self, incoming: &Incoming<Endpoint>, browser: &Browser) -> Reply {
        let console = &self.admin.console;
        let found = console.require_private(browser).and_then(|()| {
            let cookie = cookie(browser).ok_or(NoSession::NoCookie)?;
            console.sessions().fetch(cookie, incoming.param(0)).ok_or_else(ticket_used)
        });
        let (holder, path) = match found {
            Ok(found) => found,
            Err(error) => return failed(&error),
        };
        let key = match self.key_of(&holder) {
            Ok(key) => key,
            Err(error) => return failed(&error),
        };
        let id = incoming.request_id.clone();
        let asked = format!("{ADMIN}{path}");
        let mut inner = match operator_request(&self.routes, Method::GET, &asked, None, id, bytes::Bytes::new()) {
            Ok(inner) => inner,
            Err(reply) => return *reply,
        };
        (inner.is_operator, inner.peer) = (false, incoming.peer);
        let Endpoint::Admin(route) = inner.endpoint else {
            return failed(&Error::new(Code::RouteNotFound, "There is no such route."));
        };
        let mut reply = self.admin_as(&inner, &key, Some(route)).await;
        if reply.status == 200 && !reply.fields.iter().any(|(name, _)| *name == CONTENT_DISPOSITION) {
            let name: String =
                path.split('?').next().unwrap_or_default().chars().map(|c| if c == '/' { '-' } else { c }).collect();
            let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
            let name = if is_plain { name } else { "download".to_owned() };
            if let Ok(value) = HeaderValue::try_from(format!("attachment; filename=\"{name}\"")) {
                reply.fields.push((CONTENT_DISPOSITION, value));
            }
        }
        self.while_key_accepted(reply, holder)
    }

    /// Returns true if a read request must be recorded: it failed, or the page has not sent it recently.
    pub(super) fn is_news(&self, incoming: &Incoming<Endpoint>, used: &KeyUse) -> bool {
        let Some(browser) = &incoming.browser else { return true };
        let sessions = self.admin.console.sessions();
        used.outcome != "OK" || cookie(browser).is_none_or(|cookie| sessions.is_news(cookie, &used.what))
    }

    /// Ends a page's stream soon after its session.
    pub(super) fn while_logged_in(&self, reply: Reply, incoming: &Incoming<Endpoint>) -> Reply {
        let Some(browser) = incoming.browser.as_ref().filter(|_| reply.body.is_stream()) else { return reply };
        let (console, authenticator) = (self.admin.console.clone(), self.authenticator.clone());
        let (database, browser) = (self.runtime.database().clone(), browser.clone());
        let ended = async move {
            loop {
                tokio::time::sleep(KEY_CHECK_INTERVAL).await;
                match found(&console, &database, &browser).await {
                    Ok((Holder::Operator, _)) => {}
                    Ok((Holder::Key(proof), _)) if authenticator.accept_proof(&proof, None).is_ok() => {}
                    Ok((Holder::Key(_), _)) | Err(_) => return,
                }
            }
        };
        Reply { body: reply.body.until(ended), ..reply }
    }

    /// Ends a download soon after its key is rejected.
    fn while_key_accepted(&self, reply: Reply, holder: Holder) -> Reply {
        let Holder::Key(proof) = holder else { return reply };
        if !reply.body.is_stream() {
            return reply;
        }
        let authenticator = self.authenticator.clone();
        let refused = async move {
            while authenticator.accept_proof(&proof, None).is_ok() {
                tokio::time::sleep(KEY_CHECK_INTERVAL).await;
            }
        };
        Reply { body: reply.body.until(refused), ..reply }
    }
}

/// Returns the session of a page's request.
async fn found(
    console: &Console,
    database: &Database,
    browser: &Browser,
) -> std::result::Result<(Holder, Duration), NoSession> {
    let cookie = cookie(browser).ok_or(NoSession::NoCookie)?;
    let secret = browser.secret.as_ref().map_or(&b""[..], |secret| secret.as_bytes());
    console.sessions().holder(database, cookie, secret).await
}

fn ticket_used() -> Error {
    Error::new(
        Code::InvalidCredentials,
        "This download link was already used or is older than a minute; start the download again",
    )
}

fn not_accepted() -> Error {
    Error::new(Code::InvalidCredentials, "The console is opened by a deploy key, or by a link of `convoke console`")
}

/// Returns the name of the cookie. It contains the port, because browsers share cookies between all ports of a host.
fn cookie_name(browser: &Browser) -> String {
    let port = browser.host.as_deref().and_then(|host| host.rsplit_once(':')).map(|(_, port)| port);
    let port = port.filter(|port| !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit()));
    format!("convoke-console-{}", port.unwrap_or(if browser.is_secure { "443" } else { "80" }))
}

fn cookie(browser: &Browser) -> Option<&str> {
    let name = cookie_name(browser);
    let cookies = browser.cookies.split(';').filter_map(|cookie| cookie.trim().split_once('='));
    cookies.filter(|(own, _)| *own == name).map(|(_, value)| value).next()
}

fn with_cookie(mut reply: Reply, browser: &Browser, value: &str, seconds: u64) -> Reply {
    let secure = if browser.is_secure { "; Secure" } else { "" };
    let name = cookie_name(browser);
    let text = format!("{name}={value}; Path=/console; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    if let Ok(mut field) = HeaderValue::try_from(text) {
        field.set_sensitive(true);
        reply.fields.push((SET_COOKIE, field));
    }
    reply
}
