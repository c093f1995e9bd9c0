//! The credentials of a request, and how a deploy key gets past hyper.
//!
//! hyper keeps a request's head in a buffer that goes back to the allocator as it is: a key that stood in it could be read
//! in the process's memory long after its call. So the wire takes such a value out of a head of HTTP/1 before hyper gets
//! it, and leaves a ticket of the same length in its place, which the service redeems. What was taken is zeroed when the
//! last holder lets go of it. Bearer tokens end by themselves and stay where they are.
//!
//! The heads of HTTP/2 are h2's own, and so are the copies it makes of them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

use hyper::Version;
use hyper::header::HeaderValue;
use parking_lot::Mutex;
use zeroize::Zeroizing;

/// The value of an `Authorization` field. What it is worth is not decided here.
#[derive(Clone)]
pub struct Authorization(Value);

#[derive(Clone)]
enum Value {
    /// As it stands in the request's head.
    Field(HeaderValue),
    /// Taken out of the head.
    Taken(Arc<Zeroizing<Vec<u8>>>),
}

impl Authorization {
    /// The scheme and the credentials, as sent.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Value::Field(value) => value.as_bytes(),
            Value::Taken(value) => value,
        }
    }
}

/// Nothing of it: credentials must not reach a log by `{:?}`.
impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization(…)")
    }
}

/// What was taken out of the heads of one connection and is not redeemed yet, in the order of the heads.
#[derive(Default)]
pub(super) struct Credentials(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    taken: VecDeque<(u64, Arc<Zeroizing<Vec<u8>>>)>,
    next: u64,
}

/// No deploy key is as short as this, and every longer value but a bearer token is taken: a client cannot send a ticket.
const TICKET_BYTES_MIN: usize = 32;
/// The number at a ticket's end; what is before it is filled up with [`FILL`].
const NUMBER_BYTES: usize = 20;
const FILL: u8 = b'#';
const BEARER: &[u8] = b"Bearer ";

impl Credentials {
    /// Takes the value of an `Authorization` field out of a head and leaves a ticket, unless it is a bearer token or too
    /// short for a key.
    pub(super) fn take(&self, value: &mut [u8]) {
        let is_bearer = value.get(..BEARER.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(BEARER));
        if is_bearer || value.len() < TICKET_BYTES_MIN {
            return;
        }
        let mut waiting = self.0.lock();
        let number = waiting.next;
        waiting.next += 1;
        waiting.taken.push_back((number, Arc::new(Zeroizing::new(value.to_vec()))));
        value.fill(FILL);
        let mut left = number;
        for digit in value.iter_mut().rev().take(NUMBER_BYTES) {
            *digit = b'0' + (left % 10) as u8;
            left /= 10;
        }
    }

    /// What the client sent in this field of a request.
    pub(super) fn redeem(&self, field: &HeaderValue, version: Version) -> Authorization {
        if version != Version::HTTP_2
            && let Some(number) = number_of_ticket(field.as_bytes())
        {
            let mut waiting = self.0.lock();
            // Requests come in the order of their heads. One with two such fields is refused without asking for either.
            while let Some((first, taken)) = waiting.taken.pop_front_if(|(first, _)| *first <= number) {
                if first == number {
                    return Authorization(Value::Taken(taken));
                }
            }
        }
        Authorization(Value::Field(field.clone()))
    }
}

fn number_of_ticket(value: &[u8]) -> Option<u64> {
    let (fill, number) = value.split_at_checked(value.len().checked_sub(NUMBER_BYTES)?)?;
    let is_ticket = value.len() >= TICKET_BYTES_MIN && fill.iter().all(|byte| *byte == FILL);
    if is_ticket { std::str::from_utf8(number).ok()?.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "Convoke staging:ci|0123456789012345678901234567890123456789abc";

    fn taken(credentials: &Credentials, value: &str) -> String {
        let mut bytes = value.as_bytes().to_vec();
        credentials.take(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    fn redeemed(credentials: &Credentials, field: &str) -> String {
        let field = HeaderValue::from_str(field).unwrap();
        String::from_utf8(credentials.redeem(&field, Version::HTTP_11).as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn a_key_is_exchanged_for_a_ticket_and_back_once() {
        let credentials = Credentials::default();
        let others = [KEY.replace("ci", "cd"), KEY.replace("ci", "ce")];
        let tickets = [taken(&credentials, KEY), taken(&credentials, &others[0]), taken(&credentials, &others[1])];
        assert_eq!(tickets[1], format!("{}00000000000000000001", "#".repeat(KEY.len() - 20)));
        assert_eq!(redeemed(&credentials, &tickets[0]), KEY);
        assert_eq!(redeemed(&credentials, &tickets[2]), others[1], "the request of the second was refused");
        for ticket in &tickets {
            assert_eq!(redeemed(&credentials, ticket), *ticket, "it is spent, and names nobody");
        }
    }

    #[test]
    fn a_client_cannot_send_a_ticket() {
        let credentials = Credentials::default();
        let ticket = taken(&credentials, KEY);
        let forged = taken(&credentials, &ticket);
        assert_ne!(forged, ticket);
        assert_eq!(redeemed(&credentials, &ticket), KEY);
        assert_eq!(redeemed(&credentials, &forged), ticket);
        let short = "#".repeat(11) + "00000000000000000000";
        assert_eq!((taken(&credentials, &short), number_of_ticket(short.as_bytes())), (short.clone(), None));
    }

    #[test]
    fn bearer_tokens_and_what_is_too_short_for_a_key_stay_in_their_place() {
        let credentials = Credentials::default();
        for value in [&format!("bearer {}", "x".repeat(100)), "Basic dTpw", "", "Convoke"] {
            assert_eq!(taken(&credentials, value), *value);
            assert_eq!(redeemed(&credentials, value), *value);
        }
    }

    #[test]
    fn nothing_of_it_is_shown() {
        let field = HeaderValue::from_static(KEY);
        assert_eq!(format!("{:?}", Credentials::default().redeem(&field, Version::HTTP_2)), "Authorization(…)");
    }
}
