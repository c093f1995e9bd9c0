//! The functions that these tests call. Their path is `log_streams/functions/<name>`.

use convoke::prelude::*;

#[args]
pub(super) struct Spoken {
    pub text: String,
    pub password: String,
}

/// Logs a text.
#[query]
pub(super) fn say(_ctx: &QueryCtx, args: Spoken) -> Result<i64> {
    info!("said {}", args.text);
    Ok(1)
}
