"""What engines of this kind have been attacked by: one test for each class in docs/reliability.md that needs a whole service."""
import concurrent.futures
import json
import pathlib
import re
import time

import pytest

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
HELLO = [{"role": "user", "content": "Hello"}]
# Text, as JSON has no way to write most of them.
ODD = ["NaN", "-NaN", "Infinity", "-Infinity", "1e999", "-1e999", "3.5e38", "-1", "-0.0", "0.5", "9223372036854775807",
       "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e400000", '"1"', "[]", "true"]
NUMBERS = ["temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty", "seed", "n",
           "best_of", "max_tokens", "min_tokens", "logprobs", "top_logprobs", "prompt_logprobs", "priority", "timeout",
           "max_completion_tokens", "truncate_prompt_tokens"]
PLACES = [f'"{name}": %s' for name in NUMBERS] + ['"logit_bias": {"5": %s}', '"logit_bias": {"%s": 1}', '"stop_token_ids": [%s]']


def still_serves(service):
    status, answer = service.post(TEXT, {"prompt": "The capital of France is", "max_tokens": 1, "temperature": 0})
    return status == 200 and answer["choices"][0]["text"] == " Paris"


@pytest.mark.parametrize("place", PLACES)
def test_unbounded_or_odd_numbers_in_any_field_are_refused_or_harmless(service, place):
    for number in ODD:
        member = place % number.strip('"') if '"%s"' in place else place % number
        short = "" if "max_" in place else '"max_tokens": 2, '
        for path, prompt in ((CHAT, '"messages": [{"role": "user", "content": "Hi"}]'), (TEXT, '"prompt": [504]')):
            status, answer = service.post(path, "{%s%s, %s}" % (short, prompt, member))
            assert status in (200, 400), (member, answer)
            if status == 400:
                assert set(answer["error"]) >= {"message", "type", "param", "code"}
    assert still_serves(service)


