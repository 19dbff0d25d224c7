"""The operators' port of a real service: the key, the actors, the log level, the drain."""
import http.client
import os
import pty
import signal
import subprocess
import time

import pytest

from conftest import BINARY, MODEL
from operators_port import KEY
from test_cli import clean_environment, refused, troupe
from test_signals import begin_stream, was_cut_off
from test_warm_up import SMALL


def test_nothing_is_told_without_the_key(start_service, operators):
    with start_service(*operators.flags) as service:
        for key in [None, "another-key-0123456789", KEY + "x"]:
            for path, body in [("/admin/actors", None), ("/admin/drain", {}), ("/admin/log-level", {"level": "debug"}), ("/", None)]:
                status, answer, headers = operators.ask(path, body, key)
                assert status == 401 and headers["WWW-Authenticate"].startswith("Bearer"), (path, key)
                assert answer["error"]["code"] == "invalid_api_key"
        assert operators.ask("/admin/nothing")[0] == 404
        status, _, headers = operators.ask("/admin/drain")
        assert status == 405 and headers["Allow"] == "POST"
        assert service.status("/readyz") == 200 and service.status("/admin/actors") == 404, "not on the clients' port"
        assert "without the right key" in service.log() and KEY not in service.log() and "another-key" not in service.log()


def test_of_two_keys_in_one_request_none_counts(start_service, operators):
    with start_service(*operators.flags):
        for keys in ([KEY, "another-key-0123456789"], ["another-key-0123456789", KEY], [KEY, KEY]):
            connection = http.client.HTTPConnection("127.0.0.1", operators.port, timeout=20)
            connection.putrequest("GET", "/admin/actors")
            for key in keys:
                connection.putheader("Authorization", f"Bearer {key}")
            connection.endheaders()
            assert connection.getresponse().status == 401, keys
            connection.close()


def test_the_actors_are_told_with_what_they_have_handled(start_service, operators):
    with start_service(*operators.flags) as service:
        assert service.post("/v1/completions", {"prompt": "Once", "max_tokens": 5, "ignore_eos": True})[0] == 200
        actors = operators.actors()
        for role in ["model_runner", "scheduler", "kv_cache", "structured_output", "tokenizer 0", "text worker", f"http_gateway {service.port}"]:
            assert actors[role]["state"] == "running" and actors[role]["restarts"] == 0, (role, actors[role])
        assert actors["scheduler"]["handled"]["submit"] == 1
        assert actors["model_runner"]["handled"]["run_step"] >= 5
        assert 0 <= actors["scheduler"]["last_message_age_seconds"] < 60
        tree = operators.ask("/admin/actors")[1]["tree"]
        assert tree["name"] == "company" and tree["strategy"] == "one_for_one" and tree["intensity"]["restarts"] > 0
        requests = next(member for member in tree["members"] if member["name"] == "requests")
        assert requests["strategy"] == "rest_for_one"


def test_a_runner_that_was_restarted_is_counted(start_service, operators, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "model_runner:throw:40")
    with start_service(*operators.flags) as service:
        before = service.resources()
        status, answer = service.post("/v1/completions", {"prompt": "Once", "max_tokens": 60, "ignore_eos": True})
        assert status == 200, answer
        service.wait_until(lambda: operators.actors()["model_runner"]["state"] == "running", 60, "restarted")
        assert operators.actors()["model_runner"]["restarts"] == 1
        service.wait_as_before(before, 64)


def test_the_log_level_changes_at_once(start_service, operators):
    with start_service(*operators.flags) as service:
        assert operators.ask("/admin/log-level", {"level": "error"})[1] == {"level": "error", "before": "info"}
        assert service.post("/v1/completions", {"prompt": "Once", "max_tokens": 1})[0] == 200
        assert '"request_id":"cmpl-' not in service.log()
        assert operators.ask("/admin/log-level", {"level": "info"})[1] == {"level": "info", "before": "error"}
        assert service.post("/v1/completions", {"prompt": "Once", "max_tokens": 1})[0] == 200
        service.wait_until(lambda: '"request_id":"cmpl-' in service.log(), 10, "logging")
        assert operators.ask("/admin/log-level", {"level": "loud"})[0] == 400
        log = service.log()
        for change in ("info -> error", "error -> info"):
            assert f'"info","message":"an operator sets the log level: {change}"' in log, "visible whatever the level"


def test_its_answers_bear_names_too(start_service, operators):
    with start_service(*operators.flags):
        for asked in ((), (None, "no key of theirs"), ({"unknown": 1},)):
            assert operators.ask("/admin/actors", *asked)[2]["X-Request-Id"].startswith("req-")


