//! Checks of a server before it is used: that it accepts writes, that each connection has its own session, and its
//! encoding.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_postgres::AsyncMessage;
use tracing::warn;

use super::failure::Failure;
use super::own;
use super::server::Server;
use super::session::{Session, block_on};
use convoke_store::OpenError;

/// Longest wait for a notification.
const NOTIFICATION: Duration = Duration::from_secs(5);

/// Message for a standby.
const STANDBY: &str = "the server is a standby, which accepts no writes. Name the primary in the address, or all servers: \
                       postgres://user@one,two/database?target_session_attrs=read-write";
/// Message for a pooler.
const POOLER: &str = "the connection does not keep its session: the address leads to a connection pooler in transaction mode or \
                      statement mode. Set session mode (PgBouncer: pool_mode = session), or name the server itself in the address";
/// Message for a read-only server.
const READ_ONLY: &str = "the server allows reads only: default_transaction_read_only is on. Set it to off";

/// What is lost without a synchronous standby.
pub(crate) const UNCOPIED: &str = "no synchronous standby: a failover loses the last acknowledged writes";

/// Checks the server.
///
/// # Errors
/// [`OpenError`] with the reason and the remedy.
pub(crate) fn require(session: &mut Session, server: &Arc<Server>) -> Result<(), OpenError> {
    require_own_session(session, server)?;
    let rows = session.rows(
        "SELECT current_setting('server_encoding'), current_setting('default_transaction_read_only'), \
         current_setting('synchronous_standby_names')",
        Vec::new(),
    )?;
    let text = |column| rows.first().and_then(|row| row.try_get::<_, String>(column).ok()).unwrap_or_default();
    if server.has_several() && text(2).is_empty() {
        warn!("{UNCOPIED}");
    }
    match (&*text(0), &*text(1)) {
        ("UTF8", "off") => Ok(()),
        ("UTF8", _) => Err(OpenError::Engine(READ_ONLY.to_owned())),
        (found, _) => {
            Err(OpenError::Setting { name: "server_encoding", expected: "UTF8".to_owned(), found: found.to_owned() })
        }
    }
}

/// Checks that each connection has its own session on the server, without named statements. A listening connection must
/// receive a notification while it is idle. A pooler in transaction mode delivers none, even with a single client.
fn require_own_session(session: &mut Session, server: &Arc<Server>) -> Result<(), OpenError> {
    let runtime = Builder::new_current_thread().enable_io().enable_time().build();
    let runtime = runtime.map_err(|error| Failure::Cut(format!("no connection can be driven: {error}")))?;
    let channel = format!("\"convoke {:x}\"", own::random_id()?);
    let heard = Arc::new(Notify::new());
    let wake = heard.clone();
    let hear = move |message| {
        if matches!(message, None | Some(AsyncMessage::Notification(_))) {
            wake.notify_one();
        }
    };
    let listening = block_on(&runtime, async {
        let client = server.connect(hear).await?;
        let listen = client.batch_execute(&format!("LISTEN {channel}")).await;
        listen.map(|()| client).map_err(|error| Failure::of(&error))
    });
    let listening = listening.map_err(|failure| match failure {
        Failure::NotWritable(_) => OpenError::Engine(STANDBY.to_owned()),
        failure => failure.into(),
    })?;
    session.run(format!("NOTIFY {channel}"))?;
    let is_heard = block_on(&runtime, async { timeout(NOTIFICATION, heard.notified()).await.is_ok() });
    let is_cut = listening.is_closed();
    drop(listening);
    runtime.shutdown_background();
    match (is_heard, is_cut) {
        (true, false) => Ok(()),
        (_, true) => Err(Failure::Cut("the connection was closed".to_owned()).into()),
        (false, false) => Err(OpenError::Engine(POOLER.to_owned())),
    }
}
