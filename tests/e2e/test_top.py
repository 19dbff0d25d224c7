"""troupe top: the figures of a running service in a terminal and in a pipe."""
import concurrent.futures
import contextlib
import fcntl
import http.server
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import pytest

from conftest import BINARY, MODEL, free_port
from operators_port import KEY
from test_cli import clean_environment, refused, troupe

ACTORS = ["gateway", "http_gateway", "kv_cache", "model_runner", "scheduler", "structured_output", "supervisor", "tokenizer"]


def figure(text, pattern):
    found = re.search(pattern, text)
    assert found, (pattern, text)
    return float(found[1])


def test_an_interval_that_is_no_number_of_seconds_is_refused():
    for interval in ("nan", "0", "-1", "1e9", "soon"):
        done = troupe("top", "--once", "--interval", interval)
        assert done.returncode == 2 and "--interval" in done.stderr, (interval, done.stderr)


def test_once_shows_one_interval_and_ends(service):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        request = pool.submit(service.post, "/v1/completions", {"prompt": "A long story:", "max_tokens": 3000, "ignore_eos": True, "timeout": 8})
        service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 30, "running")
        done = troupe("top", service.url, "--once", "--interval", "0.5")
        assert request.result()[0] == 200
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout, "no terminal, no escapes"
    assert re.match(r"troupe \d+\.\d+\.\d+  ready  " + MODEL.stem.removesuffix(".Q4_1") + "\n", done.stdout), done.stdout
    assert figure(done.stdout, r"running (\d+)") == 1 and figure(done.stdout, r"waiting (\d+)") == 0
    assert figure(done.stdout, r"generated ([\d.]+)/s") > 1
    assert 0 < figure(done.stdout, r"KV cache .*\] ([\d.]+) %") < 100
    assert re.search(r"between +median [\d.]+ (ms|s|us) +99 % [\d.]+ ", done.stdout)
    for actor in ACTORS:
        assert re.search(rf"^{actor} +\d+ +[\d.]+ +(-|[\d.]+ (us|ms|s)) +0$", done.stdout, re.M), (actor, done.stdout)
    assert figure(done.stdout, r"scheduler +\d+ +([\d.]+)") >= 0
    assert figure(done.stdout, r"kv_cache +\d+ +([\d.]+)") > 1, "two messages a step"
    assert all(len(line) <= 100 for line in done.stdout.splitlines())


def test_a_terminal_is_drawn_over_and_given_back(start_service):
    with start_service() as service:
        terminal, inside = pty.openpty()
        watching = subprocess.Popen([BINARY, "top", service.url, "--interval", "0.2"], stdin=inside, stdout=inside, stderr=inside,
                                    env=clean_environment(TERM="xterm"))
        os.close(inside)
        shown = b""

        def read_until(words):
            nonlocal shown
            end = time.monotonic() + 30
            while not re.search(words, shown):
                assert time.monotonic() < end and watching.poll() is None, shown
                if select.select([terminal], [], [], 0.2)[0]:
                    shown += os.read(terminal, 65536)

        read_until(rb"\x1b\[\?1049h.*\x1b\[H\x1b\[J(?s:.)*supervisor(?s:.)*\x1b\[H\x1b\[J")
        service.__exit__()
        shown = b""
        read_until(rb"no answer")
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 0
        shown += os.read(terminal, 65536)
        assert shown.endswith(b"\x1b[?25h\x1b[?1049l"), shown
        os.close(terminal)


def test_q_ends_it_and_the_terminal_is_as_before(service):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(BINARY, ["troupe", "top", service.url, "--interval", "0.2"], clean_environment(TERM="xterm"))
    shown, end = b"", time.monotonic() + 30

    def read():
        nonlocal shown
        assert select.select([terminal], [], [], end - time.monotonic())[0], shown
        shown += os.read(terminal, 65536)

    while b"supervisor" not in shown:
        read()
    assert not termios.tcgetattr(terminal)[3] & termios.ECHO
    os.write(terminal, b"xyzzyq")
    with contextlib.suppress(OSError):  # nobody has the terminal any more
        while True:
            read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert shown.endswith(b"\x1b[?25h\x1b[?1049l"), shown
    assert b"xyzzy" not in shown, "keys are not echoed"
    assert termios.tcgetattr(terminal)[3] & termios.ECHO
    os.close(terminal)


