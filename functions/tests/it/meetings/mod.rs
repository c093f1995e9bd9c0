//! Meetings: lifecycle, participants and lists.

mod creation;
mod idle;
mod lifecycle;
mod lists;
mod presence;
mod roles;
mod participants;
mod webhooks;
