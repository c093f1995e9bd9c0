//! Meetings: their life, the people in them, the lists.

mod creation;
mod idle;
mod lifecycle;
mod lists;
mod presence;
mod roles;
mod participants;
