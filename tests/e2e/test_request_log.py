"""A line of the log for each request, at its end: all of its times, and never a word of its client's."""
import contextlib
import http.client
import json
import re
import socket
import threading
import time

import pytest

from tcp_client import Client

CANARY = "xylophagous"
MODEL_NAME = "SmolLM2-135M-Instruct"


def records(service, beside_faults=False):
    """The lines of requests, from the whole log. Faults that a test has asked for are told in lines of another form."""
    with open(service.log_path, errors="replace") as log:
        lines = [json.loads(line) for line in log if line.startswith("{") or not beside_faults]
    return [line for line in lines if line["message"] == "request"]


def test_a_request_that_was_answered_tells_what_became_of_it_and_where_its_time_went(start_service):
    with start_service() as service:
        body = {"prompt": "Once upon a time", "max_tokens": 8, "ignore_eos": True}
        begin = time.monotonic()
        status, answer = service.post("/v1/completions", body, {"X-Request-Id": "one"})
        assert status == 200
    took = (time.monotonic() - begin) * 1000  # the answer may be here before its end is noted there
    [line] = records(service)
    assert line["level"] == "info"
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d\d\dZ", line["time"])
    assert line["request_id"] == answer["id"] == "cmpl-one" and line["client_request_id"] == "one"
    assert (line["gateway"], line["route"], line["model"]) == ("http", "/v1/completions", MODEL_NAME)
    assert line["number"] >= 1
    assert line["finish_reason"] == "length" and "delivered" not in line
    assert line["prompt_tokens"] == answer["usage"]["prompt_tokens"] and line["completion_tokens"] == 8
    assert (line["cached_tokens"], line["preemptions"], line["accepted_drafts"]) == (0, 0, 0)
    assert "grammar_ms" not in line and "error_code" not in line
    parts = line["queue_ms"] + line["prefill_ms"] + line["decode_ms"]
    assert 0 < line["prefill_ms"] < line["ttft_ms"] < line["total_ms"] <= took
    assert line["ttft_ms"] >= line["queue_ms"] + line["prefill_ms"]
    assert parts <= line["total_ms"]


