"""SIGHUP and POST /admin/reload: new settings for a running service, all of them or none."""
import concurrent.futures
import contextlib
import fcntl
import os
import signal
import time

import pytest

from operators_port import KEY
from test_signals import begin_stream, was_cut_off

SHORT = {"prompt": "Once upon a time", "max_tokens": 24, "ignore_eos": True, "temperature": 0}


@pytest.fixture
def settings(tmp_path):
    """A configuration file; call it with its new lines."""
    path = tmp_path / "troupe.toml"

    def write(*lines):
        path.write_text("\n".join(lines) + "\n")
        return str(path)

    return write


def test_a_reload_under_load_loses_no_request_and_changes_no_token(start_service, operators, settings):
    config = settings("max_num_seqs = 8", "scheduling_policy = \"fcfs\"")
    with start_service(*operators.flags, "--config", config) as service:
        expected = service.post("/v1/completions", SHORT)[1]["choices"][0]["text"]
        before = service.resources()
        stop = time.monotonic() + 12

        def client(_):
            texts = []
            while time.monotonic() < stop:
                status, answer = service.post("/v1/completions", SHORT)
                assert status == 200, answer
                texts.append(answer["choices"][0]["text"])
            return texts

        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            answers = [pool.submit(client, number) for number in range(6)]
            reloads = 0
            while time.monotonic() < stop - 1:
                sequences, policy = [(2, "priority"), (8, "lpm"), (1, "drr"), (5, "fcfs")][reloads % 4]
                settings(f"max_num_seqs = {sequences}", f"scheduling_policy = \"{policy}\"", "watermark = 0.02")
                if reloads % 2:
                    service.process.send_signal(signal.SIGHUP)
                else:
                    assert operators.ask("/admin/reload", {})[0] == 200
                    assert operators.ask("/admin/reload", {})[1]["changes"] == [], "it is in force"
                reloads += 1
                time.sleep(0.3)
            texts = [text for answer in answers for text in answer.result()]
        assert reloads > 10 and len(texts) >= 6 and set(texts) == {expected}
        service.wait_as_before(before)


def test_a_reload_is_told_with_what_has_changed_and_is_in_force(start_service, operators, settings):
    config = settings("max_num_queued_requests = 100")
    with start_service(*operators.flags, "--config", config) as service:
        before = service.resources()
        told = operators.ask("/admin/reload", {})[1]
        assert (told["status"], told["changes"], told["overridden"]) == ("reloaded", [], [])
        settings("max_num_queued_requests = 1", "max_num_seqs = 1", "log_level = \"debug\"", "max_body_bytes = \"4KiB\"")
        changes = operators.ask("/admin/reload", {})[1]["changes"]
        assert {change["setting"]: (change["before"], change["after"]) for change in changes} == {
            "max_num_seqs": ("64", "1"), "max_num_queued_requests": ("100", "1"), "log_level": ("info", "debug"),
            "max_body_bytes": ("32MiB", "4KiB")}
        assert "reloaded: max_num_seqs 64 -> 1" in service.log()
        assert operators.ask("/admin/log-level", {"level": "info"})[1]["before"] == "debug"
        service.wait_until(lambda: service.post("/tokenize", {"prompt": "a" * 5000})[0] == 413, 10, "bounding bodies")
        connection, answer = begin_stream(service)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            waiting = pool.submit(service.post, "/v1/completions", SHORT | {"timeout": 20})
            service.wait_until(lambda: service.metric("vllm:num_requests_waiting") == 1, 30, "waiting")
            assert service.post("/v1/completions", SHORT)[0] == 429, "one runs, one waits"
            connection.close()
            answer.close()
            assert waiting.result()[0] == 200
        service.wait_as_before(before)


def test_a_reload_names_the_level_that_an_operator_had_set(start_service, operators, settings):
    with start_service(*operators.flags, "--config", settings("log_level = \"info\"")) as service:
        assert operators.ask("/admin/log-level", {"level": "debug"})[0] == 200
        changes = [{"setting": "log_level", "before": "debug", "after": "info"}]
        assert operators.ask("/admin/reload", {})[1]["changes"] == changes
        assert "reloaded: log_level debug -> info" in service.log()
        assert operators.ask("/admin/log-level", {"level": "info"})[1]["before"] == "info"
        assert operators.ask("/admin/reload", {})[1]["changes"] == []
        service.process.send_signal(signal.SIGHUP)
        service.wait_until(lambda: "SIGHUP asks for a reload" in service.log(), 10, "asked")


