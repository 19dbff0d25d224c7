"""SIGTERM and what is promised of it."""
import contextlib
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import time

from conftest import BINARY


def begin_stream(service, max_tokens=2000):
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
    body = {"prompt": "Once upon a time", "max_tokens": max_tokens, "stream": True, "ignore_eos": True, "temperature": 0}
    connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.status == 200
    answer.readline()
    return connection, answer


def was_cut_off(rest):
    """Of what is left of a stream: an error, since a client would take any reason for a finish."""
    return "shutting down" in rest and '"finish_reason":"' not in rest.replace(" ", "") and rest.rstrip().endswith("data: [DONE]")


def test_sigterm_ends_an_idle_service_within_5_seconds(start_service):
    with start_service() as service:
        begin = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(10) == 0
        assert time.monotonic() - begin < 5


def test_a_hangup_before_anybody_hears_it_does_not_end_the_service():
    """It writes its help into a full pipe, which is before it looks at its settings."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 4096)
    os.set_blocking(writing, True)
    with subprocess.Popen([BINARY, "serve", "--help"], stdout=writing) as service:
        place = pathlib.Path(f"/proc/{service.pid}/status")
        end = time.monotonic() + 10
        while time.monotonic() < end and "State:\tS" not in place.read_text():
            time.sleep(0.01)
        service.send_signal(signal.SIGHUP)
        os.close(writing)
        with open(reading, "rb") as pipe:
            assert b"--step-deadline" in pipe.read()
        assert service.wait(10) == 0


def test_requests_that_are_half_sent_do_not_keep_an_idle_service_from_its_end(start_service):
    head = b"POST /v1/completions HTTP/1.1\r\n"
    halves = [head + b"Ho", head + b"Content-Length: 100\r\n\r\n{", head + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab"]
    with start_service() as service:
        clients = [socket.create_connection(("127.0.0.1", service.port)) for _ in halves]
        for client, half in zip(clients, halves):
            client.sendall(half)
        assert service.status("/livez") == 200
        begin = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0
        assert time.monotonic() - begin < 5
        for client in clients:
            assert client.recv(100).startswith(b"HTTP/1.1 503 ")
            client.close()


def test_requests_that_are_half_sent_at_the_end_of_the_grace_are_told_why(start_service):
    halves = [b"POST /v1/completions HTTP/1.1\r\nContent-Length: 100\r\n\r\n{"] * 2
    with start_service("--shutdown-grace", "1s") as service:
        connection, answer = begin_stream(service, max_tokens=8000)
        clients = [socket.create_connection(("127.0.0.1", service.port)) for _ in halves]
        for client, half in zip(clients, halves):
            client.sendall(half)
        assert service.status("/livez") == 200  # behind them
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0
        for client in clients:
            told = client.recv(10_000).decode()
            assert told.startswith("HTTP/1.1 503 ") and "shutting down" in told, told
            client.close()
        connection.close()


def test_sigterm_lets_a_running_request_finish(start_service):
    with start_service("--shutdown-grace", "120") as service:
        connection, answer = begin_stream(service, max_tokens=100)
        service.process.send_signal(signal.SIGTERM)
        rest = answer.read().decode()
        assert service.process.wait(130) == 0
        assert '"finish_reason":"length"' in rest.replace(" ", "") and rest.rstrip().endswith("data: [DONE]")
        connection.close()


def test_a_service_that_drains_refuses_new_requests_and_says_so(start_service):
    with start_service("--shutdown-grace", "120") as service:
        connection, answer = begin_stream(service, max_tokens=400)
        service.process.send_signal(signal.SIGTERM)
        service.wait_until(lambda: service.status("/readyz") == 503, 30, "draining")
        late = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        late.request("POST", "/v1/completions", '{"prompt": "late"}', {"Content-Type": "application/json"})
        refusal = late.getresponse()
        failure = json.loads(refusal.read())["error"]
        assert refusal.status == 503 and int(refusal.headers["Retry-After"]) == failure["retry_after"] >= 1
        assert failure["code"] == "unavailable" and "shutting down" in failure["message"]
        assert answer.read().decode().rstrip().endswith("data: [DONE]")
        connection.close()


def test_sigterm_aborts_what_is_left_after_the_grace_time(start_service):
    with start_service("--shutdown-grace", "1") as service:
        connection, answer = begin_stream(service, max_tokens=8000)
        begin = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        rest = answer.read().decode()
        assert service.process.wait(20) == 0
        assert time.monotonic() - begin < 1 + 5
        assert was_cut_off(rest)
        connection.close()


def test_a_whole_answer_that_is_cut_off_is_none(start_service):
    with start_service("--shutdown-grace", "1") as service:
        asks = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        body = {"prompt": "Once", "max_tokens": 8000, "ignore_eos": True}
        asks.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        service.wait_until(lambda: service.metric("vllm:generation_tokens_total") > 0, 30, "it is being written")
        service.process.send_signal(signal.SIGTERM)
        refusal = asks.getresponse()
        failure = json.loads(refusal.read())["error"]
        assert refusal.status == 503 and int(refusal.headers["Retry-After"]) == failure["retry_after"] >= 1, failure
        assert "cut off" in failure["message"]
        assert service.process.wait(20) == 0
        asks.close()


def test_who_has_not_begun_when_the_grace_is_over_may_ask_elsewhere(start_service):
    with start_service("--shutdown-grace", "1", "--max-num-seqs", "1") as service:
        runs, answer = begin_stream(service, max_tokens=8000)
        waiting = []
        for stream in (False, True):
            waits = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
            body = {"prompt": "Later", "max_tokens": 8000, "stream": stream, "ignore_eos": True}
            waits.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            waiting.append(waits)
        service.wait_until(lambda: service.metric("vllm:num_requests_waiting") == 2, 30, "two that wait")
        service.process.send_signal(signal.SIGTERM)
        for waits in waiting:
            refusal = waits.getresponse()
            failure = json.loads(refusal.read())["error"]
            assert refusal.status == 503 and int(refusal.headers["Retry-After"]) == failure["retry_after"] >= 1
            assert failure["code"] == "unavailable" and "shutting down" in failure["message"]
            waits.close()
        assert was_cut_off(answer.read().decode())
        assert service.process.wait(20) == 0
        assert "requests were cut off: 3" in service.log()
        runs.close()


def unread(service, body):
    """A request whose answer is larger than what the sockets hold, and a client that takes none of it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", service.port))
    text = json.dumps(body).encode()
    client.sendall(b"POST /tokenize HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    assert client.recv(1) == b"H"  # the answer is on its way
    return client


def test_a_client_that_never_reads_its_answer_does_not_outlast_the_grace_time(start_service):
    with start_service("--shutdown-grace", "5") as service, unread(service, {"prompt": "a b c d " * 500_000}):
        begin = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(30) == 0
        assert time.monotonic() - begin < 5 + 5
        assert "every request had finished; connections were cut off" in service.log()


def test_the_log_tells_whether_requests_were_cut_off(start_service):
    with start_service("--shutdown-grace", "1") as service:
        connection, _ = begin_stream(service, max_tokens=8000)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0
        assert "ended; requests were cut off" in service.log() and "every request had finished" not in service.log()
        assert '"ended; requests were cut off: 1"' in service.log()
        connection.close()
    with start_service() as service:
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0
        assert '"ended; every request had finished"' in service.log()


def test_the_log_tells_where_a_part_was_lost_in_a_drain(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "http_gateway:throw:300")
    with start_service("--shutdown-grace", "60s") as service:
        connection, _ = begin_stream(service, max_tokens=8000)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(60) == 0
        assert "ended; a part of the service ended before the rest" in service.log()
        connection.close()


def test_no_new_request_is_taken_while_draining(start_service):
    with start_service("--shutdown-grace", "20") as service:
        connection, answer = begin_stream(service, max_tokens=300)
        service.process.send_signal(signal.SIGTERM)
        service.wait_until(lambda: service.status("/readyz") != 200, 10, "draining")
        answer.read()
        assert service.process.wait(130) == 0
        connection.close()


def test_a_signal_that_means_nothing_to_it_leaves_it_its_others(start_service):
    with start_service() as service:
        before = service.resources()
        connection, answer = begin_stream(service, max_tokens=60)
        for name in "USR1 USR2 ALRM VTALRM PROF IO PWR STKFLT XFSZ CHLD PIPE URG WINCH CONT".split() * 3:
            service.process.send_signal(signal.Signals["SIG" + name])
        assert b"data: [DONE]" in answer.read()
        connection.close()
        service.wait_as_before(before)
        service.process.send_signal(signal.SIGHUP)
        service.wait_until(lambda: "reloaded: " in service.log(), 10, "reloading")
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(10) == 0


def test_a_second_sigterm_ends_it_at_once(start_service):
    with start_service("--shutdown-grace", "60") as service:
        connection, _ = begin_stream(service, max_tokens=8000)
        service.process.send_signal(signal.SIGTERM)
        service.wait_until(lambda: service.status("/readyz") != 200, 10, "draining")
        service.signal_again()
        service.process.wait(10)
        assert "second signal: ending at once" in service.log()
        connection.close()


def test_a_signal_that_comes_twice_at_once_is_one(start_service):
    """`timeout` hands it to its command, and then to its group, to which that belongs."""
    with start_service("--shutdown-grace", "120", prefix=("timeout", "600")) as service:
        connection, answer = begin_stream(service, max_tokens=300)
        service.process.send_signal(signal.SIGTERM)
        rest = answer.read().decode()
        assert service.process.wait(130) == 0
        assert '"finish_reason":"length"' in rest.replace(" ", "") and "second signal: ending" not in service.log()
        connection.close()


def test_a_signal_while_the_model_loads_ends_the_process_at_once_and_the_log_says_so(start_service):
    for _ in range(5):  # where it is ready sooner than it is asked
        service = start_service()
        service.wait_until(lambda: service.status("/livez") is not None, 30, "listening")
        begin = time.monotonic()
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0
        assert time.monotonic() - begin < 5
        last = service.log().splitlines()[-1]
        if "ended by SIGTERM while the model was loading" in last:
            return
        assert '"ended; every request had finished"' in last
    raise AssertionError("it was ready before it listened")
