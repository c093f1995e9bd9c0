//! The installation: the state that all admin handlers share.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::key_uses::{self, Audit, KeyUse};
use crate::auth::Environment;
use crate::auth::deploy_key_cache::{self, DeployKey, DeployKeyCache};
use crate::backup::making;
use crate::console::{Console, ConsoleOptions};
#[cfg(feature = "otel")]
use crate::metrics::{Page, collected};
use crate::settings::in_force::SettingInForce;
use convoke_calls::background::{self, Background};
use convoke_calls::runtime::Runtime;
use convoke_core::error::Result;
use convoke_store::database::SWEEP_ROWS;
use convoke_store::{Access, Doc, Flow, LatencyClass, Nodes, Reader, StoreError};

/// Interval at which the schedule of backups is checked.
const SCHEDULE_INTERVAL: Duration = Duration::from_secs(20);

/// A runtime with the deploy keys, the record of key uses, and the console. Cheap to clone.
#[derive(Clone)]
pub struct Admin {
    /// The runtime.
    pub runtime: Runtime,
    /// The deployment.
    pub environment: Environment,
    /// The deploy keys of the installation.
    pub keys: Arc<DeployKeyCache>,
    /// The record of key uses.
    pub audit: Arc<Audit>,
    /// The console.
    pub console: Arc<Console>,
    /// The effective settings; empty if not set.
    pub settings: Arc<Vec<SettingInForce>>,
}

impl Admin {
    /// Wraps a runtime and reads its deploy keys.
    pub fn new(runtime: Runtime, environment: Environment) -> Self {
        let keys = Arc::<DeployKeyCache>::default();
        match runtime.read(deploy_key_cache::all) {
            Ok(rows) => keys.fill(&rows),
            // A database with another schema may not have the table yet. The operator needs no deploy key.
            Err(error) => {
                tracing::warn!("rejecting every deploy key, because their table cannot be read: {}", error.chain())
            }
        }
        // The record is shared with the observer of calls.
        let audit = runtime.memory::<Audit>();
        let console = Arc::new(Console::new(ConsoleOptions::default(), runtime.clock().clone()));
        Self { runtime, environment, keys, audit, console, settings: Arc::default() }
    }

    /// Sets the options of the console.
    #[must_use]
    pub fn with_console(self, options: ConsoleOptions) -> Self {
        let console = Arc::new(Console::new(options, self.runtime.clock().clone()));
        Self { console, ..self }
    }

    /// Sets the effective settings to show.
    #[must_use]
    pub fn with_settings(self, settings: Vec<SettingInForce>) -> Self {
        Self { settings: Arc::new(settings), ..self }
    }

    /// Reads in one snapshot, also while the store is closed to other callers.
    pub(super) async fn read<R: Send + 'static>(
        &self,
        work: impl Fn(&dyn Reader) -> std::result::Result<R, StoreError> + Send + 'static,
    ) -> Result<R> {
        let store = self.runtime.store();
        let work = move |source: Rc<dyn Reader>| work(&*source);
        Ok(store.read(Access::Admin, Flow::SYSTEM, &LatencyClass::unknown(), work).await??)
    }

    /// Starts the background tasks: writes the last uses of deploy keys, follows other nodes, makes scheduled backups,
    /// and removes expired records. Must be called within a tokio runtime.
    pub fn start_background(&self) -> Background {
        let mut background = self.runtime.start_background();
        let follows = self.runtime.store().follows();
        if !follows {
            let admin = self.clone();
            background.every(background::STATS, move || {
                let admin = admin.clone();
                async move { admin.keys.store_last_used(admin.runtime.database()).await }
            });
            let admin = self.clone();
            background.every(background::RETENTION, move || {
                let admin = admin.clone();
                async move { admin.remove_expired().await }
            });
        }
        if follows || matches!(self.runtime.store().nodes(), Nodes::Many { .. }) {
            let admin = self.clone();
            background.every(deploy_key_cache::LOOK, move || {
                let admin = admin.clone();
                async move { admin.keys.follow(admin.runtime.database()).await }
            });
        }
        let runtime = self.runtime.clone();
        background.every(SCHEDULE_INTERVAL, move || {
            making::begin_scheduled(&runtime);
            std::future::ready(Ok(()))
        });
        #[cfg(feature = "otel")]
        if let Some(telemetry) = self.runtime.telemetry()
            && let Some(period) = telemetry.metrics_interval()
        {
            let (runtime, telemetry) = (self.runtime.clone(), telemetry.clone());
            background.every(period, move || {
                let (runtime, telemetry) = (runtime.clone(), telemetry.clone());
                async move {
                    let page = Page { runtime: &runtime, authenticator: None, traffic: None };
                    telemetry.set_metrics(collected(page).await);
                    Ok(())
                }
            });
        }
        background
    }

    /// Removes expired key uses and revoked keys.
    ///
    /// # Errors
    /// A failure of the store. The next run continues.
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

    /// Writes all pending records: finished calls, last uses of deploy keys, and key uses. Call it before the store is
    /// closed.
    pub async fn flush(&self) {
        let runtime = self.runtime.clone();
        if tokio::task::spawn_blocking(move || runtime.recent_calls().write()).await.is_err() {
            tracing::warn!(target: "convoke::background", "the last calls are not recorded");
        }
        if let Err(error) = self.keys.store_last_used(self.runtime.database()).await {
            tracing::warn!(target: "convoke::background", "the last uses of deploy keys are lost: {}", error.chain());
        }
        self.audit.flush().await;
    }
}
