"""Streams whose gateway ends, and the end of a service one of whose actors never comes back: no client is left without a word, and the
process ends."""
import http.client
import json
import signal
import threading
import time

import pytest

GRACE = 2
# From the end of the grace, or the second signal: for actors to end, and for a machine that is busy.
TO_END = 4 + 10


class Stream(threading.Thread):
    """A streamed completion, read to its end by a thread of its own."""

    def __init__(self, service, body):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
        self.body = {"prompt": "Once upon a time", "temperature": 0, "ignore_eos": True, "stream": True, **body}
        self.text, self.failure, self.last_byte = "", None, time.monotonic()
        self.start()

    def run(self):
        try:
            self.connection.request("POST", "/v1/completions", json.dumps(self.body), {"Content-Type": "application/json"})
            answer = self.connection.getresponse()
            while piece := answer.read1():
                self.text += piece.decode()
                self.last_byte = time.monotonic()
        except (OSError, http.client.HTTPException) as failure:
            self.failure = failure

    def has_ended_with_words(self, *words):
        """With an end that says one of these, the error that the service is gone, or that it was aborted."""
        last = self.text[self.text.rstrip().removesuffix("data: [DONE]").rstrip().rfind("data: "):]
        words = words or ("service is shutting down", "service ended before the request did", '"abort"', "a part of the service has ended")
        return self.text.rstrip().endswith("data: [DONE]") and any(each in last for each in words)

    def is_stuck(self):
        return self.text != "" and time.monotonic() - self.last_byte > 1


@pytest.mark.parametrize("signals", [1, 2])
@pytest.mark.parametrize("role, every", [("scheduler", 60), ("kv_cache", 60), ("tokenizer", 60), ("http_gateway", 40), ("supervisor", 40)])
def test_a_service_with_an_actor_that_hangs_ends_and_tells_its_clients(start_service, monkeypatch, role, every, signals):
    monkeypatch.setenv("TROUPE_CHAOS", f"{role}:hang:{every}")
    with start_service("--shutdown-grace", f"{GRACE if signals == 1 else 60}s") as service:
        streams = [Stream(service, {"max_tokens": 6000}) for _ in range(2)]
        if role == "supervisor":
            service.wait_until(lambda: all(each.text for each in streams), 30, "streaming")
            time.sleep(4)  # it has its every-th message meanwhile, and nobody sees it
        else:
            service.wait_until(lambda: any(each.is_stuck() for each in streams), 60, "stuck")
        service.process.send_signal(signal.SIGTERM)
        if signals == 2:
            service.signal_again()
        code = service.process.wait(GRACE + TO_END)
        assert code == (70 if signals == 1 else 128 + signal.SIGTERM), service.log()
        for each in streams:
            each.join(10)
        assert all(each.has_ended_with_words() for each in streams), [(each.text[-300:], each.failure) for each in streams]


@pytest.mark.parametrize("role", ["scheduler", "tokenizer"])
def test_a_service_that_is_not_live_any_more_ends_and_tells_its_clients(start_service, monkeypatch, role):
    monkeypatch.setenv("TROUPE_CHAOS", f"{role}:hang:60")
    with start_service("--step-deadline", "2s") as service:
        stream = Stream(service, {"max_tokens": 6000})
        assert service.process.wait(60) == 70, service.log()
        stream.join(10)
        assert stream.has_ended_with_words("the service is shutting down"), (stream.text[-300:], stream.failure)
        assert "not live for" in service.log()


def is_replaced(service, actor):
    try:
        return service.restarts(actor) == 1
    except OSError:  # nobody answers
        return False


def test_the_streams_of_a_gateway_that_ends_are_told(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "http_gateway:throw:60")
    with start_service() as service:
        before = service.resources()
        streams = [Stream(service, {"max_tokens": 6000}) for _ in range(3)]
        for each in streams:
            each.join(60)
            assert each.has_ended_with_words("a part of the service has ended"), (each.text[-300:], each.failure)
        # The one that ends answers as long as it is there, and cuts off whom it has not answered.
        service.wait_until(lambda: is_replaced(service, "http_gateway"), 20, "served by the next gateway")
        assert [service.metric("vllm:request_success_total", finished_reason=reason) for reason in ("error", "abort")] == [3, 0]
        assert service.post("/v1/completions", {"prompt": "Once", "max_tokens": 3})[0] == 200
        service.wait_as_before(before)
        lines = [line for line in service.log().splitlines() if "chaos: every" not in line]  # told before there is a log
        assert all(line.startswith("{") for line in lines[1:]), "each line of the log is an object"
        assert any("is ended by an exception of the kind" in line for line in lines)
