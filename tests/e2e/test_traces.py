"""Traces of requests: what a collector gets of a real service, and that no request is the worse for one that fails."""
import base64
import gzip
import http.server
import json
import os
import pathlib
import signal
import socket
import subprocess
import threading
import time

import pytest
from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from test_cli import refused, troupe

from conftest import BINARY, MODEL, Service, free_port
from tcp_client import Client

MODEL_NAME = "SmolLM2-135M-Instruct"
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
PARENT = f"00-{TRACE}-{CALLER}-01"
TEXT = "/v1/completions"


def message_of(body):
    """The body as OpenTelemetry's own schema reads it. JSON of protocol buffers has bytes in base64, OTLP ids in hexadecimal."""
    document = json.loads(body)
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                for name in ("traceId", "spanId", "parentSpanId"):
                    if name in span:
                        span[name] = base64.b64encode(bytes.fromhex(span[name])).decode()
    return json_format.ParseDict(document, ExportTraceServiceRequest())


class Collector:
    """Receives what is posted to it; answers with `status`."""

    def __init__(self, status=200):
        self.messages, self.bodies, self.heads = [], [], []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers["Content-Encoding"] == "gzip":
                    body = gzip.decompress(body)
                outer.heads.append((self.path, self.headers["Content-Type"]))
                outer.bodies.append(body)
                if self.headers["Content-Type"] == "application/json":
                    outer.messages.append(message_of(body))
                else:
                    outer.messages.append(ExportTraceServiceRequest.FromString(body))
                self.send_response(status)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()

    def spans(self):
        return [span for message in list(self.messages) for resource in message.resource_spans
                for scope in resource.scope_spans for span in scope.spans]

    def wait_for(self, count):
        end = time.monotonic() + 30
        while len(self.spans()) < count and time.monotonic() < end:
            time.sleep(0.05)
        assert len(self.spans()) >= count
        return self.spans()


def attributes(span):
    def value_of(value):
        kind = value.WhichOneof("value")
        found = getattr(value, kind)
        return [value_of(each) for each in found.values] if kind == "array_value" else found
    return {each.key: value_of(each.value) for each in span.attributes}


def dropped(service, reason):
    lines = [line for line in service.get("/metrics").splitlines()
             if line.startswith("troupe_trace_spans_dropped_total") and f'reason="{reason}"' in line]
    assert len(lines) == 1
    return float(lines[0].split()[-1])


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    with Collector() as collector:
        log = tmp_path_factory.mktemp("traced") / "log"
        with Service(log, "--otlp-traces-endpoint", f"http://127.0.0.1:{collector.port}", "--otel-service-name", "my-service") as service:
            service.collector = collector
            yield service


@pytest.fixture
def collector(traced):
    """What it has got by now is forgotten."""
    time.sleep(1.2)  # what ended before has been sent
    traced.collector.messages.clear()
    return traced.collector


