#!/usr/bin/env python3
"""How long a stream pauses when the model's runner ends under it; prints a Markdown table.

    tests/bench/restart.py [ROUNDS]        5 when none are given

One client streams; after a second the runner's process is killed. The pause is the longest time between two events, the
table has its median and its largest over the rounds, beside the longest of undisturbed streams. Tokens must be the same.
"""
import http.client
import json
import os
import pathlib
import signal
import statistics
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from soak import Service, children  # noqa: E402

BODY = {"messages": [{"role": "user", "content": "Write a long story about a river."}], "max_tokens": 300, "temperature": 0,
        "stream": True}


def stream(port):
    """The text, and the longest time between two events in seconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("POST", "/v1/chat/completions", json.dumps(BODY), {"Content-Type": "application/json"})
    text, times = "", []
    for line in connection.getresponse():
        if line.startswith(b"data: {"):
            times.append(time.perf_counter())
            text += json.loads(line[6:])["choices"][0]["delta"].get("content") or ""
    connection.close()
    return text, max(b - a for a, b in zip(times, times[1:]))


def disturbed(service):
    def kill():
        time.sleep(1)
        for child in children(service.process.pid):
            os.kill(child, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    told = stream(service.port)
    killer.join()
    return told


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    with Service(pathlib.Path(tempfile.mkdtemp(prefix="troupe-restart-")) / "log") as service:
        expected, _ = stream(service.port)
        pauses = {"undisturbed": [], "killed": []}
        for _ in range(rounds):
            for name, run in (("undisturbed", lambda: stream(service.port)), ("killed", lambda: disturbed(service))):
                text, pause = run()
                assert text == expected, "other tokens"
                pauses[name].append(pause)
    print("| stream | longest pause, median | largest |\n|---|---|---|")
    for name, seconds in pauses.items():
        print(f"| {name} | {statistics.median(seconds):.3f} s | {max(seconds):.3f} s |")


if __name__ == "__main__":
    main()
