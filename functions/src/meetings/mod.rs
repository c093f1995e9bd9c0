//! Meetings: their life, who takes part, and the media they carry.

pub mod webrtc;
