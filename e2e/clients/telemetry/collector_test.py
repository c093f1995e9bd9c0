"""Decodes what the application sends with the protocol's classes from PyPI, and checks what a collector relies on."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
REQUESTS = {
    "/v1/traces": ExportTraceServiceRequest,
    "/v1/logs": ExportLogsServiceRequest,
    "/v1/metrics": ExportMetricsServiceRequest,
}
arrived = {path: [] for path in REQUESTS}


class Collector(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        assert self.headers["content-type"] == "application/x-protobuf", self.headers
        assert self.headers["x-key"] == "a,b", self.headers
        arrived[self.path].append(REQUESTS[self.path].FromString(body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def attributes(of):
    return {pair.key: pair.value.string_value for pair in of.attributes}


def until(found, log):
    """Waits for a result, on a busy machine too, and returns it."""
    end = time.monotonic() + 300
    while not (result := found()):
        assert application.poll() is None and time.monotonic() < end, open(log.name).read()
        time.sleep(0.1)
    return result


server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
threading.Thread(target=server.serve_forever, daemon=True).start()
with tempfile.TemporaryDirectory() as folder:
    log = open(os.path.join(folder, "server.log"), "w")
    environment = dict(
        OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{server.server_port}",
        OTEL_EXPORTER_OTLP_HEADERS="x-key=a%2Cb",
        OTEL_RESOURCE_ATTRIBUTES="service.name=shop,deployment.environment.name=test",
    )
    application = subprocess.Popen(
        [sys.argv[1], "dev", "--listen", "127.0.0.1:0"], cwd=folder, env=environment, stderr=log
    )
    found = until(lambda: re.search(r"^convoke: listening on (\S+)\n", open(log.name).read(), re.M), log)
    url = found.group(1)
    request = urllib.request.Request(
        f"{url}/api/run/users/queries/getCurrentUser",
        data=json.dumps({"args": {}}).encode(),
        headers={"content-type": "application/json", "traceparent": f"00-{TRACE}-{PARENT}-01"},
    )
    assert urllib.request.urlopen(request).status == 200
    until(lambda: arrived["/v1/metrics"], log)
    application.send_signal(signal.SIGTERM)
    assert application.wait() == 0

spans = {}
for message in arrived["/v1/traces"]:
    for resource in message.resource_spans:
        names = attributes(resource.resource)
        assert names["service.name"] == "shop" and names["deployment.environment.name"] == "test", names
        for scope in resource.scope_spans:
            for span in scope.spans:
                assert len(span.trace_id) == 16 and len(span.span_id) == 8
                assert span.start_time_unix_nano <= span.end_time_unix_nano
                if span.trace_id.hex() == TRACE:
                    spans[span.name] = span
request, call = spans["POST /api/run/{path}"], spans["users/queries/getCurrentUser"]
assert request.parent_span_id.hex() == PARENT and request.kind == 2
assert call.parent_span_id == request.span_id
assert attributes(call)["convoke.kind"] == "query"

metrics = {}
for message in arrived["/v1/metrics"]:
    for resource in message.resource_metrics:
        for scope in resource.scope_metrics:
            metrics.update({metric.name: metric for metric in scope.metrics})
assert metrics["convoke_build_info"].gauge.data_points[0].as_double == 1.0
batches = metrics["convoke_store_batch_mutations"].histogram.data_points[0]
assert sum(batches.bucket_counts) == batches.count

lines = [
    record
    for message in arrived["/v1/logs"]
    for resource in message.resource_logs
    for scope in resource.scope_logs
    for record in scope.log_records
]
assert any("SIGTERM" in line.body.string_value and line.severity_text == "INFO" for line in lines), lines
