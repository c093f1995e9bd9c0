//! A collector: an HTTP server that decodes what it receives.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use convoke::testing::{TestApp, TestServer};
use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::logs::v1::LogRecord;
use opentelemetry_proto::tonic::metrics::v1::Metric;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;

/// A request that arrived.
#[derive(Clone)]
pub(super) struct Arrived {
    pub(super) head: String,
    body: Vec<u8>,
}

impl Arrived {
    fn decompressed(self) -> Vec<u8> {
        if !self.head.contains("content-encoding: gzip") {
            return self.body;
        }
        let mut body = Vec::new();
        flate2::read::GzDecoder::new(&*self.body).read_to_end(&mut body).unwrap();
        body
    }
}

/// The response to a request: its status, after a time.
pub(super) type Respond = fn(usize) -> (u16, Duration);

pub(super) struct Collector {
    pub(super) port: u16,
    arrived: Arc<Mutex<Vec<Arrived>>>,
    received: Arc<Mutex<usize>>,
}

impl Collector {
    pub(super) fn new() -> Self {
        Self::responding(|_| (200, Duration::ZERO))
    }

    /// A collector that responds to request number `n`, from 0, by a rule. It keeps only requests that it accepts.
    pub(super) fn responding(respond: Respond) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let arrived = Arc::<Mutex<Vec<Arrived>>>::default();
        let received = Arc::<Mutex<usize>>::default();
        let (heard, counted) = (arrived.clone(), received.clone());
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, heard, count) = (stream.unwrap(), heard.clone(), counted.clone());
                std::thread::spawn(move || serve(stream, &heard, &count, respond));
            }
        });
        Self { port, arrived, received }
    }

    /// The settings that send everything to it, and further ones.
    pub(super) fn settings(&self, more: &str) -> String {
        format!("[telemetry]\notlp = \"http://127.0.0.1:{}\"\nservice_name = \"shop\"\n{more}", self.port)
    }

    pub(super) fn arrived(&self) -> Vec<Arrived> {
        self.arrived.lock().unwrap().clone()
    }

    /// The number of requests so far, with those that have no response yet.
    pub(super) fn received(&self) -> usize {
        *self.received.lock().unwrap()
    }

    fn bodies(&self, path: &str) -> Vec<Vec<u8>> {
        let line = format!("POST {path} ");
        self.arrived().into_iter().filter(|one| one.head.starts_with(&line)).map(Arrived::decompressed).collect()
    }

    pub(super) fn metrics_requests(&self) -> usize {
        self.bodies("/v1/metrics").len()
    }

    /// All spans, after a check of the attributes of their process.
    pub(super) fn spans(&self) -> Vec<Span> {
        let requests =
            self.bodies("/v1/traces").into_iter().map(|body| ExportTraceServiceRequest::decode(&*body).unwrap());
        let resources = requests.flat_map(|request| request.resource_spans).inspect(|spans| {
            let attributes = &spans.resource.as_ref().unwrap().attributes;
            assert_eq!(attribute(attributes, "service.name"), Some("shop".to_owned()));
        });
        resources.flat_map(|spans| spans.scope_spans).flat_map(|scope| scope.spans).collect()
    }

    pub(super) fn logs(&self) -> Vec<LogRecord> {
        let requests =
            self.bodies("/v1/logs").into_iter().map(|body| ExportLogsServiceRequest::decode(&*body).unwrap());
        let scopes = requests.flat_map(|request| request.resource_logs).flat_map(|logs| logs.scope_logs);
        scopes.flat_map(|scope| scope.log_records).collect()
    }

    pub(super) fn metrics(&self) -> Vec<Metric> {
        let bodies = self.bodies("/v1/metrics").into_iter();
        let requests = bodies.map(|body| ExportMetricsServiceRequest::decode(&*body).unwrap());
        let scopes = requests.flat_map(|request| request.resource_metrics).flat_map(|metrics| metrics.scope_metrics);
        scopes.flat_map(|scope| scope.metrics).collect()
    }
}

fn serve(mut stream: TcpStream, heard: &Mutex<Vec<Arrived>>, count: &Mutex<usize>, respond: Respond) {
    let mut received = Vec::new();
    while let Some(request) = read(&mut stream, &mut received) {
        let number = {
            let mut count = count.lock().unwrap();
            *count += 1;
            *count - 1
        };
        let (status, delay) = respond(number);
        std::thread::sleep(delay);
        if status == 200 {
            heard.lock().unwrap().push(request);
        }
        let answer =
            format!("HTTP/1.1 {status} X\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n");
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
    }
}

/// Reads the next request of a connection.
fn read(stream: &mut TcpStream, received: &mut Vec<u8>) -> Option<Arrived> {
    let mut bytes = [0; 16_384];
    loop {
        if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(received[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse::<usize>();
            let whole = end + 4 + length.unwrap();
            if received.len() >= whole {
                let body = received[end + 4..whole].to_vec();
                received.drain(..whole);
                return Some(Arrived { head, body });
            }
        }
        match stream.read(&mut bytes) {
            Ok(read @ 1..) => received.extend_from_slice(&bytes[..read]),
            Ok(0) | Err(_) => return None,
        }
    }
}

/// Returns the text of an attribute.
pub(super) fn attribute(attributes: &[KeyValue], name: &str) -> Option<String> {
    let value = attributes.iter().find(|pair| pair.key == name)?.value.clone()?.value?;
    Some(match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        Value::BoolValue(value) => value.to_string(),
        other => panic!("{name} is {other:?}"),
    })
}

/// Starts and stops the background work of a server, which sends everything that waits.
pub(super) fn flush(app: &TestApp, server: &TestServer<'_>) {
    app.block_on(async { server.admin().start_background().stop().await });
}
