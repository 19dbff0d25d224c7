"""Bad input gets a 4xx that says why, and harms nobody."""
import http.client
import json
import os
import random
import re
import socket

import pytest

from conftest import ROOT

CHAT = "/v1/chat/completions"
TEXT = "/v1/completions"
HELLO = [{"role": "user", "content": "Hello"}]


@pytest.fixture(autouse=True)
def leaves_nothing_behind(service):
    before = service.resources()
    yield
    service.wait_as_before(before)


def still_serves(service):
    status, answer = service.post(TEXT, {"prompt": "The capital of France is", "max_tokens": 1, "temperature": 0})
    return status == 200 and answer["choices"][0]["text"] == " Paris"


BAD = [
    (CHAT, b"{not json", None),
    (CHAT, b"", None),
    (CHAT, b"[1, 2]", None),
    (CHAT, b'"text"', None),
    (CHAT, b'{"messages": [{"role": "user", "content": "\xff\xfe"}]}', None),
    (CHAT, b"[" * 100_000, None),
    (CHAT, {}, "messages"),
    (CHAT, {"messages": "Hello"}, "messages"),
    (CHAT, {"messages": []}, "messages"),
    (CHAT, {"messages": [{"content": "no role"}]}, "messages"),
    (CHAT, {"messages": [{"role": "user", "content": 5}]}, "messages"),
    (CHAT, {"messages": HELLO, "max_tokens": "ten"}, "max_tokens"),
    (CHAT, {"messages": HELLO, "max_tokens": 0}, "max_tokens"),
    (CHAT, {"messages": HELLO, "max_tokens": -1}, "max_tokens"),
    (CHAT, {"messages": HELLO, "max_tokens": 2**63}, "max_tokens"),
    (CHAT, {"messages": HELLO, "temperature": -0.1}, "temperature"),
    (CHAT, {"messages": HELLO, "temperature": "hot"}, "temperature"),
    (CHAT, '{"messages": [{"role": "user", "content": "x"}], "temperature": NaN}', None),
    (CHAT, '{"messages": [{"role": "user", "content": "x"}], "temperature": Infinity}', None),
    (CHAT, '{"messages": [{"role": "user", "content": "x"}], "temperature": 1e999}', None),
    (CHAT, {"messages": HELLO, "top_p": -0.1}, "top_p"),
    (CHAT, {"messages": HELLO, "top_p": 1.5}, "top_p"),
    (CHAT, {"messages": HELLO, "top_k": -7}, "top_k"),
    (CHAT, {"messages": HELLO, "min_p": 2}, "min_p"),
    (CHAT, {"messages": HELLO, "presence_penalty": 9}, "presence_penalty"),
    (CHAT, {"messages": HELLO, "frequency_penalty": -9}, "frequency_penalty"),
    (CHAT, {"messages": HELLO, "repetition_penalty": 0}, "repetition_penalty"),
    (CHAT, {"messages": HELLO, "n": 0}, "n"),
    (CHAT, {"messages": HELLO, "n": 129}, "n"),
    (CHAT, {"messages": HELLO, "priority": "high"}, "priority"),
    (CHAT, {"messages": HELLO, "timeout": 0}, "timeout"),
    (TEXT, {"prompt": "hi", "timeout": "soon"}, "timeout"),
    (CHAT, {"messages": HELLO, "cache_salt": ""}, "cache_salt"),
    (CHAT, {"messages": HELLO, "n": 10**9}, "n"),
    (CHAT, {"messages": HELLO, "stop": ["x"] * 17}, "stop"),
    (CHAT, {"messages": HELLO, "stop": [""]}, "stop"),
    (CHAT, {"messages": HELLO, "stop": 7}, "stop"),
    (CHAT, {"messages": HELLO, "logit_bias": {"no number": 1}}, "logit_bias"),
    (CHAT, {"messages": HELLO, "logit_bias": {"99999999": 1}}, "logit_bias"),
    (CHAT, {"messages": HELLO, "logprobs": True, "top_logprobs": 1000}, "top_logprobs"),
    (CHAT, {"messages": HELLO, "stop_token_ids": [-1]}, "stop_token_ids"),
    (CHAT, {"messages": HELLO, "stream": "yes"}, "stream"),
    (TEXT, {"prompt": ""}, "prompt"),
    (TEXT, {"prompt": []}, "prompt"),
    (TEXT, {"prompt": [-1]}, "prompt"),
    (TEXT, {"prompt": [49152]}, "prompt"),
    (TEXT, {"prompt": [1.5]}, "prompt"),
    (TEXT, {"prompt": {"text": "x"}}, "prompt"),
    (TEXT, {"prompt": "word " * 20_000}, "prompt"),
    (TEXT, {"prompt": "Hello", "max_tokens": 100_000}, "max_tokens"),
]


