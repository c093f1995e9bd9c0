//! Metrics of connections, rejected requests and tokens.

use std::sync::atomic::Ordering::Relaxed;

use super::family::Families;
use crate::auth::Authenticator;
use convoke_calls::runtime::Runtime;
use convoke_http::Traffic;

pub(super) fn connections(families: &mut Families, traffic: &Traffic) {
    families.gauge(
        "convoke_http_connections_open",
        "Open connections, including closed ones whose calls still run.",
        traffic.open.load(Relaxed) as f64,
    );
    families.counter(
        "convoke_http_connections_accepted_total",
        "Accepted connections.",
        traffic.accepted.load(Relaxed),
    );
    families.counter(
        "convoke_http_connections_rejected_total",
        "Connections that were closed immediately because their address had too many connections or unread bytes.",
        traffic.turned_away.load(Relaxed),
    );
    families.counter(
        "convoke_http_tls_handshake_failures_total",
        "TLS handshakes that failed or took too long.",
        traffic.handshake_failures.load(Relaxed),
    );
}

pub(super) fn bytes(families: &mut Families, runtime: &Runtime, traffic: &Traffic) {
    families.gauge(
        "convoke_http_request_bytes",
        "Bytes of request bodies that are being read or whose calls run, except small bodies that arrive with their headers.",
        traffic.request_bytes() as f64,
    );
    families.counter(
        "convoke_http_request_waits_total",
        "Request bodies that waited because the memory for bodies was used up.",
        traffic.request_waits(),
    );
    families.gauge(
        "convoke_http_response_bytes",
        "Bytes of responses that are being built or that clients have not read yet.",
        runtime.answers().bytes() as f64,
    );
    families.gauge(
        "convoke_http_unread_system_bytes",
        "Unread bytes in the system's send buffers, measured when an address may exceed its limit.",
        traffic.unread_system_bytes.load(Relaxed) as f64,
    );
    families.counters(
        "convoke_http_slow_connections_closed_total",
        "Connections closed because their client reads too slowly: too little for too long (stalled), the slowest of \
         all when the memory for responses is used up (slowest), or of an address with too many unread bytes (unread).",
        [
            ([("reason", "stalled")], traffic.stalled.load(Relaxed)),
            ([("reason", "slowest")], traffic.given_up.load(Relaxed)),
            ([("reason", "unread")], traffic.unread_closed.load(Relaxed)),
        ],
    );
}

pub(super) fn rejections(families: &mut Families, runtime: &Runtime) {
    families.counters(
        "convoke_requests_refused_total",
        "Requests that were rejected before a function ran: by the listener, for their credentials, or for their envelope.",
        runtime
            .rejections()
            .counts()
            .map(|(stage, code, count)| ([("stage", stage.as_str()), ("code", code.as_str())], count)),
    );
}

pub(super) fn tokens(families: &mut Families, authenticator: &Authenticator) {
    let (stats, cached) = authenticator.stats();
    families.counters(
        "convoke_token_lookups_total",
        "Look-ups of tokens in the cache of verified tokens, by result (hit or miss).",
        [
            ([("result", "hit")], stats.hits.load(Relaxed)),
            ([("result", "miss")], stats.accepted.load(Relaxed) + stats.refused.load(Relaxed)),
        ],
    );
    families.counter("convoke_token_rejections_total", "Rejected tokens.", stats.refused.load(Relaxed));
    families.gauge("convoke_tokens_remembered", "Cached verified tokens.", cached as f64);
    families.gauge(
        "convoke_auth_issuers_without_keys",
        "Identity providers whose keys were never fetched: their users cannot be authenticated.",
        authenticator.issuers_without_keys().len() as f64,
    );
}
