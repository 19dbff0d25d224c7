"""What the system refuses or changes while a service runs: space on a disk, descriptors, the time of day."""
import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time

import pytest
from conftest import BINARY, MODEL

YEAR = 365 * 86400


def complete(service, **body):
    status, answer = service.post("/v1/completions", {"prompt": "Once upon a time", "max_tokens": 8, "ignore_eos": True, **body})
    assert status == 200, answer
    return answer


def begin_stream(service, **body):
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    text = json.dumps({"prompt": "Once upon a time", "max_tokens": 200, "ignore_eos": True, "stream": True, **body})
    connection.request("POST", "/v1/completions", text, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.status == 200
    answer.readline()
    return connection, answer


def ends_whole(connection, answer):
    rest = answer.read().decode()
    connection.close()
    return '"finish_reason":"length"' in rest.replace(" ", "") and rest.rstrip().endswith("data: [DONE]")


def test_a_log_on_a_full_disk_costs_nobody_anything(start_service):
    with start_service(output="/dev/full") as service:
        complete(service)
        before = service.resources()
        for _ in range(20):
            complete(service)
            assert service.post("/v1/completions", {"prompt": 7})[0] == 400
        service.wait_as_before(before)
        assert service.status("/livez") == service.status("/readyz") == 200


def on_a_full_disk(folder):
    """A command that executes its arguments where `folder` is a disk without a free byte, for them alone; and what the system
    says of it. Where nothing may be mounted: one that executes them where no file can grow, the log neither."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    mount = 'mount -t tmpfs -o size=64k none "$0" && { head -c 1M /dev/zero > "$0/fill" || :; } 2>/dev/null && exec "$@"'
    command = ["unshare", "--mount", *user, "sh", "-c", mount, str(folder)]
    if subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode == 0:
        return command, "No space left on device"
    return ["sh", "-c", 'trap "" XFSZ; ulimit -f 0; exec "$@"', "sh"], ""


def test_a_tuning_file_on_a_full_disk_is_a_warning(start_service, tmp_path):
    folder = tmp_path / "full"
    folder.mkdir()
    command, reason = on_a_full_disk(folder)
    # Where the disk cannot be made full no file may grow, and shared memory is one, too.
    small = ["--max-model-len", "256", "--max-num-seqs", "2", "--max-num-batched-tokens", "16", "--kv-cache-memory", "64MiB",
             *([] if reason else ["--runner-isolation", "none"])]
    with start_service(*small, "--warmup", "full", "--tuning-file", str(folder / "tuning.json"), prefix=command) as service:
        complete(service)
        before = service.resources()
        complete(service)
        service.wait_as_before(before)
        said = pathlib.Path(service.log_path).read_text()
        assert not reason or ("the tuning is not kept" in said and reason in said), said
        assert not [f for f in folder.iterdir() if f.stat().st_size > 0]


def leave_descriptors(service, number):
    """So many for clients, behind which 16 are the service's own. The limits before."""
    limits = resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (service.open_descriptors() + number + 16, limits[1]))
    return limits


