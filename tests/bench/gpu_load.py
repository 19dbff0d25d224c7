#!/usr/bin/env python3
"""Clients of a running service, each with one streamed request after the other: how many tokens come, and when.

    tests/bench/gpu_load.py PORT CLIENTS SECONDS [MEMBERS]

MEMBERS is a JSON object of further members of each request. Prints one JSON object: output tokens a second, without the first fifth
of the time, and medians of the time to the first token and of the time for each that follows. An answer is counted and hardly read, by
several processes, so that what is measured is the service.
"""
import concurrent.futures
import json
import os
import random
import re
import socket
import statistics
import sys
import threading
import time

from gpu_process import die_with_parent

PROMPT, ANSWER = 128, 128  # tokens
PATIENCE = 30.0  # seconds for each piece of an answer
EVENT = b"data: {"
COUNTED = re.compile(rb'"completion_tokens":(\d+)')


def body_of(client, turn, members):
    """A prompt that no other request has, so that nothing of it is cached: of bytes, which every vocabulary of gpu_models.py has."""
    dice = random.Random(f"{client} {turn}")
    return {"model": "service", "prompt": [dice.randrange(1, 257) for _ in range(PROMPT)], "max_tokens": ANSWER, "temperature": 0,
            "ignore_eos": True, "stream": True, "stream_options": {"include_usage": True}, **members}


def answer(port, body):
    """When the request was sent, when its first tokens came and its last, and how many there were."""
    payload = json.dumps(body).encode()
    begun, first, last, text = time.monotonic(), None, None, b""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as connection:
        connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nConnection: close\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(payload) + payload)
        while piece := connection.recv(1 << 16):
            text += piece
            if first or EVENT in text:
                last = time.monotonic()
                first = first or last
    counts = COUNTED.findall(text)
    if first is None or not counts or b"[DONE]" not in text:
        sys.exit(f"an answer that does not end well: {' '.join(text[-300:].decode(errors='replace').split())}")
    return begun, first, last, int(counts[-1])


def share(port, numbers, end, members):
    """One process's clients."""
    answers, failures = [], []

    def client(number):
        turn = 0
        try:
            while turn == 0 or time.monotonic() < end:  # one who begins late has an answer, too
                answers.append(answer(port, body_of(number, turn, members)))
                turn += 1
        except (OSError, SystemExit) as why:
            failures.append(str(why))

    threads = [threading.Thread(target=client, args=(number,)) for number in numbers]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return answers, failures


def tokens_within(answers, begin, end):
    """Those of an answer come evenly from its first to its last."""
    total = 0.0
    for _, first, last, tokens in answers:
        overlap = min(last, end) - max(first, begin)
        total += tokens * max(0.0, overlap) / (last - first) if last > first else tokens * (begin <= first < end)
    return total


def load(port, clients, seconds, members):
    begin = time.monotonic()
    processes = min(clients, max(1, (os.cpu_count() or 2) // 2))
    with concurrent.futures.ProcessPoolExecutor(processes, initializer=die_with_parent) as pool:
        shares = [pool.submit(share, port, range(first, clients, processes), begin + seconds, members) for first in range(processes)]
        found = [each.result() for each in shares]
    if failures := [why for _, of_share in found for why in of_share]:
        sys.exit(f"{len(failures)} clients failed, one of them: {failures[0]}")
    answers = [each for of_share, _ in found for each in of_share]
    return {"clients": clients, "answers": len(answers),
            "tokens_per_s": tokens_within(answers, begin + seconds / 5, begin + seconds) / (0.8 * seconds),
            "first_token_ms": 1e3 * statistics.median(first - begun for begun, first, _, _ in answers),
            "token_ms": 1e3 * statistics.median((last - first) / (tokens - 1) for _, first, last, tokens in answers)}


if __name__ == "__main__":
    port, clients, seconds = sys.argv[1:4]
    print(json.dumps(load(int(port), int(clients), float(seconds), json.loads((sys.argv[4:] or ["{}"])[0]))))
