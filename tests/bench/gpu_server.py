"""`troupe serve` as tests/bench/gpu.py runs it: on loopback, ended with its runner whatever becomes of the measurement."""
import contextlib
import http.client
import json
import pathlib
import re
import signal
import subprocess
import threading
import time

import gpu_build
import gpu_process
from gpu_process import GRACE, Failed, LeftOut

RUNNER = "troupe-runner"
ADDRESS = re.compile(r"HTTP on http://127\.0\.0\.1:(\d+)")
PATIENCE = 120.0  # seconds for one answer
LONGEST_START, LONGEST_END = 240.0, 12.0  # seconds
OPTIONS = ["--port", "0", "--tcp-port", "-1", "--served-model-name", "service", "--log-format", "json", "--log-requests", "failed",
           "--tuning-file", "off", "--shutdown-grace", "2s"]


def message_of(line):
    """Of a line of the log: its level and what it says. What libraries say is no JSON."""
    try:
        told = json.loads(line)
        return told["level"], told["message"]
    except (ValueError, KeyError, TypeError):
        return "warn", line


def at_once(calls):
    """What each gives, or the first failure. Nobody waits for the threads where this one is interrupted."""
    results, failures = [None] * len(calls), []

    def one(number, call):
        try:
            results[number] = call()
        except Exception as why:
            failures.append(why)

    threads = [threading.Thread(target=one, args=each, daemon=True) for each in enumerate(calls)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    if failures:
        raise failures[0]
    return results


class Server:
    def __init__(self, run, child, log):
        """`run`: whose time is spent. `log`: (time, level, message) of each line, as it comes."""
        self.run, self.child, self.process, self.log = run, child, child.process, log
        self.begun, self.port = time.monotonic(), None

    # ---- what it is at ----

    def lives(self):
        if self.process.poll() is not None:
            self.child.hear_out()  # its reason is the last that it says
            told = [message for _, level, message in self.log if level != "info"] or [message for _, _, message in self.log]
            raise Failed(f"the server has ended with code {self.process.returncode}: {told[-1] if told else 'it said nothing'}")

    def wait_until(self, condition, longest, what):
        bound = self.run.limit(longest)
        deadline = time.monotonic() + bound
        while not (found := condition()):
            self.lives()
            if time.monotonic() > deadline:
                raise self.late(f"the server was not {what} within {bound:.0f} s", bound, longest)
            time.sleep(0.01)
        return found

    def late(self, what, bound, longest):
        return Failed(what) if bound >= longest else LeftOut(f"{what}: no time was left")

    def said(self, pattern, since=0.0):
        """(time, message) of the first that matches."""
        return next(((at, message) for at, _, message in list(self.log) if at >= since and re.search(pattern, message)), None)

    def warnings(self, since=0.0):
        return [message for at, level, message in list(self.log) if at >= since and level != "info"]

    def wait_ready(self):
        """Seconds since it was started."""
        address = self.wait_until(lambda: self.said(ADDRESS.pattern), LONGEST_START, "listening")
        self.port = int(ADDRESS.search(address[1])[1])
        self.wait_until(lambda: self.get("/readyz")[0] == 200, LONGEST_START, "ready")
        return time.monotonic() - self.begun

    def runner(self):
        """The process that has the model: the child of that name."""
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                name, rest = (folder / "stat").read_text().partition("(")[2].rsplit(")", 1)
                if name == RUNNER and int(rest.split()[1]) == self.process.pid and rest.split()[0] != "Z":
                    return int(folder.name)
        return None

    # ---- asking it ----

    @contextlib.contextmanager
    def exchange(self, method, path, body=None):
        """The answer, of which each piece has its time."""
        if self.run.left() < GRACE + 2:
            raise LeftOut(f"no time was left to ask for {path}")
        bound = self.run.limit(PATIENCE)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=bound)
        try:
            connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"} if body else {})
            yield connection.getresponse()
        except TimeoutError:
            raise self.late(f"no answer to {path} within {bound:.0f} s", bound, PATIENCE) from None
        except (OSError, http.client.HTTPException, LookupError, TypeError, AttributeError) as why:
            with contextlib.suppress(Exception):
                self.process.wait(GRACE)  # who cuts its answers off may be about to end
            self.lives()
            raise Failed(f"{path}: {type(why).__name__}: {why}") from None
        finally:
            connection.close()

    def get(self, path):
        with self.exchange("GET", path) as answer:
            return answer.status, answer.read().decode(errors="replace")

    def metric(self, name):
        """The sum over its labels."""
        found = re.findall(rf"^{re.escape(name)}(?:{{.*}})? (\S+)$", self.get("/metrics")[1], re.MULTILINE)
        if not found:
            raise Failed(f"/metrics has no {name}")
        return sum(map(float, found))

    def tokens(self, body):
        """Of the answer to a completion."""
        with self.exchange("POST", "/v1/completions", body) as answer:
            refuse_other_than_200(answer)
            choice = json.loads(answer.read())["choices"][0]
            return checked(choice["token_ids"], choice["finish_reason"], body)

    def stream(self, body, on_event):
        """The same, event by event: `on_event` is told how many tokens there are so far."""
        tokens, reason, deadline = [], None, time.monotonic() + self.run.limit(PATIENCE)
        with self.exchange("POST", "/v1/completions", {**body, "stream": True}) as answer:
            refuse_other_than_200(answer)
            for line in answer:
                if time.monotonic() > deadline:
                    raise TimeoutError
                if not line.startswith(b"data: {"):
                    continue
                event = json.loads(line[6:])
                choice = event["choices"][0] if event.get("choices") else {"finish_reason": event.get("error")}
                tokens += choice.get("token_ids") or []
                reason = choice["finish_reason"] or reason
                on_event(len(tokens))
        return checked(tokens, reason, body)

    # ---- its end ----

    def end(self):
        self.lives()
        self.process.send_signal(signal.SIGTERM)
        bound = self.run.limit(LONGEST_END)
        deadline = time.monotonic() + bound
        while self.process.poll() is None:
            if time.monotonic() > deadline:
                raise self.late(f"the server had not ended {bound:.0f} s after SIGTERM", bound, LONGEST_END)
            time.sleep(0.01)
        if self.process.returncode != 0:
            raise Failed(f"the server ended with code {self.process.returncode} after SIGTERM")


def refuse_other_than_200(answer):
    if answer.status != 200:
        raise Failed(f"a completion was answered {answer.status}: {answer.read()[:300].decode(errors='replace')}")


def checked(tokens, reason, body):
    if reason != "length" or len(tokens) != body["max_tokens"]:
        raise Failed(f"an answer of {body['max_tokens']} tokens ended with {len(tokens)}: {reason}")
    return tokens


@contextlib.contextmanager
def serving(run, name, model, *options):
    """Starts a server; all that it says is in DIR/service.NAME.log."""
    lines = []
    with open(run.out / f"service.{name.replace(' ', '-')}.log", "w", buffering=1) as file:
        def keep(line):
            file.write(line + "\n")
            lines.append((time.monotonic(), *message_of(line)))

        with gpu_process.running([run.troupe, "serve", "--model", model, "--device", run.device, *OPTIONS, *options], on_output=keep,
                                 stderr=subprocess.STDOUT, env=gpu_build.library_environment(run.troupe, run.python)) as child:
            yield Server(run, child, lines)
