#!/usr/bin/env python3
"""What drafts bring and cost on the default model; prints Markdown tables.

    tests/bench/drafts.py [tasks] [crowd] [within] [model]        the first two when none is named

tasks: one request at a time: rewriting code with one change, summarising with quotes, free chat, five prompts of each
(draft_prompts.py); tokens a second with drafts and without, and how many of the drafts were right; by each of METHODS ("suffix ngram").
crowd: 1, 2, 4, 8, 16, 32 and 64 (CROWDS) free chats side by side, in SLICES (40) slices of about a second.
within: the same in one service, whose chats may have drafts or ask for none (num_speculative_tokens 0) by turns: two services that
start one after the other differ by more than drafts cost, in what they are tuned to and in where their memory lies.
model: how many drafts of a draft model are right that is the model itself: of greedy answers, seeded ones and others.

But for within: two services, one with drafts (TROUPE_SPECULATIVE_CONFIG, {"method": "suffix"}) and one without; they are asked in turns, tasks RUNS (3)
times each prompt, and medians are shown. The answers of both must be the same. On a machine that others use, run all of it under one
prefix, such as "nice -n -18 tests/bench/drafts.py".
"""
import argparse
import asyncio
import contextlib
import dataclasses
import json
import math
import os
import pathlib
import statistics
import time
import urllib.request

from draft_prompts import TASKS
from serving import MODEL, ROOT, cpu, generate, served

RUNS = int(os.environ.get("RUNS", "3"))
SLICES = int(os.environ.get("SLICES", "40"))
CONFIG = os.environ.get("TROUPE_SPECULATIVE_CONFIG", '{"method": "suffix"}')
METHODS = os.environ.get("METHODS", "suffix ngram").split()
MODEL_FILE = ROOT / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"


@contextlib.contextmanager
def warm(config="off"):
    """A service that has measured what it costs to verify drafts."""
    with served("--warmup", "lazy", "--speculative-config", config) as service:
        while service.metric("troupe_warmup_progress") < 1:
            time.sleep(0.2)
        yield service


def counters(service):
    with urllib.request.urlopen(f"http://127.0.0.1:{service.port}/metrics") as answer:
        lines = answer.read().decode().splitlines()
    found = {}
    for line in lines:
        if line.startswith("vllm:spec_decode_num_"):
            name = line.split("{")[0].removeprefix("vllm:spec_decode_num_")
            found[name] = found.get(name, 0) + float(line.rsplit(" ", 1)[1])
    return found


async def rate(service, prompt, tokens, salt):
    """Tokens a second from the first token to the last, and the text."""
    text, times, _ = await generate(service.port, [{"role": "user", "content": prompt}], tokens, cache_salt=salt)
    return (tokens - 1) / (times[-1] - times[0]), text


def compare(plain, drafting, prompts, tokens):
    """Rates of each prompt's answers without drafts and with them, the services in turns."""
    rates = {plain: [], drafting: []}
    for run in range(RUNS):
        for number, prompt in enumerate(prompts):
            texts = []
            for service in (plain, drafting) if (run + number) % 2 == 0 else (drafting, plain):
                measured, text = asyncio.run(rate(service, prompt, tokens, f"{run} {number}"))
                rates[service].append(measured)
                texts.append(text)
            if texts[0] != texts[1]:
                raise SystemExit(f"other text with drafts than without: {prompt}")
    return rates[plain], rates[drafting]


def tasks():
    print("| one request at a time | method | without | with drafts | ratio | least and most of a prompt | drafted tokens that were right |"
          "\n|---|---|---|---|---|---|---|")
    with warm() as plain:
        for method in METHODS:
            with warm(json.dumps({"method": method})) as drafting:
                for task, (prompts, tokens) in TASKS.items():
                    before = counters(drafting)
                    without, with_drafts = compare(plain, drafting, prompts, tokens)
                    after = counters(drafting)
                    drafted, right = (after[name] - before[name] for name in ("draft_tokens_total", "accepted_tokens_total"))
                    ratios = [b / a for a, b in zip(without, with_drafts)]
                    of_prompts = [statistics.median(ratios[number::len(prompts)]) for number in range(len(prompts))]
                    print(f"| {task} | {method} | {statistics.median(without):.0f} tok/s | {statistics.median(with_drafts):.0f} tok/s "
                          f"| {statistics.median(ratios):.2f} | {min(of_prompts):.2f} and {max(of_prompts):.2f} "
                          f"| {right:.0f} of {drafted:.0f} |", flush=True)
    print()


def model():
    """A draft model costs what the model does here, so its speed says nothing."""
    print("| the model drafts for itself | drafted | right | accepted or rejected by chance |\n|---|---|---|---|")
    config = {"method": "draft_model", "model": str(MODEL_FILE), "adaptive": False}
    kinds = {"greedy": {"temperature": 0}, "temperature 0.9, seeded": {"temperature": 0.9, "seed": 5}, "temperature 0.9": {"temperature": 0.9}}
    with warm(json.dumps(config)) as drafting:
        for kind, fields in kinds.items():
            before, chance = counters(drafting), drafting.metric("troupe_rejection_sampled_draft_tokens_total")
            for prompt in TASKS["free chat"][0]:
                asyncio.run(ask(drafting.port, {"messages": [{"role": "user", "content": prompt}], "max_tokens": 64, **fields}))
            after = counters(drafting)
            drafted, right = (after[name] - before[name] for name in ("draft_tokens_total", "accepted_tokens_total"))
            by_chance = drafting.metric("troupe_rejection_sampled_draft_tokens_total") - chance
            print(f"| {kind} | {drafted:.0f} | {right:.0f} | {by_chance:.0f} |", flush=True)
    print()


