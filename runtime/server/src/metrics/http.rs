//! The door: connections, what was refused before any function ran, and tokens.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use crate::auth::Authenticator;
use convoke_calls::runtime::Runtime;
use convoke_http::Traffic;

pub(super) fn connections(families: &mut Families, traffic: &Traffic) {
    families.gauge(
        "convoke_http_connections_open",
        "Connections open now, those included whose calls have outlived them.",
        traffic.connections_open() as f64,
    );
    families.counter(
        "convoke_http_connections_accepted_total",
        "Connections that were accepted.",
        traffic.connections_accepted(),
    );
    families.counter(
        "convoke_http_connections_rejected_total",
        "Connections that were closed at once because their address had too many, or too many unread bytes.",
        traffic.connections_turned_away(),
    );
    families.counter(
        "convoke_http_tls_handshake_failures_total",
        "TLS handshakes that failed or took too long.",
        traffic.handshake_failures(),
    );
}

pub(super) fn bytes(families: &mut Families, runtime: &Runtime, traffic: &Traffic) {
    families.gauge(
        "convoke_http_request_bytes",
        "Bytes of request bodies that are being read, or whose calls are under way. Small ones that come at once cost none.",
        traffic.request_bytes() as f64,
    );
    families.counter(
        "convoke_http_request_waits_total",
        "Request bodies that waited for others to be done, because bodies may take no more memory.",
        traffic.request_waits(),
    );
    families.gauge(
        "convoke_http_response_bytes",
        "Bytes of answers that are being made, or that their clients have not taken.",
        runtime.answers().bytes() as f64,
    );
    families.gauge(
        "convoke_http_unread_system_bytes",
        "Bytes of answers that the system held for clients at the last look. It looks when an address may be above its bound.",
        traffic.unread_system_bytes() as f64,
    );
    families.counters(
        "convoke_http_slow_connections_closed_total",
        "Connections closed because of how their client takes its answers: too little for too long (stalled), slowest of \
         all when answers may take no more memory (slowest), or slowest of an address with too many unread bytes (unread).",
        [
            ([("reason", "stalled")], traffic.connections_stalled()),
            ([("reason", "slowest")], traffic.connections_given_up()),
            ([("reason", "unread")], traffic.connections_closed_unread()),
        ],
    );
}

pub(super) fn rejections(families: &mut Families, runtime: &Runtime) {
    families.counters(
        "convoke_requests_refused_total",
        "Requests that were refused before any function ran: by the listener, for their credentials, for their envelope.",
        runtime
            .rejections()
            .counts()
            .map(|(stage, code, count)| ([("stage", stage.as_str()), ("code", code.as_str())], count)),
    );
}

pub(super) fn tokens(families: &mut Families, authenticator: &Authenticator) {
    let (stats, remembered) = authenticator.stats();
    families.counters(
        "convoke_token_lookups_total",
        "Calls with a token, by whether it was verified before (hit) or its signature had to be checked (miss).",
        [
            ([("result", "hit")], stats.remembered.load(Relaxed)),
            ([("result", "miss")], stats.accepted.load(Relaxed) + stats.refused.load(Relaxed)),
        ],
    );
    families.counter(
        "convoke_token_rejections_total",
        "Tokens that were checked and not accepted.",
        stats.refused.load(Relaxed),
    );
    families.gauge("convoke_tokens_remembered", "Tokens that need not be checked again.", remembered as f64);
    families.gauge(
        "convoke_auth_issuers_without_keys",
        "Identity providers whose keys were never fetched: their users cannot be let in.",
        authenticator.issuers_without_keys().len() as f64,
    );
}
