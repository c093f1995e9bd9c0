//! Data in and out: what an archive carries, what is refused, and what a folder holds afterwards.

mod damaged;
mod replaced;
mod round_trip;
mod support;