TOPICS = ("trains bread rivers chess winter music gardens ships tea mountains letters clocks bees maps bridges paper rain "
          "lamps songs horses islands stars books salt wool markets").split()


# How many tokens each of so many chats gets in one slice: about a second together.
SLICE = {1: 160, 2: 128, 4: 96, 8: 80, 16: 56, 32: 32, 64: 20}
LOADS = {"greedy": {"temperature": 0}, "temperature 1": {"temperature": 1}}


async def ask(port, body):
    """The text of one answer that comes in one piece: so the client takes as little of the machine as can be."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    payload = json.dumps({"model": MODEL, "ignore_eos": True, **body}).encode()
    writer.write(f"POST /v1/chat/completions HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nConnection: close\r\n"
                 f"Content-Length: {len(payload)}\r\n\r\n".encode() + payload)
    try:
        answer = await reader.read()
    finally:
        writer.close()
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])["choices"][0]["message"]["content"]


@dataclasses.dataclass(frozen=True)
class Side:
    """Who is asked, and with which further fields."""
    service: object
    fields: tuple = ()


async def slice_of(side, count, load, number):
    """Seconds that so many chats take side by side, and their texts. The prompts are those of every slice, so that they are
    computed once; the tenants are new in each, so that nobody's text tells anything of another's."""
    bodies = [{"messages": [{"role": "user", "content": f"Tell me about {TOPICS[i % len(TOPICS)]}, part {i}."}], "max_tokens": SLICE[count],
               "user": f"{load} {number} {i}", "seed": 1000 * number + i, **LOADS[load], **dict(side.fields)} for i in range(count)]
    begin = time.perf_counter()
    texts = await asyncio.gather(*(ask(side.service.port, body) for body in bodies))
    return time.perf_counter() - begin, texts


def processes(pid):
    """The service's own and its runner's."""
    def parent(folder):
        try:
            return int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            return None

    return [pid, *(int(folder.name) for folder in pathlib.Path("/proc").glob("[0-9]*") if parent(folder) == pid)]


def cpu_seconds(service):
    """That its threads have run: what other programs take of the machine hardly shows in it."""
    threads = [thread for pid in processes(service.process.pid) for thread in pathlib.Path(f"/proc/{pid}/task").iterdir()]
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def median_between(values):
    """The median, and where it lies with 95 % confidence: between two order statistics (binomial)."""
    ordered = sorted(values)
    off = 0.98 * len(ordered) ** 0.5
    low, high = int(len(ordered) / 2 - off), math.ceil(len(ordered) / 2 + off) - 1
    return statistics.median(ordered), ordered[max(low, 0)], ordered[min(high, len(ordered) - 1)]


def crowd():
    with warm() as plain, warm(CONFIG) as drafting:
        compare_crowds(Side(plain), Side(drafting))


def within():
    with warm(CONFIG) as service:
        compare_crowds(Side(service, (("num_speculative_tokens", 0),)), Side(service))


def compare_crowds(plain, drafting):
    """Short slices of both sides in turns, in the order a b b a, so that what else the machine does falls on both."""
    print(f"| chats side by side, {CONFIG} | load | tok/s without | with drafts | ratio | 95 % between | of CPU time | 95 % between "
          "| drafted for a token |\n|---|---|---|---|---|---|---|---|---|")
    for count in map(int, os.environ.get("CROWDS", "1 2 4 8 16 32 64").split()):
        for load in LOADS:
            times = {plain: [], drafting: []}
            used = {plain: [], drafting: []}
            before = counters(drafting.service)
            for number in range(-2, SLICES):
                texts = {}
                for side in (plain, drafting) if number % 2 == 0 else (drafting, plain):
                    began = cpu_seconds(side.service)
                    seconds, texts[side] = asyncio.run(slice_of(side, count, load, number + 2))
                    times[side].append(seconds)
                    used[side].append(cpu_seconds(side.service) - began)
                if texts[plain] != texts[drafting]:
                    raise SystemExit(f"{count} {load}: other text with drafts than without")
            drafted = counters(drafting.service)["draft_tokens_total"] - before["draft_tokens_total"]
            rates = {side: [count * SLICE[count] / seconds for seconds in times[side][2:]] for side in times}
            ratio, low, high = median_between([b / a for a, b in zip(rates[plain], rates[drafting])])
            work, least, most = median_between([a / b for a, b in list(zip(used[plain], used[drafting]))[2:]])
            print(f"| {count} | {load} | {statistics.median(rates[plain]):.0f} | {statistics.median(rates[drafting]):.0f} | {ratio:.3f} "
                  f"| {low:.3f} and {high:.3f} | {work:.3f} | {least:.3f} and {most:.3f} | {drafted / (count * SLICE[count] * (SLICES + 2)):.2f} |", flush=True)
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="tasks|crowd|within|model", help="what is measured (default: tasks crowd)")
    parts = {"tasks": tasks, "crowd": crowd, "within": within, "model": model}
    chosen = parser.parse_args().parts or ["tasks", "crowd"]
    for name in chosen:
        if name not in parts:
            parser.error(f"{name} is none of {', '.join(parts)}")
    print(f"CPU: {cpu()}\n")
    for name in chosen:
        parts[name]()


if __name__ == "__main__":
    main()