def test_a_request_is_a_trace_that_says_what_became_of_it(traced, collector):
    begin = time.time_ns()
    status, answer = traced.post("/v1/chat/completions", {
        "messages": [{"role": "user", "content": "Say something."}], "max_tokens": 6, "temperature": 0.5, "top_p": 0.75,
        "ignore_eos": True}, {"X-Request-Id": "traced", "traceparent": PARENT, "tracestate": "a=1, b@c=2"})
    assert status == 200
    spans = {span.name: span for span in collector.wait_for(4)}
    end = time.time_ns()  # a span may end a little after its client has the answer
    assert set(spans) == {"llm_request", "queue", "prefill", "decode"}
    [message] = collector.messages
    resource = {each.key: each.value.string_value for each in message.resource_spans[0].resource.attributes}
    assert resource["service.name"] == "my-service" and resource["service.version"]
    assert collector.heads[-1] == ("/v1/traces", "application/json")
    whole = spans["llm_request"]
    assert whole.trace_id.hex() == TRACE and whole.parent_span_id.hex() == CALLER and whole.trace_state == "a=1,b@c=2"
    assert whole.kind == Span.SPAN_KIND_SERVER and whole.status.code == Status.STATUS_CODE_UNSET
    assert begin <= whole.start_time_unix_nano < whole.end_time_unix_nano <= end
    at = whole.start_time_unix_nano
    for name in ("queue", "prefill", "decode"):
        part = spans[name]
        assert part.trace_id == whole.trace_id and part.parent_span_id == whole.span_id and part.kind == Span.SPAN_KIND_INTERNAL
        assert at <= part.start_time_unix_nano <= part.end_time_unix_nano
        at = part.end_time_unix_nano
    assert at <= whole.end_time_unix_nano
    assert len({span.span_id for span in spans.values()}) == 4 and all(len(span.span_id) == 8 for span in spans.values())
    told = attributes(whole)
    usage = answer["usage"]
    expected = {"gen_ai.operation.name": "chat", "gen_ai.request.model": MODEL_NAME, "gen_ai.response.model": MODEL_NAME,
                "gen_ai.request.id": "chatcmpl-traced", "gen_ai.response.id": "chatcmpl-traced", "gen_ai.request.max_tokens": 6,
                "gen_ai.request.temperature": 0.5, "gen_ai.request.top_p": 0.75, "gen_ai.request.n": 1,
                "gen_ai.response.finish_reasons": ["length"], "gen_ai.usage.input_tokens": usage["prompt_tokens"],
                "gen_ai.usage.output_tokens": 6, "gen_ai.usage.prompt_tokens": usage["prompt_tokens"],
                "gen_ai.usage.completion_tokens": 6, "http.route": "/v1/chat/completions"}
    assert {name: told.get(name) for name in expected} == expected
    for name, part in (("time_in_queue", "queue"), ("time_in_model_prefill", "prefill"), ("time_in_model_decode", "decode"),
                       ("e2e", "llm_request")):
        span = spans[part]
        took = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9
        assert abs(told[f"gen_ai.latency.{name}"] - took) < 1e-6, name
    assert 0 < told["gen_ai.latency.time_to_first_token"] < told["gen_ai.latency.e2e"]


def test_whose_caller_is_not_sampled_leaves_no_trace_and_who_has_none_begins_one(traced, collector):
    body = {"prompt": "Once", "max_tokens": 1}
    for broken in (PARENT.upper(), PARENT.replace("00-", "ff-", 1), f"00-{'0' * 32}-{CALLER}-01", PARENT + "-more"):
        traced.post(TEXT, body, {"traceparent": broken, "tracestate": "a=1"})
    traced.post(TEXT, body, {"traceparent": PARENT[:-1] + "0"})
    traced.post(TEXT, body, {"traceparent": "cc" + PARENT[2:] + "-more"})
    roots = [span for span in collector.wait_for(5 * 4) if span.name == "llm_request"]
    assert len(roots) == 5 and len({span.trace_id for span in roots}) == 5
    assert [span.trace_id.hex() for span in roots if span.parent_span_id] == [TRACE]
    assert all(span.trace_state == "" for span in roots)


def test_every_end_has_its_span(traced, collector):
    traced.post(TEXT, {"prompt": "Once", "temperature": -1}, {"traceparent": PARENT})
    [span] = collector.wait_for(1)
    assert span.trace_id.hex() == TRACE and attributes(span)["error.type"] == "invalid_value"
    assert span.status.code == Status.STATUS_CODE_UNSET, "the client's mistake, not the service's"
    traced.post(TEXT, {"prompt": "Once", "max_tokens": 4000, "timeout": 3, "ignore_eos": True})
    spans = {span.name: span for span in collector.wait_for(1 + 4)[1:]}
    assert spans["llm_request"].status.code == Status.STATUS_CODE_ERROR
    assert attributes(spans["llm_request"])["gen_ai.response.finish_reasons"] == ["timeout"]


def test_the_wait_for_a_grammar_is_a_part_of_the_queue(traced, collector):
    traced.post(TEXT, {"prompt": "Once", "max_tokens": 2, "structured_outputs": {"regex": "[a-z]{1,7}x"}})
    spans = {span.name: span for span in collector.wait_for(5)}
    grammar, queue = spans["grammar"], spans["queue"]
    assert grammar.parent_span_id == queue.span_id
    assert queue.start_time_unix_nano <= grammar.start_time_unix_nano < grammar.end_time_unix_nano <= queue.end_time_unix_nano


