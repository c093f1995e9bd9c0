//! The page as a scraper reads it.

use std::sync::Arc;

use prometheus::TextEncoder;

use super::family::Families;
use super::{backup, cache, calls, gauge, http, jobs, live, process, store};
use crate::auth::Authenticator;
use convoke_calls::runtime::Runtime;
use convoke_http::Traffic;

/// As it stands in `Content-Type`.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What a page is made from. A program that embeds the runtime has no listener, and shows what there is.
pub struct Page<'a> {
    /// The runtime.
    pub runtime: &'a Runtime,
    /// Who tells callers apart.
    pub authenticator: Option<&'a Authenticator>,
    /// The listener's counters.
    pub traffic: Option<&'a Arc<Traffic>>,
}

impl Page<'_> {
    /// The page. Jobs are counted in the database; they are left out while it cannot be read.
    pub async fn text(&self) -> String {
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
        backup::write(&mut families, self.runtime);
        gauge::write(&mut families, self.runtime);
        process::write(&mut families, self.runtime);
        // It fails on a family without name or samples, and there is none.
        TextEncoder::new().encode_to_string(&families.into_inner()).unwrap_or_default()
    }
}
