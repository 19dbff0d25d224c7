"""Actors that end under a real load: who pays for it, and whether the service goes on."""
import concurrent.futures
import http.client
import json
import pathlib
import re
import socket
import threading
import time
import urllib.error

import pytest

from test_request_log import records

PROMPTS = ["Tell me about rivers.", "Count from one to thirty.", "Write a poem about tea.", "Say hello in ten ways.",
           "List the planets.", "Explain snow to a child.", "Name ten animals.", "What is a clock?"]


def bodies():
    for i, prompt in enumerate(PROMPTS * 2):
        sampling = {"temperature": 0} if i % 2 == 0 else {"temperature": 0.9, "seed": i}
        grammar = {"structured_outputs": {"regex": "[a-z ]{50}"}} if i % 8 == 7 else {}
        yield {"messages": [{"role": "user", "content": prompt}], "max_tokens": 60, **sampling, **grammar}


PATIENCE = 30  # seconds; who hears nothing for so long was forgotten

# What a client may get instead of its text.
ERROR, DISCONNECTED = "an error", "the end of its connection"


def ask_all(service, patience=120, may_disconnect=False):
    """For each request its text, or ERROR. Fails where one is not answered within `patience`; where a connection ends without
    an answer, too, unless it `may_disconnect`."""
    def ask(body):
        try:
            status, answer = service.post("/v1/chat/completions", body, timeout=patience)
        except (ConnectionError, urllib.error.URLError, http.client.IncompleteRead) as fault:
            has_left = not isinstance(fault, urllib.error.URLError) or isinstance(fault.reason, ConnectionError)
            if may_disconnect and has_left:
                return DISCONNECTED
            raise
        assert status in (200, 500, 503), answer
        return answer["choices"][0]["message"]["content"] if status == 200 else ERROR

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, bodies()))


@pytest.fixture(scope="module")
def alone(service):
    return ask_all(service)


def whole_log(service):
    return pathlib.Path(service.log_path).read_text()


def messages_lost(service, role):
    return re.findall(rf"chaos: {role} has lost (\w+)", whole_log(service))


@pytest.mark.parametrize("role, fault, every, isolation", [
    ("model_runner", "throw", 60, "process"), ("model_runner", "throw", 60, "none"), ("kv_cache", "throw", 150, "process"),
    ("model_runner", "lose", 60, "process"), ("kv_cache", "lose", 150, "process"), ("scheduler", "lose", 8, "process"),
    ("runner_process", "throw", 60, "process"), ("runner_process", "segfault", 60, "process"), ("runner_process", "hang", 60, "process")])
def test_nobody_loses_a_request_to_these(start_service, monkeypatch, alone, role, fault, every, isolation):
    monkeypatch.setenv("TROUPE_CHAOS", f"{role}:{fault}:{every}")
    flags = {"hang": ["--step-deadline", "1s"], "lose": ["--log-level", "debug"]}.get(fault, [])
    with start_service("--runner-isolation", isolation, *flags) as service:
        before = service.resources()
        answers = ask_all(service)
        if (role, fault) == ("scheduler", "lose"):
            assert service.restarts(role) == 0, "it asks for what it has missed"
            assert messages_lost(service, role) and "actor scheduler: " in whole_log(service)
        else:
            assert service.restarts("model_runner" if role == "runner_process" else role) > 0, service.log()
        assert answers == alone
        assert service.status("/livez") == 200
        service.wait_until(lambda: service.status("/readyz") == 200, 30, "ready again")
        service.wait_as_before(before, 64)


def test_what_the_runners_process_says_is_in_the_form_of_the_log(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "runner_process:throw:100000")
    with start_service("--log-format", "json") as service:
        lines = service.log().splitlines()
        told = [json.loads(line) for line in lines]
    assert "chaos: every 100000-th message to runner_process meets throw" in [line["message"] for line in told]


def test_what_the_supervisor_is_asked_and_never_hears_is_asked_again(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "supervisor:lose:2")
    with start_service("--log-level", "debug") as service:
        before = service.resources()
        for _ in range(4):
            status, _ = service.post("/v1/completions", {"prompt": "Once", "max_tokens": 3})
            assert status == 200
        service.wait_as_before(before)
    assert service.process.returncode == 0, "its drain was heard of"
    assert messages_lost(service, "supervisor"), service.log()


