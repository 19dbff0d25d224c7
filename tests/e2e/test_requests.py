"""Requests that ask for more than one plain answer: several choices, names, salts, cut prompts, half-closed sockets."""
import concurrent.futures
import json
import socket
import threading
import urllib.error
import urllib.request

from test_signals import begin_stream

MODEL = "SmolLM2-135M-Instruct"
STORY = "Once upon a time, in a small village by the sea, there lived an old fisherman who had never caught a fish. "


def complete(service, **body):
    status, answer = service.post("/v1/completions", {"prompt": STORY, "max_tokens": 12, **body})
    assert status == 200, answer
    return answer


def test_each_choice_is_the_answer_that_its_seed_gives_alone(service):
    together = complete(service, n=4, seed=40, temperature=1.0)
    assert [choice["index"] for choice in together["choices"]] == [0, 1, 2, 3]
    alone = [complete(service, seed=40 + i, temperature=1.0) for i in range(4)]
    assert [c["text"] for c in together["choices"]] == [a["choices"][0]["text"] for a in alone]
    assert together["usage"]["prompt_tokens"] == alone[0]["usage"]["prompt_tokens"]
    assert together["usage"]["completion_tokens"] == sum(a["usage"]["completion_tokens"] for a in alone)
    service.wait_idle()


def test_the_choices_share_the_blocks_of_their_prompt(start_service):
    body = {"prompt": STORY * 8, "max_tokens": 12, "temperature": 1.0, "ignore_eos": True, "return_token_ids": True}

    def tokens(service, **more):
        return [choice["token_ids"] for choice in complete(service, **body, **more)["choices"]]

    # Without a prefix cache only a fork spares a prompt's computation.
    with start_service("--no-enable-prefix-caching") as service:
        alone = [tokens(service, seed=7 + i)[0] for i in range(4)]
        assert service.metric("vllm:prompt_tokens_cached_total") == 0
        assert tokens(service, seed=7, n=4) == alone
        prompt = complete(service, **body)["usage"]["prompt_tokens"]
        assert service.metric("vllm:prompt_tokens_cached_total") == 3 * (prompt - 1)  # the last token is computed by each
        service.wait_idle()


def test_streamed_choices_are_those_of_a_whole_answer(service):
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Name a colour."}], "n": 3, "seed": 1, "max_tokens": 10}
    _, whole = service.post("/v1/chat/completions", body)
    request = urllib.request.Request(service.url + "/v1/chat/completions", json.dumps({**body, "stream": True}).encode(),
                                     {"Content-Type": "application/json"})
    texts = ["", "", ""]
    with urllib.request.urlopen(request, timeout=120) as answer:
        events = [line[6:].decode() for line in answer.read().split(b"\n") if line.startswith(b"data: ")]
    assert events[-1] == "[DONE]"
    choices = [choice for event in events[:-1] for choice in json.loads(event)["choices"]]
    for choice in choices:
        texts[choice["index"]] += choice["delta"].get("content") or ""
    turns = [choice["index"] for choice in choices]
    assert sorted(turns) != turns, "the choices came one after the other"
    assert texts == [choice["message"]["content"] for choice in whole["choices"]]


def test_cached_tokens_are_told_kept_apart_by_salt_and_forgotten_at_a_reset(service):
    prompt = "No other test begins so. " + STORY * 4

    def cached(**body):
        return complete(service, prompt=prompt, **body)["usage"]["prompt_tokens_details"]["cached_tokens"]

    assert cached() == 0
    again = cached()
    assert again > 0 and again % 16 == 0
    assert cached(cache_salt="pepper") == 0
    assert cached(cache_salt="pepper") == again
    service.wait_idle()
    assert service.post("/reset_prefix_cache", {})[0] == 200
    assert cached() == 0


def test_a_request_tells_where_it_stands_by_the_name_it_was_given(service):
    body = {"prompt": STORY, "max_tokens": 400, "ignore_eos": True}
    sender = threading.Thread(target=service.post, args=("/v1/completions", body, {"X-Request-Id": "my-job"}))
    sender.start()
    seen = []

    def running():
        try:
            seen.append(json.loads(service.get("/v1/requests/cmpl-my-job")))
        except urllib.error.HTTPError:
            return False
        return seen[-1]["state"] == "running"

    service.wait_until(running, 60, "running my-job")
    sender.join()
    assert seen[-1]["id"] == "cmpl-my-job" and seen[-1]["choices"][0]["prompt_tokens"] > 0
    try:
        service.get("/v1/requests/cmpl-my-job")
        raise AssertionError("the request is over")
    except urllib.error.HTTPError as error:
        assert error.code == 404 and json.loads(error.read())["error"]["code"] == "not_found"


