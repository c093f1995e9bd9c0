//! From a path and JSON arguments to an envelope.
