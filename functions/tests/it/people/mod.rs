//! Users, profiles and interests.

mod access;
mod accounts;
mod avatars;
mod calendar;
mod identity;
mod interests;
mod onboarding;
mod profile;
