//! The keys for signing room tokens.
//!
//! Rooms of the built-in provider use a key of this installation, created with the first token. Rooms of a LiveKit
//! server use the server's key.

use convoke::prelude::*;
use schema::VideoProvider;

use super::tokens::RoomKey;
use crate::meetings::provider::{API_SECRET, LiveKit, PREVIOUS_API_SECRET, Server};

/// Name of the installation's key, which is the issuer of its tokens.
const OWN_KEY: &str = "convoke";
/// Name of its secret.
const OWN_SECRET: &str = "ROOM_KEY";

/// Returns the key for tokens of this provider.
///
/// # Errors
/// `INTERNAL`: it cannot be read; `PROVIDER_ERROR`: the server of the meeting is no longer configured.
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

/// Returns the keys that a LiveKit server may accept, in the order to try.
///
/// # Errors
/// `INTERNAL`: a key cannot be read.
pub fn server_keys(ctx: &ActionCtx, server: &Server) -> Result<Vec<RoomKey>> {
    let mut keys = vec![key(&server.api_key, ctx.secret(API_SECRET)?.expose())];
    if let Some(previous) = &server.previous_api_key
        && let Some(secret) = ctx.secret_if_set(PREVIOUS_API_SECRET)?
    {
        keys.push(key(previous, secret.expose()));
    }
    Ok(keys)
}

/// Returns `PROVIDER_ERROR`: the server of the meeting is no longer configured.
pub fn no_server() -> Error {
    Error::provider("The media server of this meeting is not configured")
}

fn key(id: &str, secret: &str) -> RoomKey {
    RoomKey { id: id.to_owned(), secret: secret.as_bytes().to_vec() }
}