@pytest.mark.parametrize("line, words", [
    ("max_num_seqs = 65", ["max_num_seqs", "64", "restart"]),
    ("block_size = 32", ["block_size: 16 -> 32 needs a restart", "troupe.toml:2"]),
    ("max_num_seqs = 0", ["troupe.toml:2", "max_num_seqs", "1 to 4096"]),
    ("max_num_seqz = 1", ["troupe.toml:2", "max_num_seqz"]),
    ("log_level = ", ["troupe.toml:2"]),
])
def test_where_one_setting_is_wrong_nothing_changes(start_service, operators, settings, line, words):
    config = settings("log_level = \"info\"")
    with start_service(*operators.flags, "--config", config) as service:
        before = service.resources()
        settings("log_level = \"error\"", line)
        status, body, _ = operators.ask("/admin/reload", {})
        assert status == 400 and all(word in body["error"]["message"] for word in words), body
        assert operators.ask("/admin/log-level", {"level": "info"})[1]["before"] == "info"
        assert "reload refused, nothing has changed" in service.log()
        assert service.metric("troupe_last_reload_refused") == 1
        service.process.send_signal(signal.SIGHUP)
        service.wait_until(lambda: service.log().count("nothing has changed") == 2, 10, "reloaded by the signal")
        assert service.post("/v1/completions", SHORT)[0] == 200
        settings("log_level = \"warn\"")
        assert operators.ask("/admin/reload", {})[0] == 200
        assert service.metric("troupe_last_reload_refused") == 0
        assert operators.ask("/admin/log-level", {"level": "info"})[1]["before"] == "warn"
        service.wait_as_before(before)


def test_a_new_key_takes_the_place_of_the_old_one(start_service, operators):
    with start_service(*operators.flags) as service:
        before = service.resources()
        operators.write_key("another-key-9876543210")
        assert operators.ask("/admin/actors")[0] == 200, "not before the reload"
        assert operators.ask("/admin/reload", {})[1]["changes"] == [{"setting": "admin_key", "before": None, "after": None}]
        assert operators.ask("/admin/actors")[0] == 401
        assert operators.ask("/admin/actors", key="another-key-9876543210")[0] == 200
        operators.write_key("short")
        status, body, _ = operators.ask("/admin/reload", {}, key="another-key-9876543210")
        assert status == 400 and "short" not in body["error"]["message"].replace("shorter", "")
        assert operators.ask("/admin/actors", key="another-key-9876543210")[0] == 200
        assert KEY not in service.log() and "another-key" not in service.log()
        service.wait_as_before(before)


def test_a_pipe_or_a_terminal_is_not_read_again_and_holds_nobody_up(start_service, operators, settings):
    config = settings("max_num_seqs = 8")
    with start_service(*operators.flags, "--config", config, "--shutdown-grace", "5s") as service:
        before = service.resources()
        for path in (config, operators.key_file):
            os.rename(path, f"{path}.kept")
            for kind, make in ("pipe", os.mkfifo), ("device", lambda path: os.symlink("/dev/ptmx", path)):
                make(path)
                status, body, _ = operators.ask("/admin/reload", {})
                assert status == 400 and f"{path}: a {kind} cannot be read again" in body["error"]["message"]
                os.unlink(path)
            os.rename(f"{path}.kept", path)
        assert operators.ask("/admin/reload", {})[0] == 200
        service.wait_as_before(before)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0


@contextlib.contextmanager
def kept_from_readers(path):
    """Whoever opens it waits, as for a file of a disk that does not answer: fcntl(2), leases."""
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # tells that somebody waits
    try:
        with open(path, "r+") as file:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            yield
    finally:
        signal.signal(signal.SIGIO, before)


