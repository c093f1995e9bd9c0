//! The keys that room tokens are signed with.
//!
//! Rooms of the built-in provider have a key of this installation, made when the first token is; those of a LiveKit
//! server have the server's.

use convoke::prelude::*;
use schema::VideoProvider;

use super::tokens::RoomKey;
use crate::meetings::provider::{API_SECRET, LiveKit, PREVIOUS_API_SECRET, Server};

/// The name of the installation's own key, which stands in the tokens as their issuer.
const OWN_KEY: &str = "convoke";
/// Its secret.
const OWN_SECRET: &str = "ROOM_KEY";

/// The key for tokens to a room of this provider.
///
/// # Errors
/// `INTERNAL` if it cannot be read; `PROVIDER_ERROR` if the server that the meeting was made for is not configured any
/// more.
pub fn room_key(ctx: &ActionCtx, provider: VideoProvider) -> Result<RoomKey> {
    match provider {
        VideoProvider::WebRtc => Ok(key(OWN_KEY, ctx.own_secret(OWN_SECRET)?.expose())),
        VideoProvider::LiveKit => {
            let settings = ctx.settings::<LiveKit>();
            let server = settings.server().ok_or_else(no_server)?;
            Ok(key(&server.api_key, ctx.secret(API_SECRET)?.expose()))
        }
    }
}

/// The keys that a LiveKit server may take, the one to try first first.
///
/// # Errors
/// `INTERNAL` if one cannot be read.
pub fn server_keys(ctx: &ActionCtx, server: &Server) -> Result<Vec<RoomKey>> {
    let mut keys = vec![key(&server.api_key, ctx.secret(API_SECRET)?.expose())];
    if let Some(previous) = &server.previous_api_key
        && let Some(secret) = ctx.secret_if_set(PREVIOUS_API_SECRET)?
    {
        keys.push(key(previous, secret.expose()));
    }
    Ok(keys)
}

/// `PROVIDER_ERROR`: a meeting was made for a server that is gone.
pub fn no_server() -> Error {
    Error::provider("The media server of this meeting is not configured")
}

fn key(id: &str, secret: &str) -> RoomKey {
    RoomKey { id: id.to_owned(), secret: secret.as_bytes().to_vec() }
}
