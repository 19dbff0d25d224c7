#!/usr/bin/env python3
"""A long run that wants the service to lose something: 16 clients, some of whom leave in the midst of an answer, while the
model's runner is killed every 30 seconds.

    tests/bench/soak.py [MINUTES]        20 when none are given; half of them for each mode of isolation

With a process of its own the runner is killed (signal 9). Without, it meets an exception (TROUPE_CHAOS, which
`troupe-chaos` alone meets). Every answer is compared with that of a run without faults, and the memory of all processes of
the service is read every few seconds, or before each kill, when every runner is of the same age: its slope over the requests,
after the first fifth of the time, is what leaks.
Prints a Markdown table; ends with 1 where a request was lost, a token differed, memory grew by 1 MB per 1,000 requests or could
not be judged, or the runner was never restarted, so that nothing is proven.
"""
import concurrent.futures
import http.client
import itertools
import json
import os
import pathlib
import random
import signal
import statistics
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from conftest import Service  # noqa: E402

CLIENTS = 16
SECONDS_BETWEEN_KILLS = 30
MOST_BYTES_A_REQUEST = 1000
PROMPTS = ["Tell me about rivers.", "Count from one to thirty.", "Write a poem about tea.", "What is a clock?",
           "Explain snow to a child.", "Name ten animals.", "List the planets.", "Say hello in ten ways."]


def body_of(kind):
    """The request of a kind; there are 64 of them."""
    sampling = {"temperature": 0} if kind % 2 == 0 else {"temperature": 0.9, "seed": kind}
    grammar = {"structured_outputs": {"regex": "[a-z ]{40}"}} if kind % 16 == 5 else {}
    return {"messages": [{"role": "user", "content": PROMPTS[kind % len(PROMPTS)] + " " * (kind // 16)}],
            "max_tokens": 20 + 5 * (kind // 8), "stream": True, **sampling, **grammar}


def stream(port, kind, leave_after=None):
    """The text and the reason of the end; None where the client left after so many events."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body_of(kind)), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            return answer.read().decode(), f"status {answer.status}"
        text, reason = "", "no end"
        for events, line in enumerate(answer):
            if not line.startswith(b"data: {"):
                continue
            if leave_after is not None and events > leave_after:
                return None
            event = json.loads(line[6:])
            if "error" in event:
                return text, event["error"]["message"]
            text += event["choices"][0]["delta"].get("content") or ""
            reason = event["choices"][0]["finish_reason"] or reason
        return text, reason
    finally:
        connection.close()


def children(pid):
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def memory(pid):
    """
    Bytes of each process of the service, its own first, what they share divided among them; None while one of them comes or
    goes. Without the pages of files: how many of these count as its own depends on who else has the same program and model
    open.
    """
    each_bytes = []
    try:
        for each in [pid, *children(pid)]:
            rollup = pathlib.Path(f"/proc/{each}/smaps_rollup").read_text()
            kinds = {line.split(":")[0]: line.split()[1] for line in rollup.splitlines()[1:]}
            each_bytes.append(1024 * (int(kinds["Pss_Anon"]) + int(kinds["Pss_Shmem"])))
    except (OSError, KeyError):
        return None
    return each_bytes


class Soak:
    def __init__(self, service, expected, isolated, seconds):
        self.service, self.expected, self.isolated = service, expected, isolated
        self.end = time.monotonic() + seconds
        self.lock = threading.Lock()
        self.answers = self.left = self.kills = 0
        self.lost, self.wrong, self.memory = [], [], []

    def client(self, number):
        chance = random.Random(number)
        while time.monotonic() < self.end:
            kind = chance.randrange(len(self.expected))
            told = stream(self.service.port, kind, chance.randrange(20) if chance.random() < 0.2 else None)
            with self.lock:
                if told is None:
                    self.left += 1
                    continue
                self.answers += 1
                if told[1] not in ("stop", "length"):
                    self.lost.append((kind, told))
                elif told != self.expected[kind]:
                    self.wrong.append((kind, told, self.expected[kind]))

    def kill(self):
        while time.monotonic() + SECONDS_BETWEEN_KILLS < self.end:
            time.sleep(SECONDS_BETWEEN_KILLS)
            self.note_memory()
            for child in children(self.service.process.pid):
                os.kill(child, signal.SIGKILL)
                self.kills += 1

    def watch(self):
        while time.monotonic() < self.end:
            time.sleep(5)
            self.note_memory()

    def note_memory(self):
        now = memory(self.service.process.pid)
        if now is not None and len(now) == 1 + self.isolated:  # the runner is there
            with self.lock:
                self.memory.append((self.answers + self.left, sum(now), now[0]))

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(CLIENTS + 1) as pool:
            beside = self.kill if self.isolated else self.watch
            work = [pool.submit(self.client, i) for i in range(CLIENTS)] + [pool.submit(beside)]
            for each in work:
                each.result()
        self.service.wait_idle()

    def slopes(self):
        """Bytes a request: of all processes, and of the service's own."""
        settled = self.memory[len(self.memory) // 5:]
        if len(settled) < 3:
            return float("nan"), float("nan")
        requests, all_of_it, own = zip(*settled)
        return tuple(statistics.linear_regression(requests, each).slope for each in (all_of_it, own))


def restarts(service):
    lines = [line for line in service.get("/metrics").splitlines()
             if line.startswith("troupe_actor_restarts_total") and 'actor="model_runner"' in line]
    return int(sum(float(line.rsplit(" ", 1)[1]) for line in lines))


def faults(soak, restarted, slope):
    """What the run shows that must not be, in words."""
    found = [f"lost: {each}" for each in soak.lost[:5]] + [f"other tokens: {each}" for each in soak.wrong[:5]]
    if restarted == 0:
        found.append("the runner was never restarted")
    if not slope < MOST_BYTES_A_REQUEST:  # nor where it is no number
        found.append(f"memory grew by {slope:.0f} bytes a request; less than {MOST_BYTES_A_REQUEST} is allowed")
    return found


def main():
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 20
    folder = pathlib.Path(tempfile.mkdtemp(prefix="troupe-soak-"))
    logs = (folder / f"{i}.log" for i in itertools.count())
    with Service(next(logs)) as service:
        expected = [stream(service.port, kind) for kind in range(64)]
    print(f"{CLIENTS} clients, {minutes / 2:g} minutes each; logs in {folder}\n")
    print("| isolation | answers | left early | runner restarts | lost | other tokens | memory, bytes a request | "
          "without the runner's process |")
    print("|---|---|---|---|---|---|---|---|")
    failed = False
    for isolation in ("process", "none"):
        # Steps take some 20 ms with all clients at work.
        os.environ["TROUPE_CHAOS"] = "model_runner:throw:1500" if isolation == "none" else ""
        # So little that all of it has been written once before the memory is looked at.
        with Service(next(logs), "--kv-cache-memory", "64MiB", "--runner-isolation", isolation) as service:
            soak = Soak(service, expected, isolation == "process", minutes * 30)
            soak.run()
            restarted, (slope, own_slope) = restarts(service), soak.slopes()
            print(f"| {isolation} | {soak.answers} | {soak.left} | {restarted} | {len(soak.lost)} | "
                  f"{len(soak.wrong)} | {slope:.0f} | {own_slope:.0f} |", flush=True)
        found = faults(soak, restarted, slope)
        for each in found:
            print(f"    {each}", file=sys.stderr)
        failed = failed or bool(found)
    sys.exit(failed)


if __name__ == "__main__":
    main()
