"""What a scrape of /metrics costs a service at rest and under load: wall time of the scrape, and what the load loses by it.

    TROUPE_BINARY=build/troupe python3 tests/bench/scrape.py [--clients 8] [--rounds 5] [--seconds 4]

Rounds without scrapes and with ten a second alternate; medians of the rounds.
"""
import argparse
import concurrent.futures
import http.client
import json
import pathlib
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from conftest import Service  # noqa: E402


def scrape(connection):
    began = time.monotonic()
    connection.request("GET", "/metrics")
    size = len(connection.getresponse().read())
    return time.monotonic() - began, size


def scrapes(port, until, pause):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    took = []
    while not until():
        took.append(scrape(connection)[0])
        time.sleep(pause)
    connection.close()
    return took


def spread(took):
    ordered = sorted(took)
    return f"median {statistics.median(took) * 1e3:.2f} ms, 99 % {ordered[int(len(ordered) * 0.99)] * 1e3:.2f} ms, of {len(took)}"


def load(service, clients, seconds, scraping):
    """Tokens a second, and how long the scrapes took."""
    end = time.monotonic() + seconds

    def ask(i):
        while time.monotonic() < end:
            service.post("/v1/completions", {"prompt": f"Story {i}:", "max_tokens": 64, "ignore_eos": True})

    took = []
    before, began = service.metric("vllm:generation_tokens_total"), time.monotonic()
    watcher = threading.Thread(target=lambda: took.extend(scrapes(service.port, lambda: time.monotonic() > end, 0.1)))
    if scraping:
        watcher.start()
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        list(pool.map(ask, range(clients)))
    elapsed = time.monotonic() - began
    if scraping:
        watcher.join()
    return (service.metric("vllm:generation_tokens_total") - before) / elapsed, took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Service(pathlib.Path(folder) / "log") as service:
        service.wait_until(lambda: service.metric("troupe_warmup_progress") == 1, 120, "warmed up")
        connection = http.client.HTTPConnection("127.0.0.1", service.port)
        print(f"/metrics: {scrape(connection)[1]} bytes")
        print(f"at rest: {spread([scrape(connection)[0] for _ in range(200)])}")
        connection.close()
        plain, watched, took = [], [], []
        for _ in range(options.rounds):
            plain.append(load(service, options.clients, options.seconds, False)[0])
            rate, times = load(service, options.clients, options.seconds, True)
            watched.append(rate)
            took += times
        print(f"under load of {options.clients} streams: {spread(took)}")
        print(f"tokens/s without scrapes {statistics.median(plain):.1f}, with ten a second {statistics.median(watched):.1f}, "
              f"ratio {statistics.median(watched) / statistics.median(plain):.3f}; rounds {json.dumps([round(v, 1) for v in plain + watched])}")


if __name__ == "__main__":
    main()
