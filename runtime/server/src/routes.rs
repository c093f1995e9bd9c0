//! The table of all routes: method, path, class, and endpoint.
//!
//! [`convoke_http::Class`] defines the rules of a class for bodies, rates, caches and pages of other origins. The
//! listener itself adds `/healthz` and `/readyz`.

use futures_util::future::BoxFuture;
use hyper::Method;

use crate::admin::{
    Admin, AdminRequest, audit, backup, doctor, export, files as admin_files, functions, jobs, keys, live, logs,
    overview, performance, promote, rows, schema, secrets, settings, tables, webhooks, workflows,
};
use crate::auth::Environment;
use crate::auth::deploy_key::Scope;
use crate::files;
use crate::site::Site;
use convoke_calls::function::Kind;
use convoke_calls::registry::Registered;
use convoke_calls::route::RouteDef;
use convoke_core::error::Result;
use convoke_http::{Audience, BodyRule, Class, Reply, Routes};

/// The prefix of the paths of admin requests.
pub(crate) const ADMIN: &str = "/api/admin/";

/// The header fields of [`MCP`] that the handler reads.
pub(crate) const MCP_VERSION: &str = "mcp-protocol-version";
pub(crate) const MCP_METHOD: &str = "mcp-method";
pub(crate) const MCP_NAME: &str = "mcp-name";
pub(crate) const ACCEPT: &str = "accept";

/// A message of the Model Context Protocol. The protocol requires that a page of a foreign origin is rejected.
const MCP: Class =
    Class { rejects_foreign_pages: true, fields: &[MCP_VERSION, MCP_METHOD, MCP_NAME, ACCEPT], ..Class::CALL };

/// An upload. Its size and its time have limits of their own.
const UPLOAD: Class =
    Class { body: BodyRule::Stream, fields: files::upload::FIELDS, options: files::upload::OPTIONS, ..Class::CALL };

/// The file of a link.
const FILE: Class = Class { body: BodyRule::None, fields: files::read::FIELDS, ..Class::CALL };

/// The target of a route.
#[derive(Clone, Copy)]
pub enum Endpoint {
    /// The function that the path names.
    Run,
    /// A route of the application, by its index in the gateway.
    Route(usize),
    /// The function of this kind that the body names.
    Kind(Kind),
    /// The query that the body names, at the timestamp that the body names.
    QueryAtTs,
    /// A one-time URL of a workflow.
    Callback,
    /// A message of the Model Context Protocol.
    Mcp,
    /// The timestamp of the latest commit.
    QueryTs,
    /// The queries that the body names, on one snapshot.
    QueryBatch,
    /// Live queries as server-sent events.
    Live,
    /// A WebSocket for live results and calls.
    Sync,
    /// Diagnostic reports of clients, which are accepted and discarded.
    Forget,
    /// An admin handler.
    Admin(AdminRoute),
    /// An unknown admin route. Only authenticated callers learn that it does not exist.
    NoAdminRoute,
    /// The metrics.
    Metrics,
    /// The OpenAPI document.
    OpenApi,
    /// The description of the functions for language models.
    LlmsTxt,
    /// The page that shows the OpenAPI document, and the files of the page.
    Docs,
    /// A redirect from `/` to that page, in development.
    Home,
    /// An upload of a file.
    Upload,
    /// The file of a link.
    File,
    /// A route of the console.
    Console(ConsoleRoute),
    /// A file of the site.
    Site,
}

/// A route of the console.
#[derive(Clone, Copy)]
pub enum ConsoleRoute {
    /// Creates a code that opens the console.
    Link,
    /// The pages and their files.
    Page,
    /// Begins a session.
    Login,
    /// Returns the session.
    Session,
    /// Ends the session.
    Logout,
    /// Creates a ticket for a download.
    Ticket,
    /// The download of a ticket.
    Download,
}

