"""A real service with the real model for the end-to-end tests."""
import contextlib
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import pytest
from operators_port import Operators
from prometheus_client.parser import text_string_to_metric_families

# What the programs under test keep between their starts is not the user's.
CACHE = tempfile.TemporaryDirectory(prefix="troupe-cache-")
os.environ["XDG_CACHE_HOME"] = CACHE.name

# Who runs the tests in a shell's background has it ignored; a program that is started so may ignore it too, and a shell must.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "examples"))  # for tcp_client
BINARY = os.environ.get("TROUPE_BINARY", str(ROOT / "build" / "troupe"))
MODEL = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"


KV_BYTES_PER_TOKEN = 30 * 3 * 64 * 2 * 2  # of that model in f16: layers, KV heads, head size, K and V, bytes


# Below the ports that the kernel gives to clients, and never one twice: nobody takes it before the service has it.
PORTS = iter(random.SystemRandom().sample(range(10000, 32768), 20000))


def free_port():
    for port in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise OSError("no free port is left between 10000 and 32768")


def end(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class Service:
    """`troupe serve` as a child process. Use as a context manager; leaves nothing behind."""

    def __init__(self, log_path, *flags, prefix=(), output=None):
        """`prefix`: a command that executes the rest of its arguments. `output`: where the log goes, if not to log_path."""
        self.port, self.tcp_port = free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log_path = log_path
        # Faults on purpose are in a program of their own (actors/chaos.hpp).
        binary = BINARY + "-chaos" if os.environ.get("TROUPE_CHAOS") else BINARY
        command = [binary, "serve", "--model", str(MODEL), "--port", str(self.port), "--tcp-port", str(self.tcp_port)]
        pathlib.Path(log_path).touch()
        with open(output or log_path, "wb") as log:
            # Tests that tune say so.
            environment = {"TROUPE_TUNING_FILE": "off", **os.environ}
            self.process = subprocess.Popen([*prefix, *command, *flags], stdout=log, stderr=log, env=environment)

    def __enter__(self):
        self.wait_until(lambda: self.status("/readyz") == 200, 120, "ready")
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise

    def signal_again(self, number=signal.SIGTERM):
        """Signals that come within half a second are one, by the time at which the service sees them."""
        time.sleep(1.5)
        self.process.send_signal(number)

    def status(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=30) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            return answer.read().decode()

    def post(self, path, body, headers=None, timeout=120):
        """The status and the JSON of the answer, which may take so many seconds. The body: bytes, text, or what becomes JSON."""
        text = body if isinstance(body, (bytes, str)) else json.dumps(body)
        data = text.encode() if isinstance(text, str) else text
        headers = {"Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.url + path, data, headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def metric(self, name, **labels):
        """The sum over the labels of one sample name, or over those samples that have these labels."""
        # All of them take 50 ms to be read, and this is asked again and again.
        lines = [line for line in self.get("/metrics").splitlines() if line.startswith(name)]
        samples = [s for family in text_string_to_metric_families("\n".join(lines) + "\n") for s in family.samples]
        values = [s.value for s in samples if s.name == name and labels.items() <= s.labels.items()]
        assert values, f"/metrics has no {name}"
        return sum(values)

    def restarts(self, actor):
        return self.metric("troupe_actor_restarts_total", actor=actor)

    def children(self):
        """The numbers of the processes that the service has started."""
        found = []
        for task in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread has ended meanwhile
                found += map(int, (task / "children").read_text().split())
        return found

    def open_descriptors(self, pid=None):
        return len(os.listdir(f"/proc/{pid or self.process.pid}/fd"))

    def resources(self):
        """What every fault must leave as it was, of a service that has nothing to do: blocks in use, actors, processes, and
        of all these the descriptors and the MiB of memory in use; beside these the tokens that it has computed."""
        self.wait_idle()
        processes = [self.process.pid, *self.children()]
        resident = sum(int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in processes)
        return {"blocks": self.metric("vllm:kv_cache_usage_perc"), "tokens": self.tokens(), "actors": self.metric("troupe_actors"),
                "processes": len(processes), "descriptors": sum(map(self.open_descriptors, processes)),
                "memory": resident * os.sysconf("SC_PAGE_SIZE") >> 20}

    def tokens(self):
        return self.metric("vllm:prompt_tokens_total") + self.metric("vllm:generation_tokens_total")

    def wait_as_before(self, before, mebibytes=32):
        """Until resources() are those again, memory within so many MiB: what an allocator keeps for the next time. What KV
        memory was written to for the first time since stays too."""
        now = {}
        mebibytes += int(max(self.tokens() - before["tokens"], 0) * KV_BYTES_PER_TOKEN) >> 20

        def is_back():
            nonlocal now
            try:
                now = self.resources()
            except (FileNotFoundError, ProcessLookupError):  # a process has ended meanwhile
                return False
            return now["memory"] <= before["memory"] + mebibytes and all(
                now[name] <= before[name] for name in ("blocks", "actors", "processes", "descriptors"))

        end = time.monotonic() + 30
        while not is_back():
            assert time.monotonic() < end, f"{now} is not {before} again"
            time.sleep(0.1)

    def wait_until(self, condition, seconds, what):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.process.poll() is not None:
                pytest.fail(f"the service ended with {self.process.returncode} before it was {what}:\n{self.log()}")
            if condition():
                return
            time.sleep(0.05)
        pytest.fail(f"the service was not {what} within {seconds} s:\n{self.log()}")

    def wait_idle(self):
        """Until no request is left and every block is back."""
        names = ["vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc"]
        self.wait_until(lambda: all(self.metric(name) == 0 for name in names), 60, "idle")

    def log(self):
        return pathlib.Path(self.log_path).read_text(errors="replace")[-20000:]


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    with Service(tmp_path_factory.mktemp("service") / "log") as running:
        yield running


@pytest.fixture
def start_service(tmp_path):
    """Starts further services with flags of the test's choice."""
    started = []

    def start(*flags, **how):
        started.append(Service(tmp_path / f"log{len(started) + 1}", *flags, **how))
        return started[-1]

    yield start
    for service in started:  # of a test that has failed before its `with`
        if service.process.poll() is None:
            service.process.kill()
            service.process.wait()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The resources of a service that has just started: for faults that come before there is anything to compare."""
    with Service(tmp_path_factory.mktemp("undisturbed") / "log") as fresh:
        return fresh.resources()


@pytest.fixture
def operators(tmp_path):
    return Operators(free_port(), tmp_path)