def is_cut_off(service, body):
    try:
        service.post("/v1/completions", body)
    except (OSError, http.client.HTTPException):
        return True
    return False


def test_an_actor_that_hangs_is_not_live_and_ends_the_service(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "tokenizer:hang:40")
    with start_service("--step-deadline", "2s") as service:
        # One request: a second thread that is lost could be the supervisor's.
        body = {"prompt": "Once", "max_tokens": 200, "ignore_eos": True}
        asking = threading.Thread(target=lambda: is_cut_off(service, body), daemon=True)
        asking.start()
        service.wait_until(lambda: service.status("/livez") == 503, 30, "not live")
        assert service.process.wait(30) == 70
        assert re.search(r"tokenizer \d does not answer", whole_log(service)), service.log()


@pytest.mark.parametrize("isolation, role, every, core", [
    ("none", "model_runner", 12, "0"), ("process", "tokenizer", 40, "0"), ("none", "model_runner", 12, "4096")])
def test_a_segmentation_fault_of_the_service_itself_ends_it_with_70(start_service, monkeypatch, tmp_path, isolation, role, every, core):
    monkeypatch.setenv("TROUPE_CHAOS", f"{role}:segfault:{every}")
    monkeypatch.chdir(tmp_path)  # for the core file
    with start_service("--runner-isolation", isolation, prefix=("prlimit", f"--core={core}")) as service:
        child = service.children()
        is_cut_off(service, {"prompt": "Once", "max_tokens": 200, "ignore_eos": True})
        assert service.process.wait(30) == 70
        assert re.search(r"^troupe: signal SEGV \(Segmentation fault\) on thread \S+: the process ends$", whole_log(service), re.MULTILINE)
        end = time.monotonic() + 10
        while any(pathlib.Path(f"/proc/{each}").exists() for each in child) and time.monotonic() < end:
            time.sleep(0.05)
        assert not any(pathlib.Path(f"/proc/{each}").exists() for each in child), "the runner is left"
        socket.create_server(("127.0.0.1", service.port)).close()
    if pathlib.Path("/proc/sys/kernel/core_pattern").read_text().strip() == "core":
        assert bool(list(tmp_path.glob("core*"))) == (core != "0")


def test_a_drafter_that_hangs_holds_nobody_up_and_ends_the_service(start_service, monkeypatch):
    config = {"method": "suffix", "adaptive": False, "suffix_decoding_min_token_prob": 0.01, "num_speculative_tokens": 4}
    body = {"prompt": "one two three one two three one two", "max_tokens": 40, "temperature": 0, "ignore_eos": True}
    with start_service("--speculative-config", json.dumps(config)) as service:
        # The second answer is drafted from the first.
        undisturbed = [service.post("/v1/completions", body) for _ in range(2)]
        accepted = service.metric("vllm:spec_decode_num_accepted_tokens_total")
        assert [status for status, _ in undisturbed] == [200, 200] and accepted > 0
    monkeypatch.setenv("TROUPE_CHAOS", "drafter:hang:12")
    with start_service("--speculative-config", json.dumps(config), "--step-deadline", "5s") as service:
        answers = [service.post("/v1/completions", body, timeout=60) for _ in range(2)]
        assert service.status("/livez") == service.status("/readyz") == 200, "long before anybody knows"
        assert [(status, body["choices"]) for status, body in answers] == [(200, body["choices"]) for _, body in undisturbed]
        assert service.metric("vllm:spec_decode_num_accepted_tokens_total") < accepted, "it hung before the end"
        service.wait_idle()
        service.wait_until(lambda: service.status("/livez") == 503, 60, "not live")
        assert service.process.wait(60) == 70
        assert "drafter does not answer" in whole_log(service), service.log()


def test_an_actor_that_ends_again_and_again_ends_the_service(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "tokenizer:throw:12")
    with start_service() as service:
        end = time.monotonic() + 60
        while service.process.poll() is None and time.monotonic() < end:
            is_cut_off(service, {"prompt": "Once", "max_tokens": 3})
        assert service.process.wait(30) == 70
        assert re.search(r"actor tokenizer \d has ended", whole_log(service)), service.log()


@pytest.mark.parametrize("role, fault, every", [
    ("scheduler", "throw", 40), ("tokenizer", "throw", 150), ("structured_output", "throw", 20), ("http_gateway", "throw", 150),
    ("tokenizer", "lose", 150), ("structured_output", "lose", 20), ("http_gateway", "lose", 150)])
