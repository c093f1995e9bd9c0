//! The functions in process, through the same entry point as over HTTP.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use functions as _;

mod acceptance;
mod codegen;
mod support;
mod probes;

mod generation;
mod insights;
mod prompts;
mod notes;
mod people;
mod rights;
mod meetings;
mod system;
mod transcripts;
mod webrtc;
mod realtime;
mod monitoring;
mod matching;
