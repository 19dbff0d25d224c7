#!/usr/bin/env python3
"""What grammars cost the steps of the running service, on the default model; prints Markdown tables.

    tests/bench/grammar_steps.py [masks] [hostile] [forced]       all when none is named

masks: 32 answers of 64 tokens side by side, of which none, half or all are held to a JSON Schema; all to the same one, or each to
its own that is new.
forced: answers by a schema of long names, with tokens that have no choice taking no step (--grammar-jump-forward) and not.
hostile: 16 answers without a grammar: alone; while two clients send requests for grammars that are refused or costly to a server that
drops them, and while they send them to the service; while the service holds two or eight answers to a grammar, cheap ones or ones
whose masks are costly; and while it holds 24 to schemas of 300 optional members, known ones or each a new one. Each sends ten a second
where the answers come in time.

The hostile clients, and the server that drops what they send, are processes of the lowest priority: what they themselves take from a
step shows between the first two sides. One service; the sides alternate, RUNS (5) times each, medians of the time between two tokens
are shown. On a machine that others use, run all of it under one prefix, such as
"nice -n -18 tests/bench/grammar_steps.py".
"""
import asyncio
import contextlib
import math
import multiprocessing
import os
import socket
import statistics
import sys
import time

from serving import cpu, quantile, served, stream

RUNS = int(os.environ.get("RUNS", "5"))


def schema(longest=30):
    return {"type": "array", "minItems": 60, "items": {"type": "object", "required": ["name", "size"], "additionalProperties": False,
            "properties": {"name": {"type": "string", "maxLength": longest}, "size": {"type": "integer"}}}}


HOSTILE = [{"regex": "(" * 60_000 + ")" * 60_000},
           {"json": {"enum": list(range(200_000))}},
           {"json": {"type": "string", "pattern": "(a|b)" * 100_000}},
           {"json": {"allOf": [{"anyOf": [{"properties": {f"p{i}": {"const": j}}, "required": [f"p{i}"]} for j in range(8)]}
                               for i in range(12)]}},
           {"regex": "((a{1000}){1000}){1000}"}]


def hostile_grammars(_):
    return HOSTILE


def cheap_grammars(number):
    return [{"regex": f"([a-z ]|{number})*"}]


def costly_grammars(number):
    """Soon compiled, but each of their masks is work. New ones for each number, since what masks were made of is remembered."""
    return [{"grammar": f'root ::= (x x x x x x x x x x)*\nx ::= "a"? y\ny ::= "b{number}"? root?\n'},
            {"regex": f"(.*{number}.{{18}})*"},
            {"json": {"type": "object", "patternProperties": {word: {"const": number} for word in ("alpha", "beta", "gamma", "delta")}}},
            {"grammar": f'root ::= s s s s s s s s\ns ::= t* | "{number}" s "x" | u\nt ::= "a" | "aa" | s? "b" s?\nu ::= "c" u? "c"?\n'}]


def new_members(number):
    return [{"json": {"type": "object", "additionalProperties": False,
                      "properties": {f"member_{number}_{i}": {"type": "integer", "minimum": i, "maximum": i + 1000 + number}
                                     for i in range(300)}}}]


def known_members(number):
    return new_members(number % 24)


async def answer(service, number, grammar, tokens=128):
    """The seconds between the tokens of one answer, without the first few."""
    body = {"prompt": f"List {number}:", "max_tokens": tokens, "temperature": 1, "seed": number, "ignore_eos": True}
    if grammar:
        body["structured_outputs"] = grammar
    times = [at async for at, event in stream(service.port, "/v1/completions", body) if event["choices"]]
    return [b - a for a, b in zip(times[8:], times[9:])]


async def side_by_side(service, count, held, longest, tokens=128):
    """`held` of `count` answers have a schema, which is schema(longest(its number))."""
    gaps = await asyncio.gather(*(answer(service, i, {"json": schema(longest(i))} if i < held else None, tokens)
                                  for i in range(count)))
    return [gap for each in gaps for gap in each]


def middle_of(values):
    """The median, and between what it lies with 95 % confidence, by the order of the values alone; all of them where few."""
    ordered = sorted(values)
    outside = max(0, math.floor(len(ordered) / 2 - len(ordered) ** 0.5))
    return statistics.median(ordered), ordered[outside], ordered[-1 - outside]


def masks(service):
    """
    Each side runs between two runs of the side without grammars, and is compared with the mean of these: the machine's pace
    changes, so that a run is short.
    """
    sides = {"half, the same one": (16, False), "all, the same one": (32, False), "half, each its own, new": (16, True),
             "all, each its own, new": (32, True)}
    base, steps, ratios = [], {side: [] for side in sides}, {side: [] for side in sides}

    def step(run, held, own):
        def longest(number, first=30 + 64 * run + held):
            return first + number if own else 30
        return statistics.median(asyncio.run(side_by_side(service, 32, held, longest, tokens=64)))

    for run in range(RUNS):
        base.append(step(run, 0, False))
        for side, (held, own) in sides.items():
            taken = step(run, held, own)
            base.append(step(run, 0, False))
            steps[side].append(taken)
            ratios[side].append(2 * taken / (base[-2] + base[-1]))
    print("| of 32 answers with a grammar | time of a step, p50 | against none beside it: median (95 % interval) |\n|---|---|---|")
    print(f"| none | {statistics.median(base) * 1e3:.2f} ms | 1 |")
    for side in sides:
        middle, low, high = middle_of(ratios[side])
        print(f"| {side} | {statistics.median(steps[side]) * 1e3:.2f} ms | {middle:.3f} ({low:.3f} to {high:.3f}) |")
    print(flush=True)


