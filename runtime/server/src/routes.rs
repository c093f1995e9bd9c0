//! The one table of routes: method, path, class, and where it leads.
//!
//! What the class of a route means for bodies, rates, caches and pages of other origins is said in
//! [`convoke_http::Class`]; `/healthz` and `/readyz` are the listener's own rows.

use futures_util::future::BoxFuture;
use hyper::Method;

use crate::admin::{Admin, AdminRequest, audit, backup, doctor, export, functions, jobs, keys, logs, schema, tables};
use crate::auth::deploy_key::Scope;
use convoke_calls::function::Kind;
use convoke_core::error::Result;
use convoke_http::{Class, Reply, Routes};

/// What stands before the path of an admin request.
pub(crate) const ADMIN: &str = "/api/admin/";

/// Where a route leads.
#[derive(Clone, Copy)]
pub enum Endpoint {
    /// To the function that the path names.
    Run,
    /// To the function of this kind that the body names.
    Kind(Kind),
    /// To the results of queries, as they change.
    Live,
    /// To an admin handler.
    Admin(AdminRoute),
    /// To the answer that there is no such admin route, for whom it would serve.
    NoAdminRoute,
    /// To the counters.
    Metrics,
    /// To the description of the interface.
    OpenApi,
    /// To the page that shows it, and to the files of that page.
    Docs,
}

/// What an admin request leads to.
#[derive(Clone, Copy)]
pub struct AdminRoute {
    /// What a key needs for it.
    pub scope: Scope,
    /// What answers.
    pub handler: AdminHandler,
}

/// Answers one admin request.
pub type AdminHandler = for<'a> fn(&'a Admin, AdminRequest) -> BoxFuture<'a, Result<Reply>>;

/// Every route.
pub(crate) fn table() -> Routes<Endpoint> {
    let mut routes = Routes::new();
    routes.add(Method::POST, "/api/run/{*path}", Class::CALL, Endpoint::Run);
    routes.add(Method::POST, "/api/query", Class::CALL, Endpoint::Kind(Kind::Query));
    routes.add(Method::POST, "/api/mutation", Class::CALL, Endpoint::Kind(Kind::Mutation));
    routes.add(Method::POST, "/api/action", Class::CALL, Endpoint::Kind(Kind::Action));
    routes.add(Method::POST, "/api/live", Class::LIVE, Endpoint::Live);
    routes.add(Method::GET, "/api/live", Class::LIVE, Endpoint::Live);
    routes.add(Method::GET, "/openapi.json", Class::DOCUMENT, Endpoint::OpenApi);
    routes.add(Method::GET, "/docs", Class::DOCUMENT, Endpoint::Docs);
    routes.add(Method::GET, "/docs/", Class::DOCUMENT, Endpoint::Docs);
    routes.add(Method::GET, "/docs/{*page}", Class::DOCUMENT, Endpoint::Docs);
    routes.add(Method::GET, "/metrics", Class::METRICS, Endpoint::Metrics);
    admin_routes(&mut routes);
    routes.add_fallback("/api/admin/{*path}", Class::ADMIN, Endpoint::NoAdminRoute);
    routes
}

fn admin_routes(routes: &mut Routes<Endpoint>) {
    macro_rules! rows {
        ($($method:ident $path:literal $scope:ident $handler:path;)*) => {$(
            let handler: AdminHandler = |admin, request| Box::pin($handler(admin, request));
            let route = AdminRoute { scope: Scope::$scope, handler };
            routes.add(Method::$method, $path, Class::ADMIN, Endpoint::Admin(route));
        )*};
    }
    rows! {
        GET    "/api/admin/functions"          Functions functions::list;
        GET    "/api/admin/keys"               Keys      keys::list;
        POST   "/api/admin/keys"               Keys      keys::create;
        POST   "/api/admin/keys/{name}/rotate" Keys      keys::rotate;
        POST   "/api/admin/keys/{name}/revoke" Keys      keys::revoke;
        GET    "/api/admin/audit"              Keys      audit::list;
        GET    "/api/admin/jobs"               Jobs      jobs::list;
        GET    "/api/admin/jobs/{id}"          Jobs      jobs::show;
        POST   "/api/admin/jobs/{id}/retry"    Jobs      jobs::retry;
        POST   "/api/admin/jobs/{id}/cancel"   Jobs      jobs::cancel;
        GET    "/api/admin/schema"             Functions schema::show;
        POST   "/api/admin/schema/apply"       Functions schema::apply;
        GET    "/api/admin/logs"               Logs      logs::show;
        GET    "/api/admin/doctor"             Data      doctor::look;
        GET    "/api/admin/tables"             Data      tables::list;
        GET    "/api/admin/tables/{name}"      Data      tables::rows;
        GET    "/api/admin/export"             Data      export::export;
        POST   "/api/admin/backup"             Backup    backup::create;
        GET    "/api/admin/backup/{name}"      Backup    backup::fetch;
        DELETE "/api/admin/backup/{name}"      Backup    backup::remove;
    }
}