def test_a_request_ends_with_what_it_has_when_its_own_timeout_is_over(service):
    for stream in (False, True):
        body = {"prompt": STORY, "max_tokens": 4000, "ignore_eos": True, "timeout": 0.3, "stream": stream}
        request = urllib.request.Request(service.url + "/v1/completions", json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            said = answer.read().decode()
        if stream:
            assert said.endswith("data: [DONE]\n\n")
            said = [line for line in said.splitlines() if '"finish_reason":"' in line.replace(" ", "")][-1][len("data: "):]
        choice = json.loads(said)["choices"][0]
        assert (choice["finish_reason"], choice["stop_reason"]) == ("length", "timeout"), "a reason that OpenAI's clients know"
    assert complete(service, timeout=600)["choices"][0]["finish_reason"] in ("length", "stop")
    service.wait_idle()


def test_in_a_full_queue_a_better_request_takes_the_place_of_the_worst(start_service):
    def ask(service, priority):
        return service.post("/v1/completions", {"prompt": STORY, "max_tokens": 4, "ignore_eos": True, "priority": priority})

    flags = ["--scheduling-policy", "priority", "--max-num-seqs", "1", "--max-num-queued-requests", "1"]
    with start_service(*flags) as service, concurrent.futures.ThreadPoolExecutor(2) as pool:
        connection, answer = begin_stream(service)
        worse = pool.submit(ask, service, 9)
        service.wait_until(lambda: service.metric("vllm:num_requests_waiting") == 1, 30, "waiting")
        assert ask(service, 9)[0] == 429, "it is no better"
        better = pool.submit(ask, service, 1)
        status, refusal = worse.result(30)
        assert status == 503 and refusal["error"]["code"] == "unavailable" and refusal["error"]["retry_after"] > 0, refusal
        connection.close()
        answer.close()
        assert better.result(60)[0] == 200
        service.wait_idle()


def test_a_client_that_has_stopped_sending_is_answered(service):
    body = json.dumps({"prompt": STORY, "max_tokens": 8, "temperature": 0}).encode()
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as client:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert json.loads(answer.split(b"\r\n\r\n", 1)[1])["usage"]["completion_tokens"] == 8


def test_a_completion_without_max_tokens_has_what_the_context_leaves(start_service):
    """16 where there is room: nothing that anybody has asked for."""

    def post(service, prompt, **more):
        return service.post("/v1/completions", {"prompt": [100] * prompt, "ignore_eos": True, **more})

    def expect(service, prompt, kept, generated, **more):
        status, answer = post(service, prompt, **more)
        assert status == 200, answer
        assert (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]) == (kept, generated)
        assert ("warnings" in answer) == (kept < prompt)

    for options in ([], ["--allow-auto-truncate"]):
        with start_service("--max-model-len", "128", *options) as service:
            for prompt in (112, 113, 127):
                expect(service, prompt, prompt, 128 - prompt)
                expect(service, prompt, prompt, 128 - prompt, max_tokens=None)
            if options:
                expect(service, 128, 96, 16)
                expect(service, 113, 112, 16, max_tokens=16)
                continue
            for prompt, more, blamed in ((128, {}, "prompt"), (113, {"max_tokens": 16}, "max_tokens")):
                status, refusal = post(service, prompt, **more)
                assert status == 400 and refusal["error"]["param"] == blamed


def test_a_prompt_that_is_too_long_is_cut_where_that_is_allowed(start_service):
    prompt = STORY * 20 + "The end is what counts:"
    with start_service("--max-model-len", "128", "--allow-auto-truncate") as service:
        answer = complete(service, prompt=prompt, max_tokens=28)
        assert answer["usage"] == {"prompt_tokens": 100, "completion_tokens": answer["usage"]["completion_tokens"],
                                   "total_tokens": 100 + answer["usage"]["completion_tokens"],
                                   "prompt_tokens_details": {"cached_tokens": 0}}
        assert "were left out" in answer["warnings"][0]
        assert "warnings" not in complete(service, prompt="short", max_tokens=4)
        for max_tokens, tokens in ((127, 1), (128, 96)):
            answer = complete(service, prompt=prompt, max_tokens=max_tokens)
            assert answer["usage"]["prompt_tokens"] == tokens
            assert ("max_tokens was lowered to 32" in answer["warnings"][0]) == (max_tokens == 128)
    with start_service("--max-model-len", "128") as service:
        status, refusal = service.post("/v1/completions", {"prompt": prompt, "max_tokens": 28})
        assert status == 400 and refusal["error"]["param"] == "prompt"