@pytest.mark.parametrize("path, body, param", BAD, ids=[f"{p}-{str(b)[:60]}" for p, b, _ in BAD])
def test_a_bad_request_is_answered_400_with_the_reason(service, path, body, param):
    status, answer = service.post(path, body)
    assert status == 400, answer
    error = answer["error"]
    assert set(error) >= {"message", "type", "param", "code"} and len(error["message"]) > 10
    if param:
        assert error["param"] == param, error


def test_what_the_readme_says_is_refused_is_refused_and_empty_members_are_not(service):
    sentence = re.search(r"Not supported, and refused with 400 .*?:\n(.*?);", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    names = set(re.findall(r"`(\w+)`", sentence)) - {"none", "auto"}
    assert len(names) > 10
    for path, body in ((CHAT, {"messages": HELLO}), (TEXT, {"prompt": "hi"})):
        for name in names:
            status, answer = service.post(path, body | {name: True})
            assert (status, answer["error"]["param"]) == (400, name), answer
        for nothing in ([], {}, "", False):
            empty = {name: nothing for name in names}
            assert service.post(path, body | empty | {"max_tokens": 1})[0] == 200


def test_an_unknown_model_is_404(service):
    status, answer = service.post(CHAT, {"model": "gpt-5", "messages": HELLO})
    assert status == 404 and "gpt-5" in answer["error"]["message"]


def test_unknown_routes_and_methods_are_json_errors(service):
    assert service.post("/v2/chat", {})[0] == 404
    assert service.post("/v1/models", {})[0] == 405
    assert service.status(CHAT) == 405


def raw(service, data, port=None, half_close=True):
    """Everything the service says to these bytes until it closes."""
    with socket.create_connection(("127.0.0.1", port or service.port), timeout=60) as peer:
        answer = b""
        try:
            peer.sendall(data)
            if half_close:
                peer.shutdown(socket.SHUT_WR)
            while piece := peer.recv(65536):
                answer += piece
        except (ConnectionResetError, BrokenPipeError):
            pass
        return answer


def test_a_body_of_100_megabytes_is_413_and_not_read(service):
    head = b"POST " + CHAT.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n"
    assert b" 413 " in raw(service, head, half_close=False).split(b"\r\n")[0]
    assert still_serves(service)


def test_a_client_that_sends_all_100_megabytes_first_gets_the_answer(service):
    head = b"POST " + CHAT.encode() + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 104857600\r\n\r\n"
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as peer:
        peer.sendall(head)
        for _ in range(100):
            peer.sendall(b"x" * 1048576)
        assert b" 413 " in peer.recv(65536).split(b"\r\n")[0]
    assert still_serves(service)


LARGE = 31 << 20  # bytes; a body may have 32 MiB


@pytest.mark.parametrize("path, body, wanted", [
    (TEXT, '{"prompt": "%s"}' % ("hello world " * (LARGE // 12)), 400),
    (TEXT, '{"prompt": [%s]}' % ",".join(["1234"] * (LARGE // 5)), 400),
    (TEXT, '{"prompt": [%s]}' % ",".join(["[1,2,3]"] * (LARGE // 8)), 400),
    ("/tokenize", '{"prompt": "%s", "return_token_strs": true}' % ("hello world " * (LARGE // 12)), 200),
], ids=["text", "tokens", "values", "tokenize"])
def test_the_memory_of_a_large_body_is_given_back(service, path, body, wanted):
    """Which leaves_nothing_behind compares."""
    assert service.post(path, body)[0] == wanted
    assert still_serves(service)


def test_a_chunked_body_without_end_is_cut_off(service):
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as peer:
        peer.sendall(b"POST " + CHAT.encode() + b" HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            for _ in range(120):
                peer.sendall(b"100000\r\n" + b"x" * 0x100000 + b"\r\n")
        except (ConnectionResetError, BrokenPipeError):
            pass
    assert still_serves(service)


def test_a_header_of_a_megabyte_is_refused(service):
    answer = raw(service, b"GET /v1/models HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 1048576 + b"\r\n\r\n")
    assert b" 431 " in answer.split(b"\r\n")[0]
    assert still_serves(service)


@pytest.mark.parametrize("cut", [1, 10, 40, 100])
def test_a_half_sent_request_harms_nobody(service, cut):
    whole = b"POST " + CHAT.encode() + b' HTTP/1.1\r\nHost: x\r\nContent-Length: 60\r\n\r\n{"messages": [{"role"'
    raw(service, whole[:cut])
    assert still_serves(service)


@pytest.mark.parametrize("seed", range(10))
def test_binary_garbage_on_both_ports_harms_nobody(service, seed):
    rng = random.Random(seed)
    for port in (service.port, service.tcp_port):
        raw(service, rng.randbytes(rng.choice([1, 7, 100, 5000])), port)
        raw(service, b"\xff" * 64, port)
    assert still_serves(service)


def test_garbage_again_and_again_leaves_nothing_open(service):
    for _ in range(50):
        raw(service, os.urandom(50))
        raw(service, os.urandom(50), service.tcp_port)
