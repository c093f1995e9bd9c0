//! Requests of routes in a test's process.

use std::fmt::Display;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use serde_json::Value;

use super::app::{TestApp, TestCaller};
use convoke_calls::call::dispatch::Request;
use convoke_calls::call::envelope;
use convoke_calls::route::encoded::{self, Decoded, DecodedBody};
use convoke_calls::route::{RouteDef, Verify};
use convoke_core::error::{Code, Error, Result};
use convoke_core::identity::Caller;

/// A request of a route, before it is sent.
pub struct TestRequest<'app> {
    app: &'app TestApp,
    caller: Caller,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
}

impl TestApp {
    /// Returns a request without credentials, such as `app.request("POST", "/hooks/payments")`.
    ///
    /// # Panics
    /// If the method or the path is not one of HTTP.
    pub fn request(&self, method: &str, path_and_query: &str) -> TestRequest<'_> {
        self.nobody().request(method, path_and_query)
    }
}

impl<'app> TestCaller<'app> {
    /// Returns a request of this caller.
    ///
    /// # Panics
    /// If the method or the path is not one of HTTP.
    pub fn request(&self, method: &str, path_and_query: &str) -> TestRequest<'app> {
        TestRequest {
            app: self.app(),
            caller: self.caller().clone(),
            method: method.parse().expect("a method of HTTP"),
            uri: path_and_query.parse().expect("a path of HTTP"),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }
}

impl TestRequest<'_> {
    /// Adds a header.
    ///
    /// # Panics
    /// If it is not one of HTTP.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Display) -> Self {
        let name = HeaderName::try_from(name).expect("the name of a header");
        self.headers.append(name, HeaderValue::try_from(value.to_string()).expect("the value of a header"));
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(self, body: impl Into<Bytes>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Sets a JSON body, with its content type.
    #[must_use]
    pub fn json(self, value: &Value) -> Self {
        self.header("content-type", "application/json").body(value.to_string())
    }

    /// Sends it, with the steps of a real request from the check of the signature on.
    pub fn send(self) -> RouteReply {
        let app = self.app;
        app.block_on(self.send_async())
    }

    /// Like [`TestRequest::send`], but async, for concurrent requests.
    pub async fn send_async(self) -> RouteReply {
        let Self { app, caller, method, uri, headers, body } = self;
        let runtime = app.runtime();
        let Some((function, path_values)) = runtime.registry().route(&method, uri.path()) else {
            return RouteReply::of(None, Err(Error::new(Code::RouteNotFound, "There is no such route.")), false).await;
        };
        let request = function.route_request(method, uri, headers, body, path_values);
        if let Err(error) = runtime.verify(function, &request) {
            return RouteReply::of(function.def.route, Err(error), false).await;
        }
        let caller = match function.def.route.and_then(|route| route.verify) {
            Some(Verify::Own(_)) => Caller::Nobody,
            Some(_) | None => caller,
        };
        let call = Request::Route { function, request: &request };
        let (outcome, _) = runtime.call(call, caller, runtime.request_id()).await;
        let decoded = outcome.result.and_then(|encoded| encoded::decode(encoded, &request));
        RouteReply::of(function.def.route, decoded, outcome.is_replayed).await
    }
}

/// The response of a route.
#[derive(Debug)]
pub struct RouteReply {
    /// The status.
    pub status: u16,
    /// The headers that the route set.
    pub headers: HeaderMap,
    /// The body. For an error, the envelope.
    pub body: Bytes,
    /// True if it is the stored response of an earlier request.
    pub is_replayed: bool,
}

impl RouteReply {
    async fn of(route: Option<&RouteDef>, result: Result<Decoded>, is_replayed: bool) -> Self {
        let Decoded { status, headers, body } = match result {
            Ok(decoded) => decoded,
            Err(error) => {
                let body = envelope::failure(&error, &convoke_calls::logs::LogLines::default());
                let body = Bytes::from(body);
                let status = route.map_or(error.code().status(), |route| route.status_of(&error));
                return Self { status, headers: HeaderMap::new(), body, is_replayed };
            }
        };
        let body = match body {
            DecodedBody::Whole(pieces) => Bytes::from(pieces.joined().into_owned()),
            DecodedBody::Stream(mut stream) => {
                let mut whole = BytesMut::new();
                while let Some(Ok(piece)) = stream.next().await {
                    whole.extend_from_slice(&piece);
                }
                whole.freeze()
            }
        };
        Self { status, headers: headers.into_iter().collect(), body, is_replayed }
    }

    /// Returns the body as text.
    ///
    /// # Panics
    /// If it is not UTF-8.
    #[track_caller]
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is a text")
    }

    /// Returns the body as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("the body is not JSON: {error}: {:?}", self.body))
    }

    /// Returns the code of an error, or an empty text.
    pub fn code(&self) -> String {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        body["errorData"]["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns a header as text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}
