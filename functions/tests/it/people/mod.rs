//! Users, profiles and interests.

mod onboarding;
