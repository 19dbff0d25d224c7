"""What systemd hears of a service, on a socket of the test's own."""
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest

from conftest import BINARY, MODEL, ROOT, end
from test_cli import settings
from test_isolation import stop_as_it_opens


class Notifications:
    """The messages that sd_notify sends, in order."""

    def __init__(self, folder):
        self.path = str(folder / "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.seen = []

    def read(self, patience):
        self.socket.settimeout(patience)
        try:
            self.seen += self.socket.recv(65536).decode().splitlines()
        except TimeoutError:
            return False
        return True

    def fill_up(self):
        """Until whoever sends more has to wait for a reader."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, contextlib.suppress(BlockingIOError):
            other.setblocking(False)
            while True:
                other.sendto(b"STATUS=of another process", self.path)

    def wait_for(self, line, patience=60):
        end = time.monotonic() + patience
        while line not in self.seen and time.monotonic() < end:
            self.read(1)
        assert line in self.seen, self.seen


@pytest.fixture
def notified(monkeypatch, tmp_path):
    heard = Notifications(tmp_path)
    monkeypatch.setenv("NOTIFY_SOCKET", heard.path)
    yield heard
    heard.socket.close()


def test_the_service_tells_how_far_it_is_that_it_is_ready_and_that_it_ends(start_service, notified):
    with start_service() as service:
        notified.wait_for("READY=1")
        before = notified.seen[: notified.seen.index("READY=1")]
        assert any(line.startswith("STATUS=loading: ") for line in before)
        assert any(line.startswith("STATUS=warming up [") for line in before)
        assert "STOPPING=1" not in notified.seen
        service.process.send_signal(signal.SIGTERM)
        notified.wait_for("STOPPING=1")
        notified.wait_for("EXTEND_TIMEOUT_USEC=23000000")  # its grace, and what it may take to end after that
        assert service.process.wait(20) == 0


def test_a_signal_while_the_model_loads_is_told_too(start_service, notified):
    for _ in range(5):  # where it is ready sooner than it is asked
        service = start_service()
        while not any(line.startswith("STATUS=loading: ") for line in notified.seen):
            assert notified.read(30), "it does not begin to load"
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0
        while notified.read(0.1):
            pass
        assert "STOPPING=1" in notified.seen
        if "ended by SIGTERM while the model was loading" in service.log():
            assert "READY=1" not in notified.seen
            return
        notified.seen.clear()
    raise AssertionError("it was ready before it was told to end")


def test_a_reload_is_told_with_its_time_and_its_end(start_service, notified):
    with start_service() as service:
        notified.wait_for("READY=1")
        while notified.read(0.01):
            pass
        notified.seen.clear()
        before = time.monotonic_ns() // 1000
        service.process.send_signal(signal.SIGHUP)
        notified.wait_for("READY=1")
        begun = notified.seen.index("RELOADING=1")
        assert begun < notified.seen.index("READY=1")
        told = int(notified.seen[begun + 1].removeprefix("MONOTONIC_USEC="))
        assert before <= told <= time.monotonic_ns() // 1000


@pytest.mark.parametrize("since", ["its start", "it is ready"])
def test_a_systemd_that_does_not_listen_holds_nobody_up(start_service, notified, monkeypatch, since):
    monkeypatch.setenv("WATCHDOG_USEC", "30000")  # told often
    if since == "its start":
        notified.fill_up()
    with start_service("--shutdown-grace", "5s") as service:
        before = service.resources()
        notified.fill_up()
        service.process.send_signal(signal.SIGHUP)
        service.wait_until(lambda: "reloaded: nothing is different" in service.log(), 20, "reloaded")
        assert service.post("/v1/completions", {"prompt": "Once", "max_tokens": 3})[0] == 200
        assert service.status("/livez") == service.status("/readyz") == 200
        service.wait_as_before(before)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0, service.log()
        assert "the service does not end" not in service.log()


def test_the_watchdog_is_fed_while_steps_come_to_an_end(start_service, notified, monkeypatch):
    monkeypatch.setenv("WATCHDOG_USEC", "300000")
    with start_service():
        notified.wait_for("READY=1")
        while notified.read(0.01):
            pass
        notified.seen.clear()
        notified.wait_for("WATCHDOG=1", 5)


def test_a_service_whose_step_does_not_end_is_not_live_and_then_ends_itself(start_service, notified):
    """A step of 6,000 tokens takes longer than twelve times this deadline."""
    with start_service("--step-deadline", "0.1s", "--max-num-batched-tokens", "8192", "--skip-warmup",
                       "--runner-isolation", "none") as service:
        notified.wait_for("READY=1")
        client = socket.create_connection(("127.0.0.1", service.port))
        body = json.dumps({"prompt": list(range(100, 6100)), "max_tokens": 1}).encode()
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
        notified.wait_for("STATUS=not live: a step does not end")
        assert service.process.wait(20) == 70
        assert "not live for" in service.log()
        client.close()


def test_the_status_is_that_of_a_service_that_is_live_again(start_service, notified):
    with start_service("--step-deadline", "1s") as service:
        notified.wait_for("READY=1")
        before = service.resources()
        client = socket.create_connection(("127.0.0.1", service.port))
        body = json.dumps({"prompt": "Once upon a time", "max_tokens": 400, "ignore_eos": True}).encode()
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n\r\n" % len(body) + body)
        service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 20, "running")
        notified.seen.clear()
        (runner,) = service.children()
        os.kill(runner, signal.SIGSTOP)
        notified.wait_for("STATUS=not live: a step does not end")
        notified.seen.clear()  # a slow step of the warm-up may have been told of as well
        notified.wait_for("STATUS=serving", 30)
        assert service.status("/livez") == 200
        client.close()
        assert "not live: a step does not end" in service.log() and "ready again" in service.log()
        service.wait_as_before(before, 64)


def test_the_status_tells_of_trouble_through_a_reload_and_of_a_refused_reload_through_trouble(start_service, notified, tmp_path):
    config = tmp_path / "troupe.toml"
    config.write_text("")
    with start_service("--step-deadline", "1s", "--config", str(config)) as service:
        notified.wait_for("READY=1")
        before = service.resources()
        config.write_text("block_size = 32\n")
        service.process.send_signal(signal.SIGHUP)
        refused = f"STATUS=serving; the last reload was refused: {config}:1: block_size: 16 -> 32 needs a restart"
        notified.wait_for(refused)
        runners = set()

        def kill_the_next():
            for runner in service.children():
                if runner not in runners:
                    runners.add(runner)
                    os.kill(runner, signal.SIGKILL)
            return service.status("/readyz") == 503

        service.wait_until(kill_the_next, 30, "in trouble")
        trouble = "STATUS=not ready: the model runner ends again and again"
        notified.wait_for(trouble, 5)
        assert '"warn","message":"not ready: the model runner ends again and again"' in service.log()
        config.write_text("")
        notified.seen.clear()
        service.process.send_signal(signal.SIGHUP)
        notified.wait_for("READY=1", 5)
        assert trouble in notified.seen and "STATUS=serving" not in notified.seen
        notified.wait_for("STATUS=serving", 30)
        service.wait_as_before(before, 64)


def test_the_status_tells_of_a_runner_that_hangs_as_it_opens_at_the_start(start_service, notified, monkeypatch, undisturbed):
    monkeypatch.setenv("TROUPE_CHAOS", "start:hasten:4000")
    service = start_service()
    runner = stop_as_it_opens(service, [])
    while not any(line.startswith(f"STATUS=not live: the runner process {runner}, which opens its device, has got nowhere for ") for line in notified.seen):
        assert notified.read(20), notified.seen
    assert "READY=1" not in notified.seen
    with service:
        notified.wait_for("STATUS=serving")
        service.wait_as_before(undisturbed)


def test_the_unit_file_starts_what_there_is():
    unit = (ROOT / "packaging" / "troupe.service").read_text()
    assert "ExecStart=/usr/bin/troupe serve --config /etc/troupe/troupe.toml\n" in unit
    served = settings("--config", ROOT / "packaging" / "troupe.toml")
    assert served["model"][0].strip('"') == f"/var/lib/troupe/{MODEL.name}"
    assert "Type=notify" in unit and "WatchdogSec=" in unit and "ExecReload=/bin/sh -c 'kill -HUP $MAINPID'" in unit


def test_lines_for_the_journal_bear_their_priorities(start_service, monkeypatch, tmp_path):
    (tmp_path / "log1").touch()
    log = (tmp_path / "log1").stat()
    monkeypatch.setenv("JOURNAL_STREAM", f"{log.st_dev}:{log.st_ino}")
    with start_service("--log-format", "json") as service:
        (runner,) = service.children()
        os.kill(runner, signal.SIGSEGV)
        service.wait_until(lambda: "the model runner is back" in service.log(), 20, "back")
        lines = service.log().splitlines()
    told = {(line[:3], json.loads(line[3:])["level"]) for line in lines}
    assert told == {("<6>", "info"), ("<4>", "warn"), ("<3>", "error")}


@pytest.mark.parametrize("flags, code, why", [
    (["--max-num-seqs", "none"], 78, "<3>troupe: --max-num-seqs"),
    (["--max-num-sequences", "3"], 2, "<3>troupe serve: unknown option '--max-num-sequences'"),
    (["--config"], 2, "<3>troupe"),
])
def test_why_a_service_does_not_start_is_an_error_in_the_journal(monkeypatch, tmp_path, flags, code, why):
    with open(tmp_path / "log", "wb") as log:
        told = os.fstat(log.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{told.st_dev}:{told.st_ino}")
        done = subprocess.run([BINARY, "serve", *flags], stdout=subprocess.DEVNULL, stderr=log, timeout=60)
    lines = (tmp_path / "log").read_text().splitlines()
    assert done.returncode == code and lines[0].startswith(why) and all(line.startswith("<3>") for line in lines), lines
    unit = (ROOT / "packaging" / "troupe.service").read_text()
    assert str(code) in re.search("^RestartPreventExitStatus=(.*)$", unit, re.M)[1].split(), "it gets no better by starting again"


def test_what_is_cut_off_by_a_stop_is_no_error(start_service, monkeypatch):
    """Its first step, of the warm-up, does not end."""
    monkeypatch.setenv("TROUPE_CHAOS", "runner_process:hang:1")
    service = start_service()
    try:
        service.wait_until(lambda: "every 1-th message" in service.log() and service.status("/livez") == 200, 20, "it warms up")
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0, service.log()
        assert "the runner computes for no request" in service.log() and '"level":"error"' not in service.log(), service.log()
    finally:
        end(service.process)
