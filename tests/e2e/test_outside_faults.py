"""What comes from outside while a service is at work: clients that read nothing, signals to its runner, its end."""
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import time

import pytest
from conftest import Service
from test_faults import read_to_the_end, whole_log
from test_isolation import ask, is_gone, runners
from test_request_log import records
from test_signals import begin_stream

DEADLINE = 3  # seconds


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    """One service for most of these, and its resources when it has answered. Its core files would be in its folder."""
    folder = tmp_path_factory.mktemp("outside")
    command = 'cd "$0" && { ulimit -c unlimited || :; } && exec "$@"'
    flags = ["--step-deadline", f"{DEADLINE}s", "--max-num-batched-tokens", "1024", "--max-stream-buffer-bytes", "256KiB", "--max-logprobs", "1000"]
    with Service(folder / "log", "--skip-warmup", "--log-format", "json", *flags, prefix=("sh", "-c", command, str(folder))) as running:
        ask_three(running)
        yield running, folder, running.resources()


def ask_three(service, meanwhile=lambda: None):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        answers = [pool.submit(ask, service, i, 20) for i in range(3)]
        meanwhile()
        return [answer.result() for answer in answers]


def send(service, body):
    """The connection of a request, which takes little at once and reads nothing."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", service.port))
    text = json.dumps({"temperature": 0, "ignore_eos": True, **body}).encode()
    client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(text) + text)
    return client


def test_a_client_that_reads_nothing_loses_its_stream_and_nobody_else_notices(outside):
    service, _, before = outside
    undisturbed = ask_three(service)
    # Each token is 20 KiB, so that the sockets and the buffer are full before it ends.
    large = {"prompt": "Once", "max_tokens": 4000, "stream": True, "logprobs": 1000}
    with send(service, large) as slow:
        assert slow.recv(1) == b"H"
        assert ask_three(service) == undisturbed
        service.wait_until(lambda: service.metric("vllm:num_requests_running") == 0, 120, "rid of the stream")
        assert b"[DONE]" not in read_to_the_end(slow)
    ended = [line for line in records(service) if line.get("completion_tokens", 0) > 20]
    assert [line["finish_reason"] for line in ended] == ["abort"] and ended[0]["completion_tokens"] < 4000
    # Who reads gets all of as large a stream.
    with send(service, {**large, "max_tokens": 20}) as quick:
        answer = b""
        while b"[DONE]" not in answer:
            part = quick.recv(1 << 20)
            assert part, answer[-200:]
            answer += part
    service.wait_as_before(before)


@pytest.mark.parametrize("how", [signal.SIGABRT, signal.SIGBUS])
def test_a_crash_signal_that_somebody_sends_to_the_runner_is_nobodys_step_and_leaves_no_core(outside, how):
    service, folder, before = outside
    undisturbed = ask_three(service)
    (runner,) = runners(service)

    def end_at_work():
        service.wait_until(lambda: service.metric("vllm:num_requests_running") > 0, 20, "at work")
        os.kill(runner, how)
        os.kill(runner, signal.SIGCONT)

    os.kill(runner, signal.SIGSTOP)  # so that it has a step
    assert ask_three(service, end_at_work) == undisturbed
    assert is_gone(runner)
    assert re.search(rf"the runner process {runner} has ended: signal {int(how)} \(.*\), sent by another process", service.log()), service.log()
    if not pathlib.Path("/proc/sys/kernel/core_pattern").read_text().startswith(("|", "/")):
        assert not list(folder.glob("core*"))
    service.wait_as_before(before, 64)


def test_a_step_of_twice_512_rows_has_twice_the_time_before_the_service_is_not_live(outside):
    service, _, before = outside
    (runner,) = runners(service)
    told = len(whole_log(service))
    os.kill(runner, signal.SIGSTOP)
    begin = time.monotonic()
    with send(service, {"prompt": list(range(1000, 2024)), "max_tokens": 1}):
        service.wait_until(lambda: service.status("/livez") == 503, 60, "not live")
        assert time.monotonic() - begin >= 2 * DEADLINE
        service.wait_until(lambda: "a step does not end" in whole_log(service)[told:], 60, "known for a step that does not end")
        with contextlib.suppress(ProcessLookupError):  # after another deadline it is killed
            os.kill(runner, signal.SIGCONT)
    service.wait_until(lambda: service.status("/livez") == 200, 60, "live again")
    service.wait_as_before(before, 64)


def test_a_runner_that_ends_during_the_drain_is_followed_by_another_and_requests_finish(start_service):
    with start_service("--shutdown-grace", "120") as service:
        (runner,) = runners(service)
        connection, answer = begin_stream(service, max_tokens=100)
        os.kill(runner, signal.SIGSTOP)
        service.process.send_signal(signal.SIGTERM)
        service.wait_until(lambda: service.status("/readyz") == 503, 30, "draining")
        os.kill(runner, signal.SIGKILL)
        rest = answer.read().decode()
        assert '"finish_reason":"length"' in rest.replace(" ", "") and rest.rstrip().endswith("data: [DONE]")
        connection.close()
        assert service.process.wait(130) == 0
        assert is_gone(runner) and "ended; every request had finished" in service.log()
