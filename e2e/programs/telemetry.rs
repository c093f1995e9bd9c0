//! Telemetry of a real process: the standard variables, log lines with the ids of their trace, and what is sent at the
//! end of the process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use opentelemetry_proto::tonic::collector::logs::v1::ExportLogsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as AnyValue;
use prost::Message as _;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";

/// Requests by the path of their signal.
type Arrived = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// Starts a collector; returns its port and the requests.
fn collector() -> (u16, Arrived) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, arrived) = (listener.local_addr().unwrap().port(), Arrived::default());
    let heard = arrived.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, heard) = (stream.unwrap(), heard.clone());
            std::thread::spawn(move || serve(stream, &heard));
        }
    });
    (port, arrived)
}

fn serve(mut stream: TcpStream, heard: &Mutex<Vec<(String, Vec<u8>)>>) {
    let (mut received, mut bytes) = (Vec::new(), [0; 16_384]);
    loop {
        if let Some(end) = received.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(received[..end].to_vec()).unwrap();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let whole = end + 4 + length.parse::<usize>().unwrap();
            if received.len() >= whole {
                let path = head.split(' ').nth(1).unwrap().to_owned();
                heard.lock().unwrap().push((path, received[end + 4..whole].to_vec()));
                received.drain(..whole);
                if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").is_err() {
                    return;
                }
                continue;
            }
        }
        match stream.read(&mut bytes) {
            Ok(read @ 1..) => received.extend_from_slice(&bytes[..read]),
            Ok(0) | Err(_) => return,
        }
    }
}

fn of_path(arrived: &Arrived, path: &str) -> Vec<Vec<u8>> {
    arrived.lock().unwrap().iter().filter(|(own, _)| own == path).map(|(_, body)| body.clone()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn process_sends_its_last_spans_and_log_lines_before_it_ends() {
    let (port, arrived) = collector();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("convoke.toml"), "[[log_streams]]\nfile = \"calls.jsonl\"\n").unwrap();
    let log = folder.path().join("log");
    let mut process = Command::new(env!("CARGO_BIN_EXE_hello"))
        .current_dir(folder.path())
        .env_clear()
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://127.0.0.1:{port}"))
        .env("OTEL_SERVICE_NAME", "greeter")
        .args(["dev", "--listen", "127.0.0.1:0", "--log-format", "json"])
        .stdin(Stdio::null())
        .stderr(File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let text = || std::fs::read_to_string(&log).unwrap();
    let is_ready = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        text().contains("convoke: listening on ")
    });
    assert!(is_ready, "{}", text());
    let said = text();
    let url = said.split("convoke: listening on ").nth(1).unwrap().split(['\'', '\n']).next().unwrap();
    let sent = ureq::post(format!("{url}/api/run/greetings/sayHello"))
        .header("content-type", "application/json")
        .header("traceparent", format!("00-{TRACE}-00f067aa0ba902b7-01"))
        .send(json!({ "args": { "name": "Ada" } }).to_string());
    assert_eq!(sent.unwrap().status().as_u16(), 200);
    kill_process(Pid::from_child(&process), Signal::TERM).unwrap();
    assert!(process.wait().unwrap().success(), "{}", text());

    let spans = of_path(&arrived, "/v1/traces").into_iter().flat_map(|body| {
        let request = ExportTraceServiceRequest::decode(&*body).unwrap();
        assert!(format!("{:?}", request.resource_spans[0].resource).contains("greeter"));
        request.resource_spans.into_iter().flat_map(|spans| spans.scope_spans).flat_map(|scope| scope.spans)
    });
    let of_trace: Vec<_> = spans.filter(|span| hex(&span.trace_id) == TRACE).collect();
    let call = of_trace.iter().find(|span| span.name == "greetings/sayHello").unwrap();
    assert!(of_trace.iter().any(|span| span.name == "POST /api/run/{path}" && span.span_id == call.parent_span_id));

    let logs = of_path(&arrived, "/v1/logs").into_iter().flat_map(|body| {
        let request = ExportLogsServiceRequest::decode(&*body).unwrap();
        request.resource_logs.into_iter().flat_map(|logs| logs.scope_logs).flat_map(|scope| scope.log_records)
    });
    let greeting: Vec<_> = logs
        .filter(|record| {
            let body = record.body.clone().and_then(|body| body.value);
            matches!(body, Some(AnyValue::StringValue(text)) if text == "greeting Ada")
        })
        .collect();
    assert_eq!(greeting.len(), 1);
    assert_eq!((hex(&greeting[0].trace_id), &greeting[0].span_id), (TRACE.to_owned(), &call.span_id));
    let in_the_log = text();
    let line = in_the_log.lines().find(|line| line.contains("greeting Ada")).unwrap();
    let line: Value = serde_json::from_str(line).unwrap();
    assert_eq!((&line["trace_id"], &line["span_id"]), (&json!(TRACE), &json!(hex(&call.span_id))));

    let stream = std::fs::read_to_string(folder.path().join("data/calls.jsonl")).unwrap();
    let lines: Vec<Value> = stream.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let call = lines.iter().find(|line| line["type"] == "call").unwrap();
    assert_eq!((&call["function"], &call["logLines"]), (&json!("greetings/sayHello"), &json!(["[INFO] greeting Ada"])));
    assert!(lines.iter().any(|line| line["type"] == "event" && line["message"].as_str().unwrap().contains("SIGTERM")));
}
