//! Calls, from the registry to the envelope: in process, and over a real port where the wire is the subject.

mod functions;

mod arguments;
mod codes;
mod concurrency;
mod doubles;
mod failures;
mod fairness;
mod http;
mod idempotency;
mod identity;
mod integers;
mod logs;
mod nested;
mod prepared;
mod room;
mod sent_again;
mod unions;
mod written;
