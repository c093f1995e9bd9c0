//! The methods of mutations for runs: start, signal, cancel, retry and resume.

use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;

use super::advance;
use super::definition::Workflow;
use super::journal::{self, Counted, NewRun};
use super::runs;
use crate::context::{Context as _, MutationCtx};
use crate::rows::run::{Run, RunState};
use convoke_core::clock::Millis;
use convoke_core::error::{Error, Result};
use convoke_core::id::Id;
use convoke_core::identity::Identity;
use convoke_store::DbMut;

/// A run that a mutation has started. Its methods set further options, in the same transaction.
pub struct Started<'ctx> {
    ctx: &'ctx mut MutationCtx,
    run: Id<Run>,
    /// False if a stored run has the key. It stays as it is.
    is_new: bool,
}

impl Started<'_> {
    /// Returns the id of the run.
    pub fn id(&self) -> Id<Run> {
        self.run
    }

    /// Makes the run unique: if a run of the workflow with this key is stored, it takes the place of this one.
    pub fn key(mut self, key: impl Display) -> Self {
        if let Err(error) = self.set_key(key.to_string()) {
            self.ctx.fail_later(error);
        }
        self
    }

    fn set_key(&mut self, key: String) -> Result<()> {
        let now = self.ctx.now();
        let db = self.ctx.db_mut();
        let Some(run) = db.get(self.run)? else { return Ok(()) };
        match db.query(Run::by_key).eq(&*run.path).eq(&*key).unique()? {
            Some(stored) => {
                // Also deletes the job that would advance it.
                let id = run.id();
                journal::finish(db, Counted::new(run), RunState::Cancelled, None, now)?;
                db.delete(id)?;
                (self.run, self.is_new) = (stored.id(), false);
            }
            None => drop(db.patch_doc(run, |run| run.key = Some(key))?),
        }
        Ok(())
    }

    /// Runs the steps as this identity instead of the runtime itself. Only its issuer and subject are stored.
    pub fn acting_as(self, identity: &Identity) -> Self {
        let (issuer, subject) = (identity.issuer.clone(), identity.subject.clone());
        self.with(|db, run, _| {
            db.patch(run, |run| (run.issuer, run.subject, run.acts) = (Some(issuer), Some(subject), true))?;
            Ok(())
        })
    }

    /// Begins the run after this time instead of immediately. Until then it costs two rows. Signals are stored for it.
    pub fn after(self, time: Duration) -> Self {
        self.with(|db, run, now| journal::begin_at(db, run, now + time))
    }

    fn with(self, change: impl FnOnce(&mut DbMut, Id<Run>, Millis) -> Result<()>) -> Self {
        let now = self.ctx.now();
        if self.is_new
            && let Err(error) = change(self.ctx.db_mut(), self.run, now)
        {
            self.ctx.fail_later(error);
        }
        self
    }
}

impl MutationCtx {
    /// Starts a run of a workflow, which exists if and only if this mutation commits. Its caller may see it. The
    /// returned [`Started`] has the id of the run, and sets further options.
    ///
    /// # Errors
    /// `FAILED_PRECONDITION`: the arguments are too large. A failure of the store.
    pub fn start<W: Workflow>(&mut self, args: impl Into<W::Args>) -> Result<Started<'_>> {
        const { assert!(!W::DEF.retired, "a retired version of a workflow cannot be started; start the current one") };
        let args = serde_json::to_string(&args.into()).map_err(Error::internal)?;
        let bytes_max = self.call().services.limits().workflow_value_bytes_max;
        if args.len() > bytes_max {
            return Err(Error::failed_precondition(format!(
                "The arguments of the run have {} bytes, more than {bytes_max} (setting limits.workflow_value_bytes_max)",
                args.len()
            )));
        }
        let path = W::DEF.path().ok_or_else(|| Error::internal("a workflow at the root of its crate"))?;
        let starter = self.identity().map(|identity| (identity.issuer.clone(), identity.subject.clone()));
        let now = self.now();
        let new = NewRun { path, version: W::DEF.version, args, key: None, trace: self.call().span.stored() };
        let (run, _) = journal::insert(self.db_mut(), new, (starter, false), now)?;
        self.wake_at(now);
        Ok(Started { ctx: self, run, is_new: true })
    }

    /// Sends a signal to a run, for [`WorkflowCtx::wait`](super::WorkflowCtx::wait). A signal that comes before the wait
    /// is stored.
    ///
    /// # Errors
    /// `NOT_FOUND`: there is no such run. `FAILED_PRECONDITION`: the run has ended, too many signals wait, or the value
    /// is too large.
    pub fn signal(&mut self, run: Id<Run>, name: &str, value: impl Serialize) -> Result<()> {
        let value = serde_json::to_string(&value).map_err(Error::internal)?;
        let (now, services) = (self.now(), self.call().services.clone());
        journal::signal(self.db_mut(), run, name, value, services.limits(), now)?;
        self.wake_at(now);
        Ok(())
    }

    /// Cancels a run: its completed steps are undone in reverse order, then it ends. Returns `false` if it has ended or
    /// is being undone.
    ///
    /// # Errors
    /// `NOT_FOUND`: there is no such run.
    pub fn cancel_run(&mut self, run: Id<Run>) -> Result<bool> {
        let now = self.now();
        self.wake_at(now);
        advance::cancel(self.db_mut(), run, now)
    }

    /// Retries the failed steps of a run that has failed, or checks a blocked run again.
    ///
    /// # Errors
    /// `NOT_FOUND`: there is no such run. `FAILED_PRECONDITION`: it is neither failed nor blocked, or steps were undone.
    pub fn retry_run(&mut self, run: Id<Run>) -> Result<()> {
        let now = self.now();
        self.wake_at(now);
        runs::retry(self.db_mut(), run, now)
    }

    /// Continues a run from a step: forgets this step and all later ones, which then run again.
    ///
    /// # Errors
    /// `NOT_FOUND`: there is no such run. `INVALID_ARGUMENT`: the run has not come to this step. `FAILED_PRECONDITION`: a
    /// step runs now, or steps were undone.
    pub fn resume_run(&mut self, run: Id<Run>, from: u32) -> Result<()> {
        let now = self.now();
        self.wake_at(now);
        runs::resume(self.db_mut(), run, from, now)
    }
}