ADDRESS = re.compile(r"0x[0-9a-fA-F]{4,}|\b[0-9a-fA-F]{12,16}\b")
PATH = re.compile(r"/(?:root|home|usr|tmp|var|etc|proc|lib|opt|work)\b|\.[ch]pp\b|terminate called|std::|nlohmann|boost")
FAULTY = [
    (CHAT, b"{"), (CHAT, b""), (CHAT, b"\xff\xfe"), (CHAT, b"[" * 100_000), (CHAT, b'{"messages": [{"role": "user"}]}'),
    (CHAT, {"messages": HELLO, "model": "/etc/passwd"}), (CHAT, {"messages": HELLO, "model": "../../x"}),
    (CHAT, {"messages": HELLO, "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {"$ref": "file:///x"}}}}),
    (CHAT, {"messages": HELLO, "structured_outputs": {"regex": "(" * 60_000}}),
    (CHAT, {"messages": HELLO, "structured_outputs": {"grammar": "root ::= root"}}),
    (CHAT, {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///x"}}]}]}),
    (TEXT, {"prompt": [2**62]}), (TEXT, {"prompt": "x", "logit_bias": {"9" * 400: 1}}),
    ("/tokenize", {"prompt": 7}), ("/detokenize", {"tokens": [-1]}), ("/detokenize", {"tokens": "x"}), ("/nowhere", {}),
    ("/%2e%2e/%2e%2e/", {}),
]


@pytest.mark.parametrize("path, body", FAULTY, ids=[f"{p}-{str(b)[:40]}" for p, b in FAULTY])
def test_no_error_tells_an_address_or_a_path_of_this_machine(service, path, body):
    status, answer = service.post(path, body)
    assert 400 <= status < 500, answer
    message = answer["error"]["message"]
    sent = (body if isinstance(body, bytes) else json.dumps(body).encode()).decode(errors="replace") + path
    told = message
    for word in re.findall(r"[\w./:-]{3,}", sent):  # what the client sent may be said again
        told = told.replace(word, "")
    assert not ADDRESS.search(told) and not PATH.search(told), message


def test_what_is_refused_leaves_nothing_in_what_is_served(service):
    expected = service.post(TEXT, {"prompt": "One, two,", "max_tokens": 8, "temperature": 0})[1]["choices"][0]["text"]
    for _, body in FAULTY[:12]:
        service.post(CHAT, body)
        assert service.post(TEXT, {"prompt": "One, two,", "max_tokens": 8, "temperature": 0})[1]["choices"][0]["text"] == expected


POISON = 31337


def test_a_poisoned_request_in_a_crowd_fails_alone(service, start_service, monkeypatch):
    """It ends the runner's process whenever that reads one of its tokens, beside requests that are being answered."""
    def ask(of, prompt):
        return of.post(TEXT, {"prompt": prompt, "max_tokens": 100, "temperature": 0, "ignore_eos": True})

    prompts = ["One, two,", "Once upon a time", "The capital of France is", "A clock is", "In winter", "def main():", "Tea", "To be"]
    undisturbed = [ask(service, prompt)[1]["choices"][0]["text"] for prompt in prompts]
    monkeypatch.setenv("TROUPE_CHAOS", f"runner_process:poison:{POISON}")
    with start_service() as crowded, concurrent.futures.ThreadPoolExecutor(len(prompts)) as pool:
        before = crowded.resources()
        crowd = [pool.submit(ask, crowded, prompt) for prompt in prompts]
        crowded.wait_until(lambda: crowded.metric("vllm:num_requests_running") == len(prompts), 60, "crowded")
        status, answer = ask(crowded, [504, POISON, 504])
        assert status == 500 and answer["error"]["code"] == "internal_error", answer
        assert [each.result()[1]["choices"][0]["text"] for each in crowd] == undisturbed
        assert crowded.metric("troupe_actor_restarts_total") > 1, "who it was is found by trying"
        assert crowded.status("/livez") == 200 and still_serves(crowded)
        crowded.wait_until(lambda: crowded.status("/readyz") == 200, 30, "ready again")
        crowded.wait_as_before(before, 64)


def test_a_crowd_of_poisoned_requests_fails_and_nobody_else(service, start_service, monkeypatch):
    def ask(of, prompt):
        return of.post(TEXT, {"prompt": prompt, "max_tokens": 150, "temperature": 0, "ignore_eos": True}, timeout=120)

    prompts = ["One, two,", "Once upon a time", "A clock is"]
    undisturbed = [ask(service, prompt)[1]["choices"][0]["text"] for prompt in prompts]
    monkeypatch.setenv("TROUPE_CHAOS", f"runner_process:poison:{POISON}")
    with start_service() as crowded, concurrent.futures.ThreadPoolExecutor(32) as pool:
        before = crowded.resources()
        good = [pool.submit(ask, crowded, prompt) for prompt in prompts]
        crowded.wait_until(lambda: crowded.metric("vllm:num_requests_running") == len(prompts), 60, "crowded")
        bad = [pool.submit(ask, crowded, [504 + i, POISON, 504]) for i in range(14)]
        assert {each.result()[0] for each in bad} == {500}
        assert [each.result()[1]["choices"][0]["text"] for each in good] == undisturbed
        assert crowded.status("/livez") == 200 and still_serves(crowded)
        crowded.wait_until(lambda: crowded.status("/readyz") == 200, 30, "ready again")
        crowded.wait_as_before(before, 64)


def listening(pid):
    """The addresses that the process listens on, as /proc has them."""
    sockets = set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            sockets.add(entry.readlink().name)
        except OSError:
            continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                found.append(fields[1].split(":")[0])
    return found


def test_nothing_is_listened_on_but_the_two_ports_of_loopback(service):
    assert listening(service.process.pid) == ["0100007F"] * 2


def test_what_one_tenant_has_cached_is_neither_told_nor_quicker_for_another(service):
    prompt = f"Only here and at {time.time()} stands this. " + "A long text of one tenant, in many words. " * 20

    def cached(**body):
        answer = service.post(TEXT, {"prompt": prompt, "max_tokens": 1, **body})[1]
        return answer["usage"]["prompt_tokens_details"]["cached_tokens"]

    assert cached(cache_salt="mine") == 0
    assert cached(cache_salt="mine") > 0
    # What is not found is computed again: the time it takes tells nothing either.
    assert cached(cache_salt="yours") == cached() == 0


def test_a_template_of_a_client_is_refused(service):
    for name, value in (("chat_template", "{{ 7 * 7 }}"), ("chat_template_kwargs", "{{ 7 * 7 }}"), ("chat_template_kwargs", {"chat_template": "{{ 7 * 7 }}"})):
        status, answer = service.post(CHAT, {"messages": HELLO, "max_tokens": 1, name: value})
        assert status == 400 and answer["error"]["param"] == name, answer