def test_over_tcp_the_members_of_these_names_say_it(traced, collector):
    with Client("127.0.0.1", traced.tcp_port, 60) as client:
        client.generate(prompt="Once", max_tokens=2, traceparent=PARENT, tracestate="a=1")
        while "finish_reason" not in client.receive()[2]:
            pass
    [whole] = [span for span in collector.wait_for(4) if span.name == "llm_request"]
    assert whole.trace_id.hex() == TRACE and whole.parent_span_id.hex() == CALLER and whole.trace_state == "a=1"


def test_spans_hold_no_word_of_a_client(traced, collector):
    word = "xylophagous"
    traced.collector.bodies.clear()
    traced.post("/v1/chat/completions", {"messages": [{"role": "user", "content": word}], "stop": [word], "user": word, "max_tokens": 2,
                                         "structured_outputs": {"choice": [word]}}, {"X-Tenant": word, "Authorization": f"Bearer {word}"})
    traced.post(TEXT, {"prompt": word, "structured_outputs": {"json": {"properties": {word: {"$ref": word}}}}})
    collector.wait_for(6)
    assert word.encode() not in b"".join(traced.collector.bodies)


def test_what_was_sent_is_counted_and_the_log_names_the_trace(traced, collector):
    traced.wait_until(lambda: traced.metric("troupe_trace_spans_exported_total") > 0, 30, "exporting")
    before = traced.metric("troupe_trace_spans_exported_total")
    traced.post(TEXT, {"prompt": "Once", "max_tokens": 1}, {"traceparent": PARENT, "X-Request-Id": "counted"})
    traced.wait_until(lambda: traced.metric("troupe_trace_spans_exported_total") == before + 4, 30, "counted")
    assert traced.metric("troupe_trace_spans_dropped_total") == 0
    with open(traced.log_path) as log:
        [line] = [line for line in map(json.loads, log) if line.get("request_id") == "cmpl-counted"]
    assert line["trace_id"] == TRACE


class Hanging:
    """Takes connections and never answers."""

    def __enter__(self):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=16)
        self.port = self.socket.getsockname()[1]
        return self

    def __exit__(self, *_):
        self.socket.close()


class Absent:
    def __enter__(self):
        self.port = free_port()
        return self

    def __exit__(self, *_):
        pass


@pytest.mark.parametrize("kind, reason", [(Hanging, None), (Absent, "unreachable"), (lambda: Collector(500), "rejected")],
                         ids=["hangs", "refuses", "fails"])
def test_a_collector_that_fails_costs_no_request_anything(start_service, kind, reason):
    with kind() as broken:
        with start_service("--otlp-traces-endpoint", f"http://127.0.0.1:{broken.port}/v1/traces") as service:
            assert service.metric("troupe_trace_spans_dropped_total") == 0
            for _ in range(20):
                status, answer = service.post(TEXT, {"prompt": "Once", "max_tokens": 2, "ignore_eos": True})
                assert status == 200 and answer["usage"]["completion_tokens"] == 2
            if reason:
                service.wait_until(lambda: dropped(service, reason) == 80, 30, "dropping")
                assert service.metric("troupe_trace_spans_exported_total") == 0
            begin = time.monotonic()
        assert service.process.returncode == 0
        assert time.monotonic() - begin < 20, "its end waits for nobody"
    if reason:
        with open(service.log_path) as log:
            assert len([line for line in log if "traces are lost" in line]) == 1


def wait_until_listening(port, process, log_path):
    end = time.monotonic() + 30
    while True:
        assert process.poll() is None and time.monotonic() < end, log_path.read_text()
        try:
            return socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)


