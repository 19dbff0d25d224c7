"""Clients' keys by real clients, and pages of other origins in a real browser."""
import contextlib
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error

import pytest
from browser import Browser
from conftest import ROOT, Service
from openai import AuthenticationError, OpenAI
from tcp_client import Client, TroupeError
from test_cli import refused, troupe

ANN, BOB = "key-of-ann-0123", "key-of-bob-0123"
MODEL = "SmolLM2-135M-Instruct"


@pytest.fixture()
def key_file(tmp_path):
    path = tmp_path / "api-keys"

    def write(*lines):
        path.write_text("\n".join(lines) + "\n")
        path.chmod(0o600)
        return str(path)

    write("# the team", ANN, BOB)
    return write


def ask(service, key):
    with OpenAI(base_url=service.url + "/v1", api_key=key, max_retries=0) as client:
        return client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "Hi"}], max_tokens=2)


def say(service, key):
    """A prompt by the example of the TCP protocol, as who follows the README starts it."""
    program = [sys.executable, str(ROOT / "examples" / "tcp_client.py"), "Hi", "--port", str(service.tcp_port), "--max-tokens", "2"]
    return subprocess.run(program, env={**os.environ, "TROUPE_API_KEY": key}, capture_output=True, text=True, timeout=60)


def test_whoever_shows_one_of_the_keys_is_served_and_nobody_else(start_service, key_file):
    with start_service("--api-key-file", key_file("# the team", ANN, BOB)) as service:
        before, begun = service.resources(), time.monotonic()
        for key in (ANN, BOB):
            assert ask(service, key).usage.completion_tokens == 2
            assert say(service, key).returncode == 0
        counted = service.metric("troupe_request_errors_total", code="401")
        for key in ("none", ANN + "4", ANN[:-1], ANN + " " + BOB):
            with pytest.raises(AuthenticationError) as stranger:
                ask(service, key)
            assert stranger.value.code == "invalid_api_key"
            answer = say(service, key)
            assert answer.returncode == 1 and "no key of a client" in answer.stderr
        assert service.post("/v1/completions", {"prompt": "a", "max_tokens": 1})[0] == 401
        assert service.status("/v1/models") == 401
        assert service.metric("troupe_request_errors_total", code="401") == counted + 10, "over TCP and of GETs, too"
        with pytest.raises(TroupeError, match="api_key"):
            Client(port=service.tcp_port)
        for path in ("/health", "/readyz", "/livez", "/metrics", "/version", "/"):
            assert service.status(path) == 200, path
        for path in ("/v1/models", "/tokenizer_info", "/v1/requests/a", "/nothing"):
            assert service.status(path) == 401, path
        assert ANN not in service.log() and BOB not in service.log()
        lines = service.log().count("without the right key")
        assert 2 <= lines <= 2 + 2 * ((time.monotonic() - begun) // 10), "a line of each port in ten seconds at most"
        service.wait_as_before(before)


def test_no_stranger_is_served_while_the_model_loads(key_file, tmp_path):
    service = Service(tmp_path / "log", "--api-key-file", key_file(ANN), "--skip-warmup")
    try:
        seen = set()
        while 200 not in seen:
            try:
                seen.add(service.status("/readyz"))
                assert service.status("/v1/models") in (401, None), "None: it does not listen yet"
                assert service.post("/v1/completions", {"prompt": "a"})[0] == 401
            except (urllib.error.URLError, ConnectionError):
                assert service.process.poll() is None
        service.wait_until(lambda: "clients need one of 1 keys" in service.log(), 10, "told of its keys")
    finally:
        service.__exit__()


def test_keys_are_read_again_by_a_reload(start_service, key_file, operators):
    with start_service(*operators.flags, "--api-key-file", key_file(ANN)) as service:
        key_file(BOB)
        ask(service, ANN)
        assert operators.ask("/admin/reload", {})[1]["changes"] == [{"setting": "api_key", "before": None, "after": None}]
        ask(service, BOB)
        with pytest.raises(AuthenticationError):
            ask(service, ANN)
        key_file(BOB, ANN)
        assert len(operators.ask("/admin/reload", {})[1]["changes"]) == 1
        ask(service, ANN)
        key_file("short")
        status, body, _ = operators.ask("/admin/reload", {})
        assert status == 400 and ":1: a client's key must have 8 to 1024" in body["error"]["message"]
        key_file("# nobody")
        service.process.send_signal(signal.SIGHUP)
        service.wait_until(lambda: "holds no key" in service.log(), 30, "refused")
        ask(service, BOB)
        assert ANN not in service.log() and BOB not in service.log()


def test_a_reload_may_be_the_first_to_ask_for_keys_and_the_last(start_service, key_file, operators, tmp_path):
    config = tmp_path / "troupe.toml"
    config.write_text("")
    with start_service(*operators.flags, "--config", str(config)) as service:
        ask(service, "none")
        config.write_text(f'api_key_file = "{key_file(ANN)}"\n')
        assert {each["setting"] for each in operators.ask("/admin/reload", {})[1]["changes"]} == {"api_key", "api_key_file"}
        with pytest.raises(AuthenticationError):
            ask(service, "none")
        ask(service, ANN)
        config.write_text("")
        assert any("anybody who reaches the ports is served" in warning for warning in operators.ask("/admin/reload", {})[1]["warnings"])
        ask(service, "none")


def test_without_keys_anybody_is_served_whatever_key_is_sent(service):
    assert ask(service, "none").usage.completion_tokens == 2
    assert say(service, "any-key-at-all").returncode == 0


def test_keys_and_origins_that_are_wrong_end_the_start(tmp_path, key_file):
    serve = ["serve", "--port", "0", "--tcp-port", "-1"]
    refused(troupe(*serve, "--api-key-file", tmp_path / "nothing"), 78, "nothing", "cannot be read")
    refused(troupe(*serve, "--api-key-file", key_file("# none")), 78, "holds no key")
    refused(troupe(*serve, "--api-key-file", ""), 78, "names no file")
    refused(troupe(*serve, TROUPE_API_KEY=""), 78, "TROUPE_API_KEY")
    refused(troupe(*serve, "--cors-origins", "chat.example"), 78, "--cors-origins", "'chat.example' is no origin")


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>elsewhere</title>")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def another_origin():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


FETCH = """(async () => {
  try {
    const answer = await fetch(%s, {method: "POST", headers: {"Content-Type": "application/json", "Authorization": "Bearer %s", "X-Request-Id": "page-1"},
      body: JSON.stringify(%s)});
    return {status: answer.status, id: answer.headers.get("X-Request-Id"), text: await answer.text()};
  } catch (fault) { return {fault: String(fault)}; }
})()"""


def test_a_browser_lets_the_pages_of_allowed_origins_use_the_api_and_no_others(start_service, key_file, tmp_path):
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2, "stream": True}
    with another_origin() as friend, another_origin() as stranger:
        with start_service("--api-key-file", key_file(ANN), "--cors-origins", f"https://chat.example,{friend}") as service, \
                Browser(tmp_path) as browser:
            def fetch(origin, key):
                page = browser.open(origin + "/", 800, 600, "light")
                page.wait_until("document.title === 'elsewhere'")
                return page.evaluate(FETCH % (json.dumps(service.url + "/v1/chat/completions"), key, json.dumps(body)))

            answer = fetch(friend, ANN)
            assert answer["status"] == 200 and answer["id"] == "page-1" and "data: [DONE]" in answer["text"]
            assert fetch(friend, "another-key")["status"] == 401, "a page can read why"
            assert "fault" in fetch(stranger, ANN)


BLIND = """(async () => {
  const body = new Blob(['{"prompt": "hello", "max_tokens": 3}']);
  const answer = await fetch(%s, {method: "POST", mode: "no-cors", body});
  return answer.type;
})()"""


def test_a_page_cannot_make_the_service_work_by_what_a_browser_sends_without_asking(start_service, tmp_path):
    with another_origin() as stranger, start_service() as service, Browser(tmp_path) as browser:
        page = browser.open(stranger + "/", 800, 600, "light")
        page.wait_until("document.title === 'elsewhere'")
        for path in ("/v1/completions", "/v1/chat/completions", "/tokenize", "/reset_prefix_cache"):
            assert page.evaluate(BLIND % json.dumps(service.url + path)) == "opaque"
        assert service.metric("troupe_request_errors_total", code="400") == 4, "a 403 each"
        assert service.metric("vllm:request_success_total") == 0
