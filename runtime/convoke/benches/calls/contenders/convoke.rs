//! This runtime, put together as `serve` does.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use convoke::admin::Admin;
use convoke::auth::development::{DevelopmentIssuer, DevelopmentUser};
use convoke::auth::key_source::http_client;
use convoke::auth::{AuthConfig, Authenticator, Environment};
use convoke::call::envelope::LogLinesOn;
use convoke::gateway::Gateway;
use convoke::http::{HttpOptions, Server};
use convoke::{Caller, NoArgs, Runtime, RuntimeOptions};

use super::announce;
use crate::bank;

pub(crate) fn serve(folder: &Path) {
    let executor = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    executor.block_on(async {
        let runtime = Runtime::start(RuntimeOptions::in_folder(folder, convoke::default_engine())).unwrap();
        let ids = runtime.run::<bank::open_accounts>(Caller::Nobody, NoArgs {}).await.unwrap();
        let clock = runtime.clock().clone();
        let issuer = DevelopmentIssuer::ephemeral(clock.clone()).unwrap();
        let auth = AuthConfig {
            environment: Environment::Development,
            providers: vec![issuer.provider()],
            ..AuthConfig::default()
        };
        let limits = runtime.limits().clone();
        let authenticator = Authenticator::new(auth, clock, &limits, http_client().build().unwrap()).unwrap();
        let options = HttpOptions::new(SocketAddr::from(([127, 0, 0, 1], 0)));
        let gateway = Gateway::new(Admin::new(runtime, Environment::Development), authenticator, LogLinesOn::Error);
        let server = Server::bind(options, gateway).await.unwrap();
        let token = issuer.mint(&DevelopmentUser::new("ada"), Duration::from_secs(3_600)).unwrap();
        announce(server.local_addr(), &token, &ids.iter().map(ToString::to_string).collect::<Vec<_>>());
        server.run(std::future::pending()).await;
    });
}