def test_a_real_collector_understands_them(start_service, tmp_path):
    """rotel, a collector for OpenTelemetry, reads them from JSON and hands them on as protocol buffers."""
    rotel = pytest.importorskip("rotel")
    program = pathlib.Path(rotel.__file__).parent / "rotel-agent"
    with Collector() as behind:
        port = free_port()
        with open(tmp_path / "collector", "wb") as log:
            process = subprocess.Popen(
                [program, "start", "--otlp-http-endpoint", f"127.0.0.1:{port}", "--otlp-grpc-endpoint", f"127.0.0.1:{free_port()}",
                 "--otlp-receiver-metrics-disabled", "--otlp-receiver-logs-disabled", "--exporter", "otlp",
                 "--otlp-exporter-endpoint", f"http://127.0.0.1:{behind.port}", "--otlp-exporter-protocol", "http",
                 "--traces-batch-timeout", "100ms"], stdout=log, stderr=log)
        try:
            wait_until_listening(port, process, tmp_path / "collector")
            with start_service("--otlp-traces-endpoint", f"http://127.0.0.1:{port}") as service:
                service.post(TEXT, {"prompt": "Once", "max_tokens": 3, "ignore_eos": True}, {"traceparent": PARENT, "tracestate": "a=1"})
                spans = {span.name: span for span in behind.wait_for(4)}
                service.wait_until(lambda: service.metric("troupe_trace_spans_exported_total") == 4, 30, "taken")
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(20)
    assert set(spans) == {"llm_request", "queue", "prefill", "decode"}
    whole = spans["llm_request"]
    assert whole.trace_id.hex() == TRACE and whole.parent_span_id.hex() == CALLER and whole.trace_state == "a=1"
    assert attributes(whole)["gen_ai.usage.output_tokens"] == 3


def test_there_are_no_traces_unless_there_is_a_collector(service):
    service.post(TEXT, {"prompt": "Once", "max_tokens": 1}, {"traceparent": PARENT})
    assert service.metric("troupe_trace_spans_exported_total") == 0 and service.metric("troupe_trace_spans_dropped_total") == 0


def test_the_variables_that_opentelemetry_names_are_heeded(tmp_path):
    with Collector() as collector:
        environment = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://127.0.0.1:{collector.port}/elsewhere",
                       "OTEL_SERVICE_NAME": "by-variable", "OTEL_TRACES_SAMPLER": "parentbased_always_off"}
        before = {name: os.environ.get(name) for name in environment}
        os.environ.update(environment)
        try:
            with Service(tmp_path / "log") as service:
                service.post(TEXT, {"prompt": "Once", "max_tokens": 1})
                service.post(TEXT, {"prompt": "Once", "max_tokens": 1}, {"traceparent": PARENT})
                collector.wait_for(4)
        finally:
            for name, value in before.items():
                os.environ.pop(name) if value is None else os.environ.update({name: value})
    assert {span.trace_id.hex() for span in collector.spans()} == {TRACE}
    assert collector.heads[0][0] == "/elsewhere"
    [first, *_] = collector.messages
    assert first.resource_spans[0].resource.attributes[0].value.string_value == "by-variable"


@pytest.mark.parametrize("flags, words", [
    (["--otlp-traces-endpoint", "https://127.0.0.1:4318"], ["https://127.0.0.1:4318", "http:// alone", "collector"]),
    (["--otlp-traces-endpoint", "grpc://127.0.0.1:4317"], ["not gRPC"]),
    (["--otlp-traces-endpoint", "127.0.0.1:4317"], ["not gRPC"]),
    (["--otlp-traces-endpoint", "http://"], ["no address"]),
    (["--otlp-traces-endpoint", "http://127.0.0.1:4318", "--otel-traces-sampler", "xray"], ["'xray'", "parentbased_traceidratio"]),
    (["--otlp-traces-endpoint", "http://127.0.0.1:4318", "--otel-traces-sampler", "traceidratio", "--otel-traces-sampler-arg", "2"],
     ["'2'", "between 0 and 1"]),
])
def test_what_cannot_be_sent_to_is_said_at_the_start(flags, words):
    refused(troupe("serve", "--model", MODEL, "--port", "0", "--tcp-port", "0", *flags), 78, *words)


def test_a_sampler_that_is_set_for_other_programs_harms_nobody(tmp_path):
    done = subprocess.run([BINARY, "config", "--otel-traces-sampler", "xray"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