def test_who_loses_requests_to_these_hears_of_it_and_the_next_are_served(start_service, monkeypatch, alone, role, fault, every):
    monkeypatch.setenv("TROUPE_CHAOS", f"{role}:{fault}:{every}")
    with start_service() as service:
        before, counted = service.resources(), service.metric("troupe_request_errors_total")
        answers, rounds = [], 0
        # How many messages a round of requests is depends on who comes when.
        while rounds < 4 and service.restarts(role) == 0:
            answers += ask_all(service, PATIENCE, may_disconnect=role == "http_gateway")
            rounds += 1
            service.wait_until(lambda: service.status("/readyz") == 200, 20, "ready again")
        assert [a for a, b in zip(answers, alone * rounds, strict=True) if a not in (ERROR, DISCONNECTED, b)] == []
        assert set(answers) - {ERROR, DISCONNECTED}, "nobody was served"
        counted = service.metric("troupe_request_errors_total") - counted
        # Of those whose connection has ended the gateway may not have known yet.
        assert answers.count(ERROR) <= counted <= answers.count(ERROR) + answers.count(DISCONNECTED)
        assert service.restarts(role) > 0, service.log()
        assert service.status("/livez") == service.status("/readyz") == 200
        service.wait_as_before(before, 64)


def read_to_the_end(client):
    client.settimeout(PATIENCE)
    answer = b""
    try:
        while part := client.recv(65536):
            answer += part
    except ConnectionError:
        pass
    return answer


class Prober(threading.Thread):
    """Connects again and again, and asks for /livez each time."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.answers, self.cut_off, self.refusals, self.is_over = port, 0, 0, [], threading.Event()

    def run(self):
        while not self.is_over.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), 20) as client:
                    client.sendall(b"GET /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    answer = read_to_the_end(client)
                self.answers += answer.startswith(b"HTTP/1.1 ")
                self.cut_off += not answer
            except OSError as refusal:
                if self.answers:  # before that nobody listens
                    self.refusals.append(refusal)


def wait_as_before_again(service, before):
    """Whoever asks how it is may meet the next fault."""
    end = time.monotonic() + 60
    while True:
        try:
            return service.wait_as_before(before, 64)
        except (OSError, http.client.HTTPException):
            assert time.monotonic() < end, service.log()


def test_nobody_is_refused_while_the_model_loads_or_a_gateway_is_started_again(start_service, monkeypatch, undisturbed):
    monkeypatch.setenv("TROUPE_CHAOS", "http_gateway:throw:12")
    starting = start_service()
    prober = Prober(starting.port)
    prober.start()
    with starting as service:
        loaded = prober.answers
        assert loaded > 0 and prober.cut_off == 0, "by the end of the gateway that is there while the model loads"
        for _ in range(8):
            is_cut_off(service, {"prompt": "the sea, the sea", "max_tokens": 4})
        service.wait_until(lambda: service.restarts("http_gateway") > 0, 20, "a gateway was started again")
        service.wait_until(lambda: prober.answers > loaded + 100, 20, "goes on")
        prober.is_over.set()
        prober.join(20)
        wait_as_before_again(service, undisturbed)
    assert prober.refusals == []


def test_whose_requests_a_gateway_has_not_read_when_it_ends_are_told_too(start_service, monkeypatch, undisturbed):
    """Its twelfth message ends it; some of the others are in its mailbox."""
    monkeypatch.setenv("TROUPE_CHAOS", "http_gateway:throw:12")
    body = json.dumps({"prompt": "the sea, the sea", "max_tokens": 50, "ignore_eos": True}).encode()
    with start_service("--max-num-seqs", "6") as service:
        clients = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(24)]
        for client in clients:
            client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        answers = [read_to_the_end(client) for client in clients]
        for client in clients:
            client.close()
        service.wait_until(lambda: service.status("/livez") == 200, 20, "back")
        wait_as_before_again(service, undisturbed)
    assert {answer[:12] for answer in answers} <= {b"HTTP/1.1 200", b"HTTP/1.1 503", b""}
    told = [answer for answer in answers if answer]
    assert sum(answer.startswith(b"HTTP/1.1 503") for answer in told) > 1
    requests = records(service, beside_faults=True)
    assert len(requests) == len(told), "whom the service has heard it has answered"
    assert not [line for line in requests if line.get("finish_reason") == "abort"], "as if its client had left"
