//! Workflows: functions that run for days, as a journal of their steps.
//!
//! A run waits as rows only. To advance it, its function is called again and polled: each step that the journal has
//! returns its recorded result, the first ones that it lacks become jobs, timers or waits, and the future is dropped.
//! This happens in the transaction that recorded the last result. Between mutations that follow each other, the future
//! stays in memory instead. The modules in reading order: the replay of a journal, the context, workflows as types,
//! steps, the writes of a run, one advance with the compensation, the methods of mutations, one-time URLs, and the
//! operator's view.

pub(crate) mod replay;
pub mod context;
pub mod definition;
pub mod steps;
pub mod create;
pub(crate) mod journal;
pub(crate) mod advance;
pub mod start;
pub mod callback;
pub mod runs;

pub use crate::rows::run::{Run, RunState, Step, StepState};
pub use context::WorkflowCtx;
pub use start::Started;
pub use steps::Either;
