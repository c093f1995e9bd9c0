//! The operator's door from outside: real sockets, real deploy keys.

mod backups;
mod calls;
mod console;
mod door;
mod jobs;
mod keys;
mod live;
mod rows;
mod secrets;

use std::path::PathBuf;

use convoke::call::envelope::LogLinesOn;
use convoke::testing::{HttpReply, TestApp, TestServer};
use reqwest::{Client, Method, Response};
use serde_json::{Value, json};

/// An app that is served on a port and by a control socket.
pub(crate) struct Door<'app> {
    pub app: &'app TestApp,
    pub server: TestServer<'app>,
    socket: Client,
    _folder: tempfile::TempDir,
    pub path: PathBuf,
}

impl<'app> Door<'app> {
    pub(crate) fn of(app: &'app TestApp) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("control.sock");
        let server = app.serve_with(|options| options.control = Some(path.clone()), LogLinesOn::Error);
        let socket = Client::builder().unix_socket(path.as_path()).build().unwrap();
        Self { app, server, socket, _folder: folder, path }
    }

    /// By the control socket: as the operator.
    pub(crate) fn operator(&self, method: Method, route: &str, body: Option<&Value>) -> HttpReply {
        self.operator_as(None, method, route, body)
    }

    pub(crate) fn operator_as(
        &self,
        act_as: Option<&str>,
        method: Method,
        route: &str,
        body: Option<&Value>,
    ) -> HttpReply {
        let mut request = self.socket.request(method, format!("http://localhost{route}"));
        if let Some(act_as) = act_as {
            request = request.header("x-convoke-act-as", act_as);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        self.app.block_on(async { read(request.send().await.unwrap()).await })
    }

    /// By the port, with these credentials.
    pub(crate) fn with(
        &self,
        authorization: Option<&str>,
        method: Method,
        route: &str,
        body: Option<&Value>,
    ) -> HttpReply {
        self.app.block_on(async { read(self.open(authorization, method, route, body).await).await })
    }

    /// As [`Door::with`]; the body is still to be read.
    pub(crate) async fn open(
        &self,
        authorization: Option<&str>,
        method: Method,
        route: &str,
        body: Option<&Value>,
    ) -> Response {
        let mut request = Client::new().request(method, format!("http://{}{route}", self.server.address()));
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        request.send().await.unwrap()
    }

    /// Makes a key with these scopes; its credentials.
    pub(crate) fn key(&self, name: &str, scopes: &[&str]) -> String {
        let made = self.operator(Method::POST, "/api/admin/keys", Some(&json!({ "name": name, "scopes": scopes })));
        format!("Convoke {}", made.value()["key"].as_str().unwrap())
    }
}

async fn read(response: Response) -> HttpReply {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let body = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or(Value::Null);
    HttpReply { status, headers, body }
}