def test_a_limit_of_descriptors_that_leaves_none_for_clients_is_told_at_the_start():
    done = subprocess.run(["sh", "-c", 'ulimit -n 47; exec "$@"', "sh", BINARY, "serve", "--model", MODEL, "--port", "0", "--tcp-port", "0",
                           "--log-level", "error"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert "47 files may be open at once (ulimit -n): the service and its first clients need 48" in done.stderr


def test_files_that_may_not_grow_as_far_as_the_weights_are_told_before_anything_is_served():
    done = subprocess.run(["sh", "-c", 'ulimit -f 1000; exec "$@"', "sh", BINARY, "serve", "--model", MODEL, "--port", "0", "--tcp-port", "0"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, done.stderr
    assert "File too large (ulimit -f, LimitFSIZE)" in done.stderr


def test_memory_that_does_not_hold_the_model_is_no_fault_of_the_model():
    done = subprocess.run(["sh", "-c", 'ulimit -v 200000; exec "$@"', "sh", BINARY, "run", "--model", MODEL, "hello"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert "memory" in done.stderr.strip().splitlines()[-1], done.stderr


def test_the_least_limit_of_descriptors_serves_a_client_and_starts_another_runner(start_service):
    with start_service(prefix=["sh", "-c", 'ulimit -n 48; exec "$@"', "sh"]) as service:
        complete(service)
        before = service.resources()
        stream = begin_stream(service)
        os.kill(service.children()[0], signal.SIGKILL)
        assert ends_whole(*stream)
        service.wait_as_before(before, 64)


def test_a_crowd_of_connections_leaves_the_probes_an_answer(start_service):
    with start_service("--max-connections", "100", prefix=["prlimit", "--nofile=64:1024"]) as service:
        assert "max_connections is" not in service.log(), "it may open more files than the first limit says"
        before = service.resources()
        with contextlib.ExitStack() as stack:
            for _ in range(300):
                stack.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=60))
            for _ in range(20):
                assert [service.status(path) for path in ("/livez", "/readyz", "/metrics")] == [200, 200, 200]
            assert service.status("/v1/models") == 503
        service.wait_until(lambda: service.status("/v1/models") == 200, 30, "room again")
        complete(service)
        service.wait_as_before(before)


def test_more_connections_than_files_are_warned_of_and_refused(start_service):
    with start_service(prefix=["prlimit", "--nofile=128:128"]) as service:
        before = service.resources()
        possible = int(re.search(r"max_connections is 1024, but the files .* are enough for (\d+) of each port", service.log())[1])
        assert 10 < possible < 64
        with contextlib.ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=60))
            assert service.status("/livez") == 200 and service.status("/v1/models") == 503
        service.wait_as_before(before)


def test_when_clients_have_all_descriptors_the_next_runner_still_has_some(start_service):
    with start_service() as service:
        complete(service)
        before = service.resources()
        stream = begin_stream(service)
        leave_descriptors(service, 4)
        crowd = [socket.create_connection(("127.0.0.1", service.port), timeout=60) for _ in range(40)]
        crowd[0].sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert crowd[0].recv(100).startswith(b"HTTP/1.1 200")
        os.kill(service.children()[0], signal.SIGKILL)
        assert ends_whole(*stream), "it goes on in another process"
        assert service.process.poll() is None
        for client in crowd:
            client.close()
        complete(service)
        service.wait_as_before(before, 64)


def test_when_descriptors_run_out_serving_goes_on_and_new_clients_wait_for_them(start_service):
    with start_service() as service:
        complete(service)
        before = service.resources()
        stream = begin_stream(service)
        limits = leave_descriptors(service, 4)
        crowd = [socket.create_connection(("127.0.0.1", service.port), timeout=60) for _ in range(40)]
        for client in crowd:
            client.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n")
        assert crowd[0].recv(100).startswith(b"HTTP/1.1 200")
        assert ends_whole(*stream), "who is served already does not notice"
        crowd[-1].settimeout(0.5)
        with pytest.raises(TimeoutError):
            crowd[-1].recv(100)
        for client in crowd[:-1]:
            client.close()
        crowd[-1].settimeout(60)
        assert crowd[-1].recv(100).startswith(b"HTTP/1.1 200"), "who has waited is served when descriptors are free"
        crowd[-1].close()
        service.wait_until(lambda: service.status("/readyz") == 200, 30, "accepting again")
        complete(service)
        resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, limits)
        service.wait_as_before(before)


CLOCK = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static time_t back(void) { return access(getenv("TROUPE_TEST_CLOCK"), F_OK) == 0 ? %d : 0; }
int clock_gettime(clockid_t clock, struct timespec* now) {
  int failed = (int)syscall(SYS_clock_gettime, clock, now);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec -= back();
  return failed;
}
int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  int failed = (int)syscall(SYS_gettimeofday, now, zone);
  if (!failed) now->tv_sec -= back();
  return failed;
}
time_t time(time_t* out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out) *out = now.tv_sec;
  return now.tv_sec;
}
""" % YEAR


@pytest.fixture
def set_the_clock_back(tmp_path, monkeypatch):
    """Sets the time of day of services that are started later a year back, when called."""
    source, library, moment = tmp_path / "clock.c", tmp_path / "clock.so", tmp_path / "now"
    source.write_text(CLOCK)
    subprocess.run(["c++", "-x", "c", "-shared", "-fPIC", "-O1", "-o", library, source], check=True)
    monkeypatch.setenv("LD_PRELOAD", str(library))
    monkeypatch.setenv("TROUPE_TEST_CLOCK", str(moment))
    return moment.touch


def test_a_clock_that_is_set_back_changes_the_dates_that_are_told_and_nothing_else(start_service, set_the_clock_back):
    with start_service("--step-deadline", "20") as service:
        asked = {"temperature": 0, "max_tokens": 200}
        text = complete(service, **asked)["choices"][0]["text"]
        before = service.resources()
        stream = begin_stream(service, timeout=100)
        set_the_clock_back()
        told = complete(service, **asked)
        assert abs(told["created"] - (time.time() - YEAR)) < 1000, "the service does not know of the change"
        assert told["choices"][0]["text"] == text
        assert ends_whole(*stream), "no deadline is a time of day"
        assert complete(service, max_tokens=8000, timeout=0.5)["choices"][0]["stop_reason"] == "timeout"
        assert service.status("/livez") == service.status("/readyz") == 200
        service.wait_as_before(before)