def test_the_level_that_is_set_while_a_bar_shows_the_warm_up_stays(operators):
    """On a terminal the bar hides the log's lines, and nothing else of the log."""
    terminal, inside = pty.openpty()
    command = ["serve", "--model", MODEL, "--port", "0", "--tcp-port", "-1", *SMALL, "--warmup", "full", *operators.flags]
    with subprocess.Popen([BINARY, *map(str, command)], stderr=inside, env=clean_environment(TERM="xterm")) as service:
        try:
            os.close(inside)
            shown = b""
            while b"warm-up: " not in shown:
                shown += os.read(terminal, 65536)
            assert operators.ask("/admin/log-level", {"level": "debug"})[1]["before"] == "info"
            assert operators.ask("/admin/actors")[1]["status"].startswith("warming up"), "it is set while the bar is there"
            while b"ready after" not in shown:
                shown += os.read(terminal, 65536)
            assert operators.ask("/admin/log-level", {"level": "info"})[1]["before"] == "debug"
            assert b"[Warmup]" not in shown[shown.index(b"warm-up: "):], "what came before the bar is not hidden"
        finally:
            service.kill()
            os.close(terminal)


def test_a_drain_lets_running_requests_finish_and_ends_the_service(start_service, operators):
    with start_service(*operators.flags, "--shutdown-grace", "120") as service:
        connection, answer = begin_stream(service, max_tokens=500)
        status, body, _ = operators.ask("/admin/drain", {})
        assert status == 202 and body["status"] == "draining" and body["grace_seconds"] == 120
        service.wait_until(lambda: service.status("/readyz") == 503, 30, "draining")
        assert operators.ask("/admin/actors")[1]["status"].startswith("draining")
        rest = answer.read().decode()
        assert '"finish_reason":"length"' in rest.replace(" ", "") and rest.rstrip().endswith("data: [DONE]")
        assert service.process.wait(130) == 0
        connection.close()


def test_who_asks_again_for_the_end_cuts_nobody_off(start_service, operators):
    """As a client that tries again does, and systemd after an operator."""
    with start_service(*operators.flags, "--shutdown-grace", "120") as service:
        connection, answer = begin_stream(service, max_tokens=500)
        assert operators.ask("/admin/drain", {})[1]["grace_seconds"] == 120
        service.wait_until(lambda: service.status("/readyz") == 503, 30, "draining")
        again = operators.ask("/admin/drain", {"grace": 1})[1]
        assert again["grace_seconds"] == 120 and again["message"].startswith("the service was ending already, and this changes nothing")
        service.process.send_signal(signal.SIGTERM)
        service.wait_until(lambda: "is ending already" in service.log(), 10, "told of the signal")
        rest = answer.read().decode()
        assert '"finish_reason":"length"' in rest.replace(" ", "") and rest.rstrip().endswith("data: [DONE]")
        assert service.process.wait(130) == 0
        assert "every request had finished" in service.log()
        connection.close()


def test_a_second_signal_ends_an_operators_drain(start_service, operators):
    with start_service(*operators.flags, "--shutdown-grace", "120") as service:
        connection, answer = begin_stream(service, max_tokens=8000)
        operators.ask("/admin/drain", {})
        service.wait_until(lambda: service.status("/readyz") == 503, 30, "draining")
        service.process.send_signal(signal.SIGTERM)
        service.wait_until(lambda: "is ending already" in service.log(), 10, "told of the first signal")
        service.signal_again()
        assert was_cut_off(answer.read().decode())
        assert service.process.wait(30) == 0
        connection.close()


def test_a_drain_may_have_a_grace_of_its_own_and_the_first_one_counts(start_service, operators):
    with start_service(*operators.flags, "--shutdown-grace", "120") as service:
        connection, answer = begin_stream(service, max_tokens=8000)
        begin = time.monotonic()
        assert operators.ask("/admin/drain", {"grace": 2})[1]["grace_seconds"] == 2
        assert operators.ask("/admin/drain", {"grace": 100})[1]["grace_seconds"] == 2
        rest = answer.read().decode()
        assert service.process.wait(30) == 0
        assert time.monotonic() - begin < 20
        assert was_cut_off(rest)
        connection.close()


def test_the_port_is_not_opened_without_a_good_key(tmp_path):
    serve = ["serve", "--model", MODEL, "--port", "0", "--tcp-port", "-1", "--admin-port", "0"]
    refused(troupe(*serve), 78, "--admin-port", "TROUPE_ADMIN_KEY", "--admin-key-file")
    refused(troupe(*serve, "--admin-key-file", tmp_path / "nothing"), 78, "nothing", "cannot be read")
    done = troupe(*serve, TROUPE_ADMIN_KEY="short-secret")
    refused(done, 78, "TROUPE_ADMIN_KEY", "16")
    assert "short-secret" not in done.stderr
    assert "short-secret" not in troupe("config", TROUPE_ADMIN_KEY="short-secret").stdout