def test_it_ends_when_nobody_reads_it_any_more(service):
    watching = subprocess.Popen([BINARY, "top", service.url, "--interval", "0.1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=clean_environment(TERM="xterm"), text=True)
    watching.stdout.read(10)
    watching.stdout.close()
    assert watching.wait(20) == 1
    assert "could not be written" in watching.stderr.read()
    watching.stderr.close()


@pytest.mark.parametrize("ends", [b"q", signal.SIGINT, signal.SIGHUP])
def test_it_ends_at_once_while_the_service_does_not_answer(start_service, ends):
    with start_service() as service:
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(BINARY, ["troupe", "top", service.url, "--interval", "0.1"], clean_environment(TERM="xterm"))
        shown = b""
        while b"supervisor" not in shown:
            assert select.select([terminal], [], [], 30)[0], shown
            shown += os.read(terminal, 65536)
        service.process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(0.5)  # it has asked by now
            began = time.monotonic()
            os.write(terminal, ends) if isinstance(ends, bytes) else os.kill(pid, ends)
            with contextlib.suppress(OSError):
                while select.select([terminal], [], [], 30)[0]:
                    shown += os.read(terminal, 65536)
            assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
            assert time.monotonic() - began < 2, "the service has not answered yet"
            assert shown.endswith(b"\x1b[?25h\x1b[?1049l"), shown
        finally:
            service.process.send_signal(signal.SIGCONT)
            os.close(terminal)


def test_a_terminal_that_cannot_be_drawn_over_gets_one_view_after_the_other(service):
    terminal, inside = pty.openpty()
    done = subprocess.Popen([BINARY, "top", service.url, "--interval", "0.1"], stdin=subprocess.DEVNULL, stdout=inside, env=clean_environment(TERM="dumb"))
    os.close(inside)
    shown = b""
    while shown.count(b"supervisor") < 2:
        assert select.select([terminal], [], [], 30)[0], shown
        shown += os.read(terminal, 65536)
    done.send_signal(signal.SIGINT)
    assert done.wait(10) == 0 and b"\x1b" not in shown
    os.close(terminal)


def test_a_service_that_is_not_there_is_one_line():
    port = free_port()
    refused(troupe("top", f"127.0.0.1:{port}"), 1, str(port), "refused")


@pytest.mark.parametrize("url", ["https://127.0.0.1:1", "http://", "127.0.0.1:x", "http://[::1", ":80", "a:123456", "a:86566", "a:65536", "a:0"])
def test_an_address_that_is_none_is_refused(url):
    refused(troupe("top", url), 2, url, "http://127.0.0.1:8000")


def test_with_the_operators_key_the_tree_of_actors_is_shown(start_service, operators):
    with start_service(*operators.flags) as service:
        admin = f"http://127.0.0.1:{operators.port}"
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            request = pool.submit(service.post, "/v1/completions", {"prompt": "A long story:", "max_tokens": 3000, "ignore_eos": True, "timeout": 8})
            service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 30, "running")
            done = troupe("top", service.url, "--once", "--interval", "0.5", "--admin", admin, "--admin-key-file", operators.key_file)
            assert request.result()[0] == 200
        assert (done.returncode, done.stderr) == (0, "")
        assert figure(done.stdout, r"generated ([\d.]+)/s") > 1, "the rest is there as ever"
        assert re.search(r"^company +one_for_one +0$", done.stdout, re.M), done.stdout
        assert re.search(r"^  requests +rest_for_one +0$", done.stdout, re.M), done.stdout
        assert figure(done.stdout, r"\n    scheduler +running +\d+ +([\d.]+) ") >= 0
        assert figure(done.stdout, r"\n      kv_cache +running +\d+ +([\d.]+) ") > 1, "two messages a step"
        assert figure(done.stdout, r"\n  model_runner +running +\d+ +[\d.]+ +([\d.]+) s") < 30
        assert all(len(line) <= 100 for line in done.stdout.splitlines())
        by_variable = troupe("top", service.url, "--once", "--interval", "0.1", "--admin", admin, TROUPE_ADMIN_KEY=KEY)
        assert "one_for_one" in by_variable.stdout
        stranger = troupe("top", service.url, "--once", "--interval", "0.1", "--admin", admin, TROUPE_ADMIN_KEY="not-the-right-key")
        assert stranger.returncode == 1 and "operators' port: answers 401" in stranger.stdout
        assert re.search(r"^scheduler +\d+", stranger.stdout, re.M), "the metrics tell of them all the same"


def test_a_small_terminal_has_all_columns_and_does_not_scroll(start_service, operators):
    with start_service(*operators.flags) as service:
        terminal, inside = pty.openpty()
        fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        watching = subprocess.Popen([BINARY, "top", service.url, "--interval", "0.3", "--admin", f"http://127.0.0.1:{operators.port}",
                                     "--admin-key-file", str(operators.key_file)], stdin=inside, stdout=inside, stderr=inside,
                                    env=clean_environment(TERM="xterm"))
        os.close(inside)
        shown, end = b"", time.monotonic() + 30
        while shown.count(b"\x1b[H\x1b[J") < 3:
            assert time.monotonic() < end and watching.poll() is None, shown
            if select.select([terminal], [], [], 0.2)[0]:
                shown += os.read(terminal, 65536)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(10) == 0
        os.close(terminal)
    screen = shown.split(b"\x1b[H\x1b[J")[1].decode().split("\r\n")
    assert screen.pop() == "" and len(screen) < 24 and max(map(len, screen)) <= 80, screen
    assert any(re.search(r"^actor +state +mailbox +messages/s +last +restarts$", line) for line in screen), screen
    assert any(re.search(r"^ *patient grammar_compiler +running +\d+ +[\d.]+ +(-|[\d.]+ s) +0$", line) for line in screen), screen
    assert any(re.search(r"^ *http_gateway \d+ +running", line) for line in screen), screen


class ServiceOfOneActor(http.server.BaseHTTPRequestHandler):
    """Has handled 5000 messages long ago, and tells of it from the second question on."""
    questions = 0

    def do_GET(self):
        status, body = 200, "troupe_actors 1\n"
        if self.path == "/admin/actors":
            type(self).questions += 1
            status = 200 if self.questions > 1 else 503
            actor = {"name": "scheduler", "state": "running", "mailbox": 0, "restarts": 0, "last_message_age_seconds": 900,
                     "handled": {"submit": 5000}}
            body = json.dumps({"supervisor": actor | {"name": "supervisor"}, "tree": actor})
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def test_an_actor_that_was_not_told_of_before_has_no_rate():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), ServiceOfOneActor) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        done = troupe("top", url, "--once", "--interval", "0.1", "--admin", url, TROUPE_ADMIN_KEY=KEY)
        server.shutdown()
    assert done.returncode == 0 and ServiceOfOneActor.questions == 2, done
    assert re.search(r"^scheduler +running +0 +- +900 s +0$", done.stdout, re.M), done.stdout