def header_of(service, path, body, headers=None):
    """The X-Request-Id of the answer."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)) as connection:
        connection.request("POST", path, body, {"Content-Type": "application/json", **(headers or {})})
        return connection.getresponse().headers["X-Request-Id"]


def test_an_answer_bears_the_name_of_its_line_in_the_log(start_service):
    good = json.dumps({"prompt": "Once", "max_tokens": 1})
    asked = [("/v1/completions", good, {}), ("/v1/completions", good, {"X-Request-Id": "mine"}),
             ("/v1/completions", "{", {}), ("/v1/completions", "{", {"X-Request-Id": "mine-too"}),
             ("/v1/completions", good, {"Content-Type": "text/plain", "X-Request-Id": "no name"}), ("/v1/nothing", good, {})]
    service = start_service()
    service.wait_until(lambda: service.status("/livez") == 200, 30, "listening")
    early = header_of(service, "/v1/completions", good)  # it loads, or warms up
    with service:
        told = [header_of(service, *each) for each in asked]
    lines = records(service)
    assert [line["request_id"] for line in lines] == [early, told[0], "cmpl-mine", *told[2:]], lines
    assert told[0].startswith("cmpl-") and (told[1], told[3]) == ("mine", "mine-too")
    assert all(re.fullmatch("req-[0-9a-f]{32}", told[i]) for i in (2, 4, 5)), told


def test_every_kind_of_end_has_its_line(start_service):
    with start_service("--max-num-seqs", "1", "--max-num-queued-requests", "1") as service:
        service.post("/v1/completions", {"prompt": "Once", "temperature": -1})
        service.post("/v1/completions", {"prompt": "my " * 9000}, {"X-Request-Id": "long"})
        service.post("/v1/completions", {"prompt": "Once", "max_tokens": 4000, "timeout": 0.3, "ignore_eos": True})
        service.post("/v1/completions", {"prompt": "One two three", "structured_outputs": {"regex": "[a-z]{1,3}"}})
        with socket.create_connection(("127.0.0.1", service.port)) as leaver:
            body = json.dumps({"prompt": "Once", "max_tokens": 4000, "ignore_eos": True})
            leaver.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
            service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 30, "running")
            waiter = threading.Thread(target=service.post, args=("/v1/completions", {"prompt": "Twice", "max_tokens": 1}))
            waiter.start()
            service.wait_until(lambda: service.metric("vllm:num_requests_waiting") == 1, 30, "full")
            service.post("/v1/completions", {"prompt": "Thrice", "max_tokens": 1})
        waiter.join()
        with Client("127.0.0.1", service.tcp_port, 60) as client:
            client.generate(prompt="Once", max_tokens=2, ignore_eos=True)
            while "finish_reason" not in client.receive()[2]:
                pass
        service.wait_idle()
    lines = records(service)
    known = [(line.get("finish_reason"), line.get("status"), line.get("error_code"), line.get("error_param"))
             for line in lines]
    assert known[:4] == [(None, 400, "invalid_value", "temperature"), (None, 400, "context_length_exceeded", "prompt"),
                         ("timeout", None, None, None), ("stop", None, None, None)], known
    assert lines[1]["request_id"] == "cmpl-long"
    assert lines[3]["grammar_ms"] > 0 and lines[3]["queue_ms"] >= lines[3]["grammar_ms"]
    assert sorted(known[4:], key=str) == sorted([(None, 429, "rate_limit_exceeded", None), ("abort", None, None, None),
                                                 ("length", None, None, None), ("length", None, None, None)], key=str), known
    tcp = [line for line in lines if line["gateway"] == "tcp"]
    assert [line["request_id"] for line in tcp] == ["tcp-1/1"]


def test_the_line_of_a_client_that_left_before_its_first_token_tells_what_its_request_was(start_service):
    with start_service() as service:
        body = json.dumps({"prompt": [7] * 6000, "max_tokens": 5})  # a dozen steps
        http_text = f"POST /v1/completions HTTP/1.1\r\nHost: a\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        with socket.create_connection(("127.0.0.1", service.port)) as leaver:
            leaver.sendall(http_text.encode())
            service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 30, "it runs")
        service.wait_idle()
        with Client("127.0.0.1", service.tcp_port, 60) as client:
            client.generate(prompt=[8] * 6000, max_tokens=5)  # nothing of it is cached
            service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 30, "it runs")
        service.wait_idle()
    lines = records(service)
    assert [line["gateway"] for line in lines] == ["http", "tcp"]
    for line in lines:
        assert (line["finish_reason"], line["delivered"]) == ("abort", "no"), line
        assert (line["prompt_tokens"], line["completion_tokens"]) == (6000, 0), line
        assert 0 <= line["queue_ms"] <= line["total_ms"] and "prefill_ms" not in line and "ttft_ms" not in line, line


@pytest.mark.parametrize("level", ["trace", "debug", "info", "warn", "error"])
@pytest.mark.parametrize("form", ["json", "text"])
def test_no_word_of_a_client_is_in_the_log_at_any_level(start_service, level, form):
    secret = {"user": CANARY, "cache_salt": CANARY, "stop": [CANARY + "s"], "max_tokens": 4}
    chat = {**secret, "messages": [{"role": "user", "content": CANARY}]}
    schema = {"type": "object", "properties": {CANARY: {"const": CANARY}}, "required": [CANARY]}
    refused = {"type": "object", "properties": {CANARY: {"$ref": CANARY + ".json"}}}
    headers = {"X-Tenant": CANARY, "Authorization": f"Bearer {CANARY}", "X-Request-Id": f"{CANARY} not a name",
               "tracestate": f"v={CANARY}", "Cookie": CANARY, "X-Other": CANARY}
    with start_service("--log-level", level, "--log-format", form) as service:
        for body in (chat, {**chat, "stream": True, "n": 2}, {**chat, "temperature": -1}, {**chat, "model": CANARY},
                     {**chat, CANARY: 1}, {**chat, "messages": [{"role": CANARY, "content": CANARY}]},
                     {**chat, "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": schema}}},
                     {**chat, "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": refused}}},
                     {**chat, "structured_outputs": {"regex": CANARY + "(("}}, {**chat, "structured_outputs": {"grammar": CANARY}},
                     {**chat, "structured_outputs": {"choice": [CANARY]}}):
            try:
                service.post("/v1/chat/completions", body, headers)
            except json.JSONDecodeError:
                pass  # a stream
        for path in ("/v1/completions", "/tokenize", "/detokenize", f"/{CANARY}", f"/v1/requests/{CANARY}", f"/v1/models/{CANARY}"):
            service.post(path, {"prompt": CANARY, "max_tokens": 2, "tokens": [CANARY]}, headers)
            service.post(path, '{"prompt": "' + CANARY, headers)
            service.status(f"{path}?{CANARY}")
        with Client("127.0.0.1", service.tcp_port, 60) as client:
            for fields in ({**secret, "prompt": CANARY}, {**chat, "top_p": 7}):
                number = client.generate(**fields)
                while True:
                    _, of, message = client.receive()
                    if of == number and ("finish_reason" in message or "error" in message):
                        break
        service.wait_idle()
    with open(service.log_path, "rb") as log:
        text = log.read()
    assert CANARY.encode() not in text, [line for line in text.splitlines() if CANARY.encode() in line]
    assert (b"total_ms" in text) == (level in ("trace", "debug", "info"))


def test_lines_of_requests_can_be_left_out_or_kept_to_those_that_failed(start_service):
    good, bad = {"prompt": "Once", "max_tokens": 2}, {"prompt": "Once", "temperature": -1}
    for which, expected in (("none", []), ("failed", [400])):
        with start_service("--log-requests", which) as service:
            service.post("/v1/completions", good)
            service.post("/v1/completions", bad)
        assert [line.get("status") for line in records(service)] == expected


def test_which_lines_there_are_and_their_form_can_be_changed_while_it_runs(start_service, operators, tmp_path):
    config = tmp_path / "troupe.toml"
    config.write_text('log_requests = "none"\n')
    with start_service(*operators.flags, "--config", str(config)) as service:
        service.post("/v1/completions", {"prompt": "Once", "max_tokens": 1}, {"X-Request-Id": "before"})
        config.write_text('log_requests = "all"\nlog_format = "text"\n')
        assert operators.ask("/admin/reload", {})[0] == 200
        service.post("/v1/completions", {"prompt": "Once", "max_tokens": 1}, {"X-Request-Id": "after"})
    with open(service.log_path) as log:
        lines = [line for line in log if "cmpl-" in line]
    assert len(lines) == 1 and " info  request request_id=cmpl-after " in lines[0], lines


def test_in_text_a_line_has_the_same_fields(start_service):
    with start_service("--log-format", "text") as service:
        service.post("/v1/completions", {"prompt": "Once", "max_tokens": 2, "ignore_eos": True}, {"X-Request-Id": "two"})
    with open(service.log_path) as log:
        [line] = [line for line in log if " request request_id=" in line]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d\d\d info  request request_id=cmpl-two client_request_id=two number=\d+ gateway=http "
                        rf"route=/v1/completions model={MODEL_NAME} finish_reason=length prompt_tokens=1 cached_tokens=0 "
                        r"completion_tokens=2 preemptions=0 accepted_drafts=0 queue_ms=\d+\.\d{3} prefill_ms=\d+\.\d{3} "
                        r"decode_ms=\d+\.\d{3} ttft_ms=\d+\.\d{3} total_ms=\d+\.\d{3}\n", line), line