def test_a_file_that_does_not_come_holds_up_neither_later_reloads_nor_the_end(start_service, operators, settings):
    config = settings("max_num_seqs = 8")
    with start_service(*operators.flags, "--config", config, "--shutdown-grace", "20s") as service:
        before = service.resources()
        with kept_from_readers(operators.key_file):
            for why in "no answer within 5 s", "an earlier reload still waits for it":
                status, body, _ = operators.ask("/admin/reload", {})
                assert (status, body["error"]["message"]) == (503, f"{operators.key_file}: {why}")
        service.wait_until(lambda: operators.ask("/admin/reload", {})[0] == 200, 20, "reloaded")
        service.wait_as_before(before)
        with kept_from_readers(config), concurrent.futures.ThreadPoolExecutor(1) as pool:
            asked = service.log().count("an operator asks for a reload")
            answer = pool.submit(operators.ask, "/admin/reload", {})
            service.wait_until(lambda: service.log().count("an operator asks for a reload") > asked, 20, "asked")
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(20) == 0, service.log()
            assert isinstance(answer.exception(), ConnectionError), "the port closes before the reload is given up"
            assert "reload refused: the service is about to end" in service.log()


def test_a_reload_names_what_a_stronger_source_overrides(start_service, operators, settings):
    config = settings("max_num_seqs = 8")
    with start_service(*operators.flags, "--config", config, "--max-num-seqs", "4") as service:
        settings("max_num_seqs = 16")
        service.process.send_signal(signal.SIGHUP)
        line = f"reloaded: nothing is different; overridden: max_num_seqs ({config}:1) by --max-num-seqs"
        service.wait_until(lambda: line in service.log(), 10, "reloaded")
        overridden = [f"max_num_seqs ({config}:1) by --max-num-seqs"]
        assert operators.ask("/admin/reload", {})[1]["overridden"] == overridden


def test_a_file_that_only_the_start_reads_is_told_of_where_it_says_something_else(start_service, operators, settings, tmp_path):
    template = tmp_path / "chat.jinja"
    template.write_text("{{ messages[0].content }}")
    config = settings(f"chat_template = \"{template}\"")
    with start_service(*operators.flags, "--config", config) as service:
        warning = f"chat_template: what {template} says has changed since the start, and needs a restart"
        assert warning not in operators.ask("/admin/reload", {})[1]["warnings"]
        template.write_text("{{ messages[0].content }}!")
        assert warning in operators.ask("/admin/reload", {})[1]["warnings"]
        assert warning in service.log()


def test_without_an_operators_port_sighup_reloads_all_the_same(start_service, settings):
    config = settings("shutdown_grace = \"60s\"")
    with start_service("--config", config) as service:
        connection, answer = begin_stream(service, max_tokens=8000)
        settings("shutdown_grace = \"1s\"")
        service.process.send_signal(signal.SIGHUP)
        service.wait_until(lambda: "reloaded: shutdown_grace 60s -> 1s" in service.log(), 10, "reloaded")
        service.process.send_signal(signal.SIGTERM)
        rest = answer.read().decode()
        assert was_cut_off(rest)
        assert service.process.wait(20) == 0
        connection.close()


def test_a_hangup_while_the_model_loads_is_heard_when_it_has(start_service, settings, undisturbed):
    config = settings("log_level = \"info\"")
    service = start_service("--config", config)
    service.wait_until(lambda: service.status("/livez") == 200, 60, "there")
    settings("log_level = \"debug\"")
    service.process.send_signal(signal.SIGHUP)
    with service:
        service.wait_until(lambda: "reloaded: log_level info -> debug" in service.log(), 30, "reloaded")
        service.wait_as_before(undisturbed)


def test_a_service_that_drains_takes_no_settings_any_more(start_service, operators):
    with start_service(*operators.flags, "--shutdown-grace", "20") as service:
        connection, answer = begin_stream(service, max_tokens=8000)
        operators.ask("/admin/drain", {})
        status, body, _ = operators.ask("/admin/reload", {})
        assert status == 503 and "about to end" in body["error"]["message"]
        service.process.send_signal(signal.SIGTERM)
        service.wait_until(lambda: "is ending already" in service.log(), 10, "told of the first signal")
        service.signal_again()
        service.process.wait(20)
        connection.close()