/// The target of an admin request.
#[derive(Clone, Copy)]
pub struct AdminRoute {
    /// The pattern of its path.
    pub pattern: &'static str,
    /// The scope that a key needs. `None`: every key may call the route.
    pub scope: Option<Scope>,
    /// The handler.
    pub handler: AdminHandler,
}

/// Serves an admin request.
pub type AdminHandler = for<'a> fn(&'a Admin, AdminRequest) -> BoxFuture<'a, Result<Reply>>;

/// Paths that belong to the server. The attribute `#[route]` rejects them too.
const RESERVED: &[&str] =
    &["/api", "/console", "/docs", "/openapi.json", "/metrics", "/healthz", "/readyz", "/files", "/mcp"];

/// Returns every route. `console` is the audience of the console's routes, `own` are those of the application, and
/// `has_site` is true if a site is served.
pub(crate) fn table(
    console: Audience,
    environment: Environment,
    own: &[(Registered, &'static RouteDef)],
    has_site: bool,
) -> Routes<Endpoint> {
    let mut routes = Routes::new();
    routes.reserve(RESERVED);
    for (index, (_, route)) in own.iter().enumerate() {
        let method = Method::from_bytes(route.method.as_bytes()).expect("the attribute checks the method");
        routes.add(method, route.pattern(), class(route), Endpoint::Route(index));
    }
    if has_site {
        routes.add_rest(Site::CLASS, Endpoint::Site, RESERVED);
    }
    // The application may have pages of its own in these places.
    let documents = [("/llms.txt", Endpoint::LlmsTxt), ("/", Endpoint::Home)];
    for (path, to) in documents {
        let is_wanted = path != "/" || environment == Environment::Development && !has_site;
        if is_wanted && !routes.has(&Method::GET, path) {
            routes.add(Method::GET, path, Class::DOCUMENT, to);
        }
    }
    routes.add(Method::POST, "/api/run/{*path}", Class::CALL, Endpoint::Run);
    routes.add(Method::POST, "/api/query", Class::CALL, Endpoint::Kind(Kind::Query));
    routes.add(Method::POST, "/api/mutation", Class::CALL, Endpoint::Kind(Kind::Mutation));
    routes.add(Method::POST, "/api/action", Class::CALL, Endpoint::Kind(Kind::Action));
    routes.add(Method::POST, "/api/query_ts", Class { body: BodyRule::None, ..Class::CALL }, Endpoint::QueryTs);
    routes.add(Method::POST, "/api/query_at_ts", Class::CALL, Endpoint::QueryAtTs);
    routes.add(Method::POST, "/api/query_batch", Class::CALL, Endpoint::QueryBatch);
    routes.add(Method::POST, "/api/live", Class::LIVE, Endpoint::Live);
    routes.add(Method::GET, "/api/live", Class::LIVE, Endpoint::Live);
    routes.add(Method::GET, "/api/sync", Class::SYNC, Endpoint::Sync);
    routes.add(Method::GET, "/api/{version}/sync", Class::SYNC, Endpoint::Sync);
    routes.add(Method::POST, "/api/debug_event", Class::CALL, Endpoint::Forget);
    routes.add(Method::POST, "/api/callback/{token}", Class::CALL, Endpoint::Callback);
    routes.add(Method::POST, "/mcp", MCP, Endpoint::Mcp);
    for method in [Method::POST, Method::PATCH, Method::GET] {
        routes.add(method, "/files/uploads/{token}", UPLOAD, Endpoint::Upload);
    }
    routes.add(Method::GET, "/files/{token}", FILE, Endpoint::File);
    routes.add(Method::GET, "/openapi.json", Class::DOCUMENT, Endpoint::OpenApi);
    routes.add(Method::GET, "/docs", Class::DOCUMENT, Endpoint::Docs);
    routes.add(Method::GET, "/docs/", Class::DOCUMENT, Endpoint::Docs);
    routes.add(Method::GET, "/docs/{*page}", Class::DOCUMENT, Endpoint::Docs);
    routes.add(Method::GET, "/metrics", Class::METRICS, Endpoint::Metrics);
    admin_routes(&mut routes, console);
    console_routes(&mut routes, console);
    routes.add_fallback("/api/admin/{*path}", Class::ADMIN, Endpoint::NoAdminRoute);
    routes.add_fallback("/console/api/admin/{*path}", Class::ADMIN.of_own_pages(console), Endpoint::NoAdminRoute);
    routes
}

/// Returns the rules of a route of the application.
fn class(route: &RouteDef) -> Class {
    let body = match route.has_body() {
        true => BodyRule::Bytes { bytes_max: route.body_bytes_max, time_min: route.timeout },
        false => BodyRule::None,
    };
    Class { body, for_pages: route.cors, whole_head: route.has_headers(), ..Class::CALL }
}

/// Adds the console's own routes and copies of other routes for its pages: a browser sends its cookie only below
/// `/console`.
fn console_routes(routes: &mut Routes<Endpoint>, console: Audience) {
    let page = Class::DOCUMENT.of_own_pages(console);
    let call = Class::CALL.of_own_pages(console);
    let session = Class::ADMIN.of_own_pages(console);
    let download = Class { body: BodyRule::None, ..session };
    routes.add(Method::POST, "/api/admin/console", Class::ADMIN, Endpoint::Console(ConsoleRoute::Link));
    for path in ["/console", "/console/", "/console/{*page}"] {
        routes.add(Method::GET, path, page, Endpoint::Console(ConsoleRoute::Page));
    }
    routes.add(Method::POST, "/console/api/session", session, Endpoint::Console(ConsoleRoute::Login));
    routes.add(Method::GET, "/console/api/session", session, Endpoint::Console(ConsoleRoute::Session));
    routes.add(Method::DELETE, "/console/api/session", session, Endpoint::Console(ConsoleRoute::Logout));
    routes.add(Method::POST, "/console/api/downloads", session, Endpoint::Console(ConsoleRoute::Ticket));
    routes.add(Method::GET, "/console/api/downloads/{ticket}", download, Endpoint::Console(ConsoleRoute::Download));
    routes.add(Method::POST, "/console/api/run/{*path}", call, Endpoint::Run);
    routes.add(Method::POST, "/console/api/live", Class::LIVE.of_own_pages(console), Endpoint::Live);
}

fn admin_routes(routes: &mut Routes<Endpoint>, console: Audience) {
    macro_rules! scope {
        (Any) => {
            None
        };
        ($scope:ident) => {
            Some(Scope::$scope)
        };
    }
    macro_rules! rows {
        ($($method:ident $path:literal $scope:ident $handler:path;)*) => {$(
            let handler: AdminHandler = |admin, request| Box::pin($handler(admin, request));
            let to = Endpoint::Admin(AdminRoute { pattern: $path, scope: scope!($scope), handler });
            routes.add(Method::$method, $path, Class::ADMIN, to);
            routes.add(Method::$method, concat!("/console", $path), Class::ADMIN.of_own_pages(console), to);
        )*};
    }
    rows! {
        GET    "/api/admin/overview"           Any       overview::show;
        GET    "/api/admin/performance"        Functions performance::show;
        GET    "/api/admin/functions"          Functions functions::list;
        GET    "/api/admin/functions/{*path}"  Functions functions::show;
        GET    "/api/admin/keys"               Keys      keys::list;
        POST   "/api/admin/keys"               Keys      keys::create;
        POST   "/api/admin/keys/{name}/rotate" Keys      keys::rotate;
        POST   "/api/admin/keys/{name}/revoke" Keys      keys::revoke;
        GET    "/api/admin/audit"              Keys      audit::list;
        GET    "/api/admin/jobs"               Jobs      jobs::list;
        GET    "/api/admin/jobs/{id}"          Jobs      jobs::show;
        POST   "/api/admin/jobs/{id}/retry"    Jobs      jobs::retry;
        POST   "/api/admin/jobs/{id}/cancel"   Jobs      jobs::cancel;
        GET    "/api/admin/workflows"          Jobs      workflows::list;
        GET    "/api/admin/workflows/{id}"     Jobs      workflows::show;
        POST   "/api/admin/workflows/{id}/cancel" Jobs   workflows::cancel;
        POST   "/api/admin/workflows/{id}/retry" Jobs    workflows::retry;
        POST   "/api/admin/workflows/{id}/resume" Jobs   workflows::resume;
        GET    "/api/admin/schema"             Functions schema::show;
        POST   "/api/admin/schema/apply"       Functions schema::apply;
        GET    "/api/admin/logs"               Logs      logs::show;
        GET    "/api/admin/doctor"             Data      doctor::look;
        GET    "/api/admin/tables"             Data      tables::list;
        GET    "/api/admin/tables/{name}"      Data      tables::rows;
        POST   "/api/admin/tables/{name}"      DataWrite rows::insert;
        PATCH  "/api/admin/tables/{name}/{id}" DataWrite rows::change;
        DELETE "/api/admin/tables/{name}/{id}" DataWrite rows::delete;
        GET    "/api/admin/tables/{name}/export" Data    export::table;
        GET    "/api/admin/tables/{name}/count" Data     tables::count_part;
        POST   "/api/admin/tables/{name}/delete" DataWrite rows::delete_many;
        GET    "/api/admin/export"             Data      export::export;
        GET    "/api/admin/files"              Data      admin_files::list;
        GET    "/api/admin/files/{id}"         Data      admin_files::show;
        GET    "/api/admin/files/{id}/content" Data      admin_files::content;
        POST   "/api/admin/files/sweep"        DataWrite admin_files::sweep;
        GET    "/api/admin/settings"           Data      settings::list;
        GET    "/api/admin/secrets"            Secrets   secrets::list;
        POST   "/api/admin/secrets/{name}"     Secrets   secrets::set;
        DELETE "/api/admin/secrets/{name}"     Secrets   secrets::remove;
        GET    "/api/admin/webhooks"           Webhooks  webhooks::list;
        POST   "/api/admin/webhooks"           Webhooks  webhooks::create;
        GET    "/api/admin/webhooks/{id}"      Webhooks  webhooks::show;
        PATCH  "/api/admin/webhooks/{id}"      Webhooks  webhooks::update;
        DELETE "/api/admin/webhooks/{id}"      Webhooks  webhooks::remove;
        POST   "/api/admin/webhooks/{id}/rotate" Webhooks webhooks::rotate;
        GET    "/api/admin/webhooks/{id}/deliveries" Webhooks webhooks::deliveries;
        POST   "/api/admin/webhooks/{id}/redeliver" Webhooks webhooks::redeliver_range;
        GET    "/api/admin/webhook-deliveries/{id}" Webhooks webhooks::delivery;
        POST   "/api/admin/webhook-deliveries/{id}/redeliver" Webhooks webhooks::redeliver;
        GET    "/api/admin/live"               Live      live::list;
        DELETE "/api/admin/live/{number}"      Live      live::end;
        GET    "/api/admin/backup"             Backup    backup::list;
        POST   "/api/admin/backup"             Backup    backup::create;
        GET    "/api/admin/backup/{name}"      BackupDownload backup::fetch;
        DELETE "/api/admin/backup/{name}"      Backup    backup::remove;
        GET    "/api/admin/backup/{name}/files" BackupDownload backup::contents;
        GET    "/api/admin/backup/{name}/files/{hash}" BackupDownload backup::content;
        POST   "/api/admin/backup/{name}/verify" Backup  backup::verify;
        POST   "/api/admin/promote"            Promote   promote::promote;
    }
}