def ask_with_top(answers, host="127.0.0.1"):
    """One look of top at a service with these answers, {path: (status, body)}; and the names by which it was asked."""
    names = set()

    class Answering(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            names.add(self.headers["Host"])
            status, body = answers[self.path]
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in host else socket.AF_INET

    with Server((host, 0), Answering) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        authority = f"[{host}]:{server.server_port}" if ":" in host else f"{host}:{server.server_port}"
        done = troupe("top", "http://" + authority, "--once", "--interval", "0.1")
        server.shutdown()
    return done, names == {authority}


READY, NO_METRICS = {"/readyz": (200, b"{}")}, {"/metrics": (200, b"")}


@pytest.mark.parametrize("message", [b"null", b"5", b"{}"])
def test_a_reason_that_is_no_text_is_none(message):
    done, _ = ask_with_top({"/readyz": (503, b'{"error": {"message": %b}}' % message), **NO_METRICS})
    assert done.returncode == 0 and "not ready: it does not say why" in done.stdout, done


def test_figures_that_are_no_numbers_are_shown_as_none():
    done, _ = ask_with_top({**READY, "/metrics": (200, b"vllm:kv_cache_usage_perc NaN\ntroupe_last_step_age_seconds NaN\n"
                                                       b"vllm:num_requests_running +Inf\nvllm:prefix_cache_hits_total NaN\n")})
    assert done.returncode == 0 and f"KV cache   [{'.' * 30}] -" in done.stdout, done


def test_what_a_service_says_does_not_reach_the_terminal_as_more_than_text():
    said = json.dumps({"error": {"message": "\x1b]0;title\x07\x1b[2Jline\nsecond" + "x" * 1000}}).encode()
    for metrics in (b"", b"troupe_ready 0\n"):
        done, _ = ask_with_top({"/readyz": (503, said), "/metrics": (200, metrics)})
        assert done.returncode == 0 and "?]0;title??[2Jline?second" in done.stdout, done
        assert "\x1b" not in done.stdout and "\x07" not in done.stdout and max(map(len, done.stdout.splitlines())) <= 100


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_service_is_asked_by_its_name_as_in_the_url(host):
    with contextlib.closing(socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            pytest.skip(f"this machine has no {host}")
    done, is_named_so = ask_with_top({**READY, **NO_METRICS}, host)
    assert done.returncode == 0 and is_named_so, done


def test_without_a_key_the_operators_port_is_not_asked():
    refused(troupe("top", "127.0.0.1:1", "--admin", "127.0.0.1:2"), 78, "--admin", "TROUPE_ADMIN_KEY")
