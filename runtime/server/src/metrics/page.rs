//! The page for scrapers.

use std::sync::Arc;

use prometheus::TextEncoder;

use super::family::Families;
#[cfg(feature = "otel")]
use super::telemetry;
use super::{
    backup, cache, calls, copies, files, gauge, http, jobs, live, log_streams, process, store, webhooks, workflows,
};
use crate::auth::Authenticator;
use convoke_calls::runtime::Runtime;
use convoke_http::Traffic;

/// The `Content-Type` of the page.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The sources of a page. A program that embeds the runtime has no listener and omits the optional ones.
pub struct Page<'a> {
    /// The runtime.
    pub runtime: &'a Runtime,
    /// The authenticator.
    pub authenticator: Option<&'a Authenticator>,
    /// The listener's counters.
    pub traffic: Option<&'a Arc<Traffic>>,
}

impl Page<'_> {
    /// Writes the page. Omits jobs, which are counted in the database, while the database cannot be read.
    pub async fn text(&self) -> String {
        // The encoder fails only for a family without a name or samples.
        TextEncoder::new().encode_to_string(&self.families().await.into_inner()).unwrap_or_default()
    }

    /// Collects the metrics. Omits jobs, which are counted in the database, while the database cannot be read.
    pub(super) async fn families(&self) -> Families {
        let mut families = Families::default();
        calls::write(&mut families, self.runtime);
        if let Some(traffic) = self.traffic {
            http::connections(&mut families, traffic);
            http::bytes(&mut families, self.runtime, traffic);
        }
        http::rejections(&mut families, self.runtime);
        if let Some(authenticator) = self.authenticator {
            http::tokens(&mut families, authenticator);
        }
        cache::write(&mut families, self.runtime);
        live::write(&mut families, self.runtime);
        store::write(&mut families, self.runtime);
        jobs::write(&mut families, self.runtime).await;
        webhooks::write(&mut families, self.runtime).await;
        workflows::write(&mut families, self.runtime).await;
        backup::write(&mut families, self.runtime);
        copies::write(&mut families, self.runtime);
        copies::write_follower(&mut families, self.runtime);
        files::write(&mut families, self.runtime);
        gauge::write(&mut families, self.runtime);
        process::write(&mut families, self.runtime);
        log_streams::write(&mut families, self.runtime);
        #[cfg(feature = "otel")]
        telemetry::write(&mut families, self.runtime);
        families
    }
}
