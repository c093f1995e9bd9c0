//! The installation that the handlers work on.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::key_uses::{self, Audit, KeyUse};
use crate::auth::Environment;
use crate::auth::deploy_key_cache::{self, DeployKey, DeployKeyCache};
use crate::backup::making;
use crate::console::{Console, ConsoleOptions};
use crate::settings::in_force::SettingInForce;
use convoke_calls::background::{self, Background};
use convoke_calls::runtime::Runtime;
use convoke_core::error::Result;
use convoke_store::database::SWEEP_ROWS;
use convoke_store::{Access, Doc, Flow, LatencyClass, Nodes, Reader, StoreError};

/// Between two looks whether a scheduled backup is due.
const SCHEDULE_LOOK: Duration = Duration::from_secs(20);

/// What every handler works on: a runtime, and what its operator holds beside it. Cheap to clone.
#[derive(Clone)]
pub struct Admin {
    /// The runtime.
    pub runtime: Runtime,
    /// Which deployment this is.
    pub environment: Environment,
    /// The deploy keys of the installation.
    pub keys: Arc<DeployKeyCache>,
    /// The record of their uses.
    pub audit: Arc<Audit>,
    /// The pages that ask all this.
    pub console: Arc<Console>,
    /// What is in force; empty where nobody said so.
    pub settings: Arc<Vec<SettingInForce>>,
}

impl Admin {
    /// Takes up a runtime, and reads its deploy keys before anybody is asked for one.
    pub fn new(runtime: Runtime, environment: Environment) -> Self {
        let keys = Arc::<DeployKeyCache>::default();
        match runtime.read(deploy_key_cache::all) {
            Ok(rows) => keys.fill(&rows),
            // A database whose schema does not fit may not have the table yet; the operator gets in without it.
            Err(error) => tracing::warn!("deploy keys cannot be read, so none is accepted: {}", error.chain()),
        }
        // The one that the calls of this runtime are recorded in.
        let audit = runtime.memory::<Audit>();
        let console = Arc::new(Console::new(ConsoleOptions::default(), runtime.clock().clone()));
        Self { runtime, environment, keys, audit, console, settings: Arc::default() }
    }

    /// The same with a console like this.
    #[must_use]
    pub fn with_console(self, options: ConsoleOptions) -> Self {
        let console = Arc::new(Console::new(options, self.runtime.clock().clone()));
        Self { console, ..self }
    }

    /// The same with these settings to show.
    #[must_use]
    pub fn with_settings(self, settings: Vec<SettingInForce>) -> Self {
        Self { settings: Arc::new(settings), ..self }
    }

    /// Reads in one snapshot, also while the store is closed to others.
    pub(super) async fn read<R: Send + 'static>(
        &self,
        work: impl Fn(&dyn Reader) -> std::result::Result<R, StoreError> + Send + 'static,
    ) -> Result<R> {
        let store = self.runtime.store();
        let work = move |source: Rc<dyn Reader>| work(&*source);
        Ok(store.read(Access::Admin, Flow::SYSTEM, &LatencyClass::unknown(), work).await??)
    }

    /// Keeps the record of the last uses of deploy keys, and removes what it and the keys need no longer. Needs a tokio
    /// runtime around it.
    pub fn start_background(&self) -> Background {
        let mut background = self.runtime.start_background();
        let admin = self.clone();
        background.every(background::STATS, move || {
            let admin = admin.clone();
            async move { admin.keys.store_last_used(admin.runtime.database()).await }
        });
        if matches!(self.runtime.store().nodes(), Nodes::Many { .. }) {
            let admin = self.clone();
            background.every(deploy_key_cache::LOOK, move || {
                let admin = admin.clone();
                async move { admin.keys.follow(admin.runtime.database()).await }
            });
        }
        let runtime = self.runtime.clone();
        background.every(SCHEDULE_LOOK, move || {
            making::begin_scheduled(&runtime);
            std::future::ready(Ok(()))
        });
        let admin = self.clone();
        background.every(background::RETENTION, move || {
            let admin = admin.clone();
            async move { admin.remove_expired().await }
        });
        background
    }

    /// Removes the record of uses, and revoked keys, that have been kept long enough.
    ///
    /// # Errors
    /// A failure of the store; the next run goes on.
    pub async fn remove_expired(&self) -> Result<()> {
        let end = self.runtime.clock().now() - key_uses::KEPT;
        self.runtime
            .database()
            .sweep("remove uses of deploy keys", move |db| {
                let uses = db.query(KeyUse::by_time).range(..end).take(SWEEP_ROWS)?;
                Ok(uses.iter().map(Doc::id).collect())
            })
            .await?;
        self.runtime
            .database()
            .sweep("remove revoked deploy keys", move |db| {
                let keys = db.query(DeployKey::by_revocation).range(..end).take(SWEEP_ROWS)?;
                Ok(keys.iter().map(Doc::id).collect())
            })
            .await
    }

    /// Writes the calls that ended, and what is known of the use of deploy keys and not stored yet. To be called before the
    /// store is closed.
    pub async fn settle(&self) {
        let runtime = self.runtime.clone();
        if tokio::task::spawn_blocking(move || runtime.write_calls()).await.is_err() {
            tracing::warn!(target: "convoke::background", "the last calls are not recorded");
        }
        if let Err(error) = self.keys.store_last_used(self.runtime.database()).await {
            tracing::warn!(target: "convoke::background", "the last use of deploy keys is lost: {}", error.chain());
        }
        self.audit.settle().await;
    }
}
