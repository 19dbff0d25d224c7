#!/usr/bin/env python3
"""What grammars cost the steps of the running service, on the default model; prints Markdown tables.

    tests/bench/grammar_steps.py [masks] [hostile]       both when none is named

masks: 32 answers of 128 tokens side by side, of which none, half or all are held to a JSON Schema.
hostile: 16 answers without a grammar, alone and while others ask for grammars that are refused or costly.

One service; the sides alternate, RUNS (5) times each, medians of the time between two tokens are shown. On a machine that
others use, run all of it under one prefix, such as "chrt -f 5 tests/bench/grammar_steps.py".
"""
import asyncio
import contextlib
import os
import statistics
import sys

from serving import cpu, quantile, served, stream

RUNS = int(os.environ.get("RUNS", "5"))
SCHEMA = {"type": "array", "minItems": 60, "items": {"type": "object", "required": ["name", "size"], "additionalProperties": False,
          "properties": {"name": {"type": "string", "maxLength": 30}, "size": {"type": "integer"}}}}
HOSTILE = [{"regex": "(" * 60_000 + ")" * 60_000},
           {"json": {"enum": list(range(200_000))}},
           {"json": {"type": "string", "pattern": "(a|b)" * 100_000}},
           {"json": {"allOf": [{"anyOf": [{"properties": {f"p{i}": {"const": j}}, "required": [f"p{i}"]} for j in range(8)]}
                               for i in range(12)]}},
           {"regex": "((a{1000}){1000}){1000}"}]


async def answer(service, number, grammar, tokens=128):
    """The seconds between the tokens of one answer, without the first few."""
    body = {"prompt": f"List {number}:", "max_tokens": tokens, "temperature": 1, "seed": number, "ignore_eos": True}
    if grammar:
        body["structured_outputs"] = grammar
    times = [at async for at, event in stream(service.port, "/v1/completions", body) if event["choices"]]
    return [b - a for a, b in zip(times[8:], times[9:])]


async def side_by_side(service, count, held):
    """`held` of `count` answers have the schema."""
    gaps = await asyncio.gather(*(answer(service, i, {"json": SCHEMA} if i < held else None) for i in range(count)))
    return [gap for each in gaps for gap in each]


def masks(service):
    sides = {"none": 0, "half": 16, "all": 32}
    results = {side: [] for side in sides}
    for _ in range(RUNS):
        for side, held in sides.items():
            results[side].append(statistics.median(asyncio.run(side_by_side(service, 32, held))))
    print("| of 32 answers with a grammar | time of a step, p50 | against none |\n|---|---|---|")
    base = statistics.median(results["none"])
    for side, runs in results.items():
        print(f"| {side} | {statistics.median(runs) * 1e3:.2f} ms | {statistics.median(runs) / base:.3f} |")
    print(flush=True)


async def beside(service, attackers):
    async def attack(number):
        while True:
            body = {"prompt": "x", "max_tokens": 4, "structured_outputs": HOSTILE[number % len(HOSTILE)]}
            with contextlib.suppress(RuntimeError):
                async for _ in stream(service.port, "/v1/completions", body):
                    pass
            number += 1
            await asyncio.sleep(0.02)

    tasks = [asyncio.create_task(attack(i)) for i in range(attackers)]
    gaps = await asyncio.gather(*(answer(service, i, None, 256) for i in range(16)))
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    return [gap for each in gaps for gap in each]


def hostile(service):
    sides = {"16 answers alone": 0, "beside hostile grammars": 2}
    results = {side: [] for side in sides}
    for _ in range(RUNS):
        for side, attackers in sides.items():
            gaps = asyncio.run(beside(service, attackers))
            results[side].append((statistics.median(gaps), quantile(gaps, 0.99), max(gaps)))
    print("| | time of a step, p50 | p99 | longest |\n|---|---|---|---|")
    for side, runs in results.items():
        print(f"| {side} | " + " | ".join(f"{statistics.median(column) * 1e3:.2f} ms" for column in zip(*runs)) + " |")
    print(flush=True)


def main():
    chosen = sys.argv[1:] or ["masks", "hostile"]
    sides = {"masks": masks, "hostile": hostile}
    if any(name not in sides for name in chosen):
        sys.exit(__doc__)
    print(f"CPU: {cpu()}; {RUNS} runs of each side in turn, medians\n")
    # Refusals are not remembered, so that each is worked out again.
    with served("--grammar-refusal-time", "0s") as service:
        asyncio.run(side_by_side(service, 32, 32))
        for name in chosen:
            sides[name](service)


if __name__ == "__main__":
    main()
