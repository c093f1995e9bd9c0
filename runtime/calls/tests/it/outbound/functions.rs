//! The actions that reach outside. Their path is `outbound/functions/<name>`.

use std::time::Duration;

use convoke::prelude::*;

#[args]
pub(super) struct Fetch {
    pub url: String,
    pub post: bool,
    pub repeatable: bool,
    pub bytes_max: Option<i64>,
    pub timeout_ms: Option<i64>,
}

#[value]
pub(super) struct Fetched {
    pub status: i64,
    pub text: String,
}

/// Fetches something.
#[action]
pub(super) async fn fetch(ctx: &ActionCtx, args: Fetch) -> Result<Fetched> {
    let http = ctx.http()?;
    let mut request = if args.post { http.post(&args.url).json(&[1, 2]) } else { http.get(&args.url) };
    if args.repeatable {
        request = request.repeatable();
    }
    if let Some(bytes) = args.bytes_max {
        request = request.body_bytes_max(usize::try_from(bytes).unwrap_or(0));
    }
    if let Some(ms) = args.timeout_ms {
        request = request.timeout(Duration::from_millis(ms.unsigned_abs())).retries(0);
    }
    let reply = request.query("q", "a b").header("x-test", "1").send().await?;
    Ok(Fetched { status: i64::from(reply.status()), text: reply.text().into_owned() })
}

#[args]
pub(super) struct SecretName {
    pub name: String,
}

/// Sends a secret to a server.
#[action]
pub(super) async fn send_secret(ctx: &ActionCtx, args: Fetch) -> Result<String> {
    let secret = ctx.secret("OUTBOUND_TEST")?;
    info!("sending {secret:?}");
    let reply = ctx.http()?.get(&args.url).bearer(&secret).send().await?.success()?;
    Ok(reply.text().into_owned())
}

/// Returns true if a secret is set.
#[action]
pub(super) async fn knows_secret(ctx: &ActionCtx, args: SecretName) -> Result<bool> {
    Ok(ctx.secret_if_set(&args.name)?.is_some())
}
