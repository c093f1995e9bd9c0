//! Requests to a test's server.

use convoke::testing::{TestApp, TestServer};
use serde_json::Value;

/// A response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: reqwest::header::HeaderMap,
    pub(crate) body: Vec<u8>,
    /// True if the body broke off.
    pub(crate) is_broken: bool,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or(Value::Null)
    }

    pub(crate) fn code(&self) -> String {
        self.json()["errorData"]["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn field_at_fault(&self) -> String {
        self.json()["errorData"]["field"].as_str().unwrap_or_default().to_owned()
    }
}

pub(crate) fn send(
    app: &TestApp,
    server: &TestServer<'_>,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    body: impl Into<reqwest::Body>,
) -> Answer {
    app.block_on(send_async(&reqwest::Client::new(), server, method, path, fields, body))
}

/// As [`send`], with a client that concurrent requests share.
pub(crate) async fn send_async(
    client: &reqwest::Client,
    server: &TestServer<'_>,
    method: &str,
    path: &str,
    fields: &[(&str, &str)],
    body: impl Into<reqwest::Body>,
) -> Answer {
    let url = format!("http://{}{path}", server.address());
    let mut request = client.request(method.parse().unwrap(), url).body(body);
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let (body, is_broken) = response.bytes().await.map_or((Vec::new(), true), |body| (body.to_vec(), false));
    Answer { status, headers, body, is_broken }
}
