"""How soon /livez and /readyz answer: at rest, while 64 streams run, and beside floods of connections; the goal is 50 ms.

    TROUPE_BINARY=build/troupe python3 tests/bench/probes.py [--streams 64] [--seconds 20] [--pause 0.02] [--flooders 4]

Without a flood on kept connections; beside one each probe opens its own, behind those of the flood. A flood's processes open and
close connections as fast as they can, with a reset, in good order, or in good order after a byte. The port that probes have of
their own (--probe-port) is asked beside the flooded one. What the machine itself takes from a client then shows in the answers of
a plain server of its own, on a port without a flood. Prints a Markdown table: the
median and the 99th percentile of each probe, the latest, and the share later than the goal.
"""
import argparse
import concurrent.futures
import contextlib
import http.client
import json
import multiprocessing
import pathlib
import socket
import statistics
import struct
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from conftest import Service, free_port  # noqa: E402

GOAL = 0.05  # seconds
PROBES = ("/livez", "/readyz")
SPAWN = multiprocessing.get_context("spawn")  # no fork beside the streams' threads
# Not the address that a flood comes from: looking for one of its ports that is free takes the system milliseconds.
PROBER = ("127.0.0.2", 0)


def probe(port, path, until, pause, is_kept):
    """How long each answer took, one after the other."""
    connection, took = http.client.HTTPConnection("127.0.0.1", port, timeout=30, source_address=PROBER), []
    while not until():
        began = time.perf_counter()
        if not is_kept:
            connection.close()
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        took.append(time.perf_counter() - began)
        if answer.status != 200:
            sys.exit(f"{path} answers {answer.status}: these are no times of a healthy service")
        time.sleep(pause)
    connection.close()
    return took


def probe_all(port, seconds, pause, is_kept=True):
    end = time.monotonic() + seconds
    with concurrent.futures.ThreadPoolExecutor(len(PROBES)) as pool:
        return dict(zip(PROBES, pool.map(lambda path: probe(port, path, lambda: time.monotonic() > end, pause, is_kept), PROBES)))


def answer_all(listening):
    while True:
        client, _ = listening.accept()
        with client, contextlib.suppress(OSError):
            client.recv(4096)
            client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


def connect_and_close(port, words, with_reset, count):
    while True:
        with socket.socket() as each:
            if with_reset:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            try:
                each.connect(("127.0.0.1", port))
                each.sendall(words)
            except OSError:
                continue  # the port's queue is full, or the machine's ports are for a moment
        count.value += 1


class Flood:
    """Processes that open connections and close them at once, until it is left."""

    def __init__(self, port, processes, words, with_reset):
        self.counts = [SPAWN.Value("Q", lock=False) for _ in range(processes)]
        self.processes = [SPAWN.Process(target=connect_and_close, args=(port, words, with_reset, count), daemon=True)
                          for count in self.counts]

    def __enter__(self):
        for each in self.processes:
            each.start()
        return self

    def __exit__(self, *_):
        for each in self.processes:
            each.kill()
            each.join()

    def connections(self):
        return sum(count.value for count in self.counts)


def rows_beside_floods(ports, options, other_load):
    port, probe_port = ports
    listening = socket.create_server(("127.0.0.1", 0))
    plain = SPAWN.Process(target=answer_all, args=(listening,), daemon=True)
    plain.start()
    for words, with_reset, how in ((b"", True, "reset"), (b"", False, "closed in good order"), (b"x", False, "closed after a byte")):
        with Flood(port, options.flooders, words, with_reset) as flood:
            time.sleep(1)
            before, began = flood.connections(), time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                asked = [pool.submit(probe_all, each, options.seconds, options.pause, is_kept=False)
                         for each in (port, probe_port, listening.getsockname()[1])]
                took, own_took, plain_took = (each.result() for each in asked)
            rate = (flood.connections() - before) / (time.monotonic() - began)
        load = f"{other_load}{rate:.0f} connections a second of {options.flooders} processes, {how}"
        rows(load, took)
        rows(f"{load}: the probes' port", own_took)
        rows(f"{load}: the plain server", {"any": [each for times in plain_took.values() for each in times]})
    plain.kill()
    plain.join()


class Streams:
    """As many streams as asked for, each followed by the next, until it is left."""

    def __init__(self, port, count):
        self.port, self.is_over = port, threading.Event()
        self.lock, self.tokens = threading.Lock(), 0
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(count)]

    def __enter__(self):
        for each in self.threads:
            each.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        for each in self.threads:
            each.join()

    def run(self, number):
        while not self.is_over.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
            body = {"prompt": f"Story {number}:", "max_tokens": 256, "ignore_eos": True, "stream": True}
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            for line in connection.getresponse():
                if self.is_over.is_set():
                    break
                if line.startswith(b"data: {"):
                    with self.lock:
                        self.tokens += 1
            connection.close()


def rows(load, took):
    for path, times in took.items():
        ordered = sorted(times)
        late = sum(each > GOAL for each in times) / len(times)
        print(f"| {load} | `{path}` | {len(times)} | {statistics.median(times) * 1e3:.2f} ms | "
              f"{ordered[int(len(ordered) * 0.99)] * 1e3:.2f} ms | {ordered[-1] * 1e3:.2f} ms | {late:.2%} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--pause", type=float, default=0.02)
    parser.add_argument("--flooders", type=int, default=4, help="0: no flood")
    options = parser.parse_args()
    probe_port = free_port()
    flags = ["--max-num-seqs", str(options.streams), "--probe-port", str(probe_port)]
    with tempfile.TemporaryDirectory() as folder, Service(pathlib.Path(folder) / "log", *flags) as service:
        ports = service.port, probe_port
        service.wait_until(lambda: service.metric("troupe_warmup_progress") == 1, 120, "warmed up")
        print("| load | probe | answers | median | 99 % | latest | later than 50 ms |\n|---|---|---|---|---|---|---|")
        rows("at rest", probe_all(service.port, options.seconds / 4, options.pause))
        if options.flooders > 0:
            rows_beside_floods(ports, options, "")
        with Streams(service.port, options.streams) as streams:
            service.wait_until(lambda: service.metric("vllm:num_requests_running") == options.streams, 120, "at work")
            before, began = streams.tokens, time.monotonic()
            rows(f"{options.streams} streams", probe_all(service.port, options.seconds, options.pause))
            rate = (streams.tokens - before) / (time.monotonic() - began)
            if options.flooders > 0:
                rows_beside_floods(ports, options, f"{options.streams} streams, ")
        print(f"\n{rate:.0f} events a second came to the streams meanwhile")


if __name__ == "__main__":
    main()