def drop_requests(listening):
    """Answers every request on the socket with 400 once its body has come."""
    os.setpriority(os.PRIO_PROCESS, 0, 19)

    async def serve(reader, writer):
        header = await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(int(header.lower().split(b"content-length:")[1].split()[0]))
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def forever():
        await (await asyncio.start_server(serve, sock=listening, limit=2**22)).serve_forever()

    asyncio.run(forever())


def attack(port, number, grammars, tokens):
    os.setpriority(os.PRIO_PROCESS, 0, 19)

    async def ask():
        choice = grammars(number)
        body = {"prompt": "x", "max_tokens": tokens, "temperature": 1, "structured_outputs": choice[number % len(choice)]}
        with contextlib.suppress(RuntimeError):
            async for _ in stream(port, "/v1/completions", body):
                pass

    due = time.monotonic()
    while True:
        asyncio.run(ask())
        number += 1009  # no other client's
        due = max(due + 0.1, time.monotonic())
        time.sleep(max(0, due - time.monotonic()))


async def crowd(service):
    gaps = await asyncio.gather(*(answer(service, i, None, 256) for i in range(16)))
    return [gap for each in gaps for gap in each]


def hostile(service):
    listening = socket.create_server(("127.0.0.1", 0))
    dropping = multiprocessing.Process(target=drop_requests, args=(listening,), daemon=True)
    dropping.start()
    elsewhere = listening.getsockname()[1]
    sides = {"16 answers alone": [], "beside clients whose hostile requests go elsewhere": [(elsewhere, hostile_grammars, 4)] * 2,
             "beside hostile requests": [(service.port, hostile_grammars, 4)] * 2,
             "beside two answers by cheap grammars": [(service.port, cheap_grammars, 32)] * 2,
             "beside two answers by costly ones": [(service.port, costly_grammars, 32)] * 2,
             "beside eight answers by cheap ones": [(service.port, cheap_grammars, 32)] * 8,
             "beside eight answers by costly ones": [(service.port, costly_grammars, 32)] * 8,
             "beside 24 answers by known schemas of 300 members": [(service.port, known_members, 64)] * 24,
             "beside 24 answers by new ones": [(service.port, new_members, 64)] * 24}
    results = {side: [] for side in sides}
    for run in range(RUNS):
        for side, attacks in sides.items():
            attackers = [multiprocessing.Process(target=attack, args=(port, 100_000 * (run + 1) + i, grammars, tokens), daemon=True)
                         for i, (port, grammars, tokens) in enumerate(attacks)]
            for each in attackers:
                each.start()
            time.sleep(0.5)
            gaps = asyncio.run(crowd(service))
            for each in attackers:
                each.terminate()
                each.join()
            results[side].append((statistics.median(gaps), quantile(gaps, 0.99), max(gaps)))
    print("| | time of a step, p50 | p99 | longest |\n|---|---|---|---|")
    for side, runs in results.items():
        print(f"| {side} | " + " | ".join(f"{statistics.median(column) * 1e3:.2f} ms" for column in zip(*runs)) + " |")
    print(flush=True)
    dropping.terminate()
    dropping.join()


RECORD = {"type": "object", "additionalProperties": False,
          "required": ["identification_number", "is_currently_available", "shipping_address"],
          "properties": {"identification_number": {"type": "integer", "maximum": 99999}, "is_currently_available": {"type": "boolean"},
                         "shipping_address": {"type": "object", "required": ["postal_code", "country_code"],
                                              "additionalProperties": False,
                                              "properties": {"postal_code": {"type": "string", "maxLength": 8},
                                                             "country_code": {"enum": ["DE", "FR", "PL"]}}}}}


async def seconds_of(service, seed):
    body = {"prompt": "The record as JSON:", "max_tokens": 200, "temperature": 1, "seed": seed,
            "structured_outputs": {"json": RECORD, "disable_any_whitespace": True}}
    last = tokens = 0
    async for at, event in stream(service.port, "/v1/completions", body):
        last = at
        tokens = (event.get("usage") or {}).get("completion_tokens", tokens)
    return last, tokens


async def answers_of(service, side_by_side):
    return [pair for begin in range(0, 16, side_by_side)
            for pair in await asyncio.gather(*(seconds_of(service, begin + i) for i in range(side_by_side)))]


def forced(_):
    sides = {"a step for every token": "--no-grammar-jump-forward", "none where there is no choice": "--grammar-jump-forward"}
    results = {}
    for _ in range(RUNS):
        for side, flag in sides.items():
            with served(flag) as service:
                for width in 1, 8:
                    asyncio.run(answers_of(service, width))
                    pairs = asyncio.run(answers_of(service, width))
                    per_token = statistics.median(last / tokens for last, tokens in pairs)
                    results.setdefault((width, side), []).append((statistics.median(last for last, _ in pairs), per_token))
    print("| | answers side by side | time of an answer, p50 | per token |\n|---|---|---|---|")
    for (width, side), runs in results.items():
        whole, per_token = (statistics.median(column) * 1e3 for column in zip(*runs))
        print(f"| {side} | {width} | {whole:.1f} ms | {per_token:.2f} ms |")
    print(flush=True)


def main():
    sides = {"masks": masks, "hostile": hostile, "forced": forced}
    chosen = sys.argv[1:] or list(sides)
    if any(name not in sides for name in chosen):
        sys.exit(__doc__)
    print(f"CPU: {cpu()}; {RUNS} runs of each side in turn, medians\n")
    # Refusals are not remembered, so that each is worked out again.
    with served("--grammar-refusal-time", "0s") as service:
        asyncio.run(side_by_side(service, 32, 32, lambda number: 30))
        for name in chosen:
            sides[name](service)


if __name__ == "__main__":
    main()
