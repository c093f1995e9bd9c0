//! One-time URLs that send a signal to a run: `POST /api/callback/{token}`.
//!
//! A token has the run, the position of its step, and a signature with a secret of the installation. Its use is recorded
//! in the row of the step, in the transaction of the signal.

use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::value::RawValue;
use sha2::Sha256;

use super::journal;
use crate::outbound::secret::CALLBACK_KEY;
use crate::rows::run::{Run, Step, StepKind};
use crate::services::Services;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;

/// Path before the token.
pub const PATH: &str = "/api/callback/";
/// Bytes of the run and the position.
const SUBJECT_BYTES: usize = 20;
const SIGNATURE_BYTES: usize = 32;

/// The secret, read once: tokens are made inside transactions.
#[derive(Default)]
struct Key(OnceLock<Vec<u8>>);

fn mac(services: &Services, subject: &[u8]) -> Result<Hmac<Sha256>> {
    let key = services.memory::<Key>();
    let key = match key.0.get() {
        Some(key) => key.clone(),
        None => {
            let secret = services.own_secret(CALLBACK_KEY)?;
            key.0.get_or_init(|| secret.expose().as_bytes().to_vec()).clone()
        }
    };
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).map_err(Error::internal)?;
    mac.update(b"convoke callback 1 ");
    mac.update(subject);
    Ok(mac)
}

/// Returns the URL of a step.
pub(super) fn url(services: &Services, run: Id<Run>, position: u32) -> Result<String> {
    let mut token = Vec::with_capacity(SUBJECT_BYTES + SIGNATURE_BYTES);
    token.extend_from_slice(&run.bits().to_be_bytes());
    token.extend_from_slice(&position.to_be_bytes());
    let signature = mac(services, &token)?.finalize().into_bytes();
    token.extend_from_slice(&signature);
    Ok(services.url(&format!("{PATH}{}", URL_SAFE_NO_PAD.encode(token))))
}

/// Returns the run and the position of a token.
fn read(services: &Services, token: &str) -> Result<Option<(Id<Run>, u32)>> {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else { return Ok(None) };
    if bytes.len() != SUBJECT_BYTES + SIGNATURE_BYTES {
        return Ok(None);
    }
    let (subject, signature) = bytes.split_at(SUBJECT_BYTES);
    if mac(services, subject)?.verify_slice(signature).is_err() {
        return Ok(None);
    }
    let mut run = [0; 16];
    run.copy_from_slice(&subject[..16]);
    let mut position = [0; 4];
    position.copy_from_slice(&subject[16..]);
    Ok(Some((Id::from_bits(u128::from_be_bytes(run)), u32::from_be_bytes(position))))
}

impl Services {
    /// Sends the signal of a one-time URL, with this JSON as its value; an empty body is null.
    ///
    /// # Errors
    /// `NOT_FOUND`: the token is not valid, or its run is no longer stored. `CONFLICT`: the URL was used before.
    /// `FAILED_PRECONDITION`: the run has ended, or the value is too large. `INVALID_JSON`: the body is not JSON.
    pub async fn call_back(&self, token: &str, body: &str) -> Result<()> {
        let unknown = || Error::not_found("This callback URL is not valid");
        let (run, position) = read(self, token)?.ok_or_else(unknown)?;
        let body = if body.trim().is_empty() { "null" } else { body };
        let value: &RawValue = serde_json::from_str(body).map_err(|error| {
            Error::new(convoke_core::error::Code::InvalidJson, format!("The body is not JSON: {error}"))
        })?;
        let (value, services, now) = (value.get().to_owned(), self.clone(), self.clock().now());
        self.database()
            .write("use a callback URL", move |db| {
                let step = db.query(Step::by_run).eq(run).eq(position).unique()?;
                let step = step.filter(|step| step.kind == StepKind::Callback).ok_or_else(unknown)?;
                if step.attempts > 0 {
                    return Err(Error::conflict("This callback URL was used before"));
                }
                journal::signal(db, run, &step.name, value.clone(), services.limits(), now)?;
                db.patch_doc(step, |step| step.attempts = 1)?;
                Ok(())
            })
            .await?;
        self.alarm().wake(now);
        Ok(())
    }
}
