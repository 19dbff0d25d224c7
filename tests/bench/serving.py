#!/usr/bin/env python3
"""Four measurements of the running service on the default model; prints Markdown tables.

    tests/bench/serving.py [mixed] [short] [turns] [pool]        all of them when none is named

mixed: 8 short chats stream side by side while 6,000-token prompts arrive one after another; the p99 of the time between
two tokens of a chat, with chunked prefill and without.
short: the time to the first token of short questions that come while a 6,000-token prompt is computed, and of that prompt; where
it leaves others a part of each step (--long-prefill-share) and where it does not.
turns: the time to the first token of a 4,000-token conversation, and of its second turn; with the prefix cache and
without.
pool: 200 requests at once through a KV pool that holds 8 of them; each must get the tokens that it gets alone.

Every side starts its own `troupe serve` (build/troupe, or TROUPE_BINARY) on a free port; the sides alternate, RUNS (3)
times each, and the medians are shown. On a machine that others use, run all of it under one prefix, such as
"chrt -f 5 tests/bench/serving.py".
"""
import asyncio
import json
import os
import pathlib
import random
import statistics
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from conftest import Service  # noqa: E402

RUNS = int(os.environ.get("RUNS", "3"))
MODEL = "SmolLM2-135M-Instruct"
WORDS = "river stone lamp orange quiet seven engine paper mountain letter copper winter garden signal thread".split()


def words(rng, count):
    return " ".join(rng.choice(WORDS) for _ in range(count))


async def stream(port, path, body):
    """Yields (seconds since the request was sent, event) for each event of a streamed answer."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    payload = json.dumps({"model": MODEL, "stream": True, "stream_options": {"include_usage": True}, **body}).encode()
    begin = time.perf_counter()
    writer.write(f"POST {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nConnection: close\r\n"
                 f"Content-Length: {len(payload)}\r\n\r\n".encode() + payload)
    try:
        status = (await reader.readline()).split()
        if status[1] != b"200":
            raise RuntimeError((await reader.read()).decode(errors="replace"))
        async for line in reader:
            if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                yield time.perf_counter() - begin, json.loads(line[6:])
    finally:
        writer.close()


async def generate(port, messages, max_tokens, **fields):
    """The text, the times of the events with tokens, and the usage of one greedy chat of exactly max_tokens tokens."""
    text, times, usage = "", [], None
    body = {"messages": messages, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True, **fields}
    async for at, event in stream(port, "/v1/chat/completions", body):
        usage = event.get("usage") or usage
        for choice in event["choices"]:
            if choice["delta"].get("content"):
                text += choice["delta"]["content"]
                times.append(at)
    return text, times, usage


def user(text):
    return [{"role": "user", "content": text}]


def words_for(service, rng, tokens):
    """Words that make a chat prompt of about `tokens` tokens, never more, counted by the service itself."""
    count = tokens
    while True:
        messages = user(words(rng, count))
        body = json.dumps({"model": MODEL, "messages": messages}).encode()
        request = urllib.request.Request(service.url + "/tokenize", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as answer:
            length = json.load(answer)["count"]
        if length <= tokens:
            return messages, length
        count -= max(1, (length - tokens) * count // length)


def quantile(values, p):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(p * len(ordered)))]


def served(*flags):
    return Service(pathlib.Path(tempfile.mkdtemp()) / "log", *flags)


def cpu():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return f"{line.split(':')[1].strip()}, {os.cpu_count()} cores"


async def mixed_load(service, long_prompts, seed):
    """Seconds between the tokens of 8 chats while the long prompts are served one after another."""
    rng = random.Random(seed)
    prompts = [words_for(service, rng, 6000) for _ in range(long_prompts)]
    gaps, busy = [], True

    async def chat(number):
        turn = 0
        while busy:
            turn += 1
            _, times, _ = await generate(service.port, user(f"Chat {number}.{turn}: " + words(rng, 10)), 64)
            gaps.extend(b - a for a, b in zip(times, times[1:]))

    chats = [asyncio.create_task(chat(i)) for i in range(8)]
    await asyncio.sleep(0.5)
    firsts = []
    for messages, length in prompts:
        _, times, usage = await generate(service.port, messages, 8)
        assert usage["prompt_tokens"] == length
        firsts.append(times[0])
    busy = False
    await asyncio.gather(*chats)
    return gaps, firsts


def mixed():
    sides = {"with chunked prefill (512 tokens a step)": ["--enable-chunked-prefill", "--max-num-batched-tokens", "512"],
             "with chunked prefill, the default": ["--enable-chunked-prefill"],
             "without (8,192 tokens a step)": ["--no-enable-chunked-prefill", "--max-num-batched-tokens", "8192"]}
    results = {side: [] for side in sides}
    for run in range(RUNS):
        for side, flags in sides.items():
            with served(*flags, "--no-enable-prefix-caching") as service:
                gaps, firsts = asyncio.run(mixed_load(service, 2, run))
            results[side].append((quantile(gaps, 0.5), quantile(gaps, 0.99), max(gaps), statistics.median(firsts), len(gaps)))
    print("| 8 chats beside 6,000-token prompts | p50 between tokens | p99 | longest | first token of a long prompt | gaps |")
    print("|---|---|---|---|---|---|")
    p99 = []
    for side, runs in results.items():
        p50, tail, longest, first, count = (statistics.median(column) for column in zip(*runs))
        p99.append(tail)
        print(f"| {side} | {p50 * 1e3:.0f} ms | {tail * 1e3:.0f} ms | {longest * 1e3:.0f} ms | {first:.2f} s | {count:.0f} |")
    print(f"\np99 with / without: {p99[0] / p99[-1]:.3f}; by default: {p99[1] / p99[-1]:.3f}\n", flush=True)


async def questions_beside(service, seed):
    """Seconds to the first token of questions that come twice a second until a long prompt has its first, and of that one's."""
    rng = random.Random(seed)
    messages, _ = words_for(service, rng, 6000)
    long_prompt = asyncio.create_task(generate(service.port, messages, 8))
    questions = []
    while not long_prompt.done():
        await asyncio.sleep(0.5)
        questions.append(asyncio.create_task(generate(service.port, user(f"Question {len(questions)}: " + words(rng, 10)), 8)))
    answers = await asyncio.gather(*questions)
    return [times[0] for _, times, _ in answers], (await long_prompt)[1][0]


def short():
    sides = {"a quarter": "0.25", "the whole step": "1"}
    results = {side: [] for side in sides}
    for run in range(RUNS):
        for side, share in sides.items():
            with served("--long-prefill-share", share, "--no-enable-prefix-caching") as service:
                firsts, long_first = asyncio.run(questions_beside(service, run))
            results[side].append((quantile(firsts, 0.5), max(firsts), long_first, len(firsts)))
    print("| a 6,000-token prompt keeps | first token of questions beside it, p50 | longest | first token of that prompt | questions |")
    print("|---|---|---|---|---|")
    for side, runs in results.items():
        p50, longest, first, count = (statistics.median(column) for column in zip(*runs))
        print(f"| {side} | {p50:.2f} s | {longest:.2f} s | {first:.2f} s | {count:.0f} |")
    print(flush=True)


async def two_turns(service, seed):
    rng = random.Random(seed)
    messages, length = words_for(service, rng, 4000)
    text, first, _ = await generate(service.port, messages, 32)
    hits = service.metric("vllm:prefix_cache_hits_total")
    messages = messages + [{"role": "assistant", "content": text}] + user("And which of these words is the last?")
    _, second, usage = await generate(service.port, messages, 32)
    cached = service.metric("vllm:prefix_cache_hits_total") - hits
    return first[0], second[0], length, usage["prompt_tokens"], cached


def turns():
    sides = {"on": ["--enable-prefix-caching"], "off": ["--no-enable-prefix-caching"]}
    results = {side: [] for side in sides}
    for run in range(RUNS):
        for side, flags in sides.items():
            with served(*flags) as service:
                asyncio.run(generate(service.port, user("Hello"), 8))
                results[side].append(asyncio.run(two_turns(service, run)))
    print("| prefix cache | first turn, tokens | first token | second turn, tokens | of these cached | first token | ratio |")
    print("|---|---|---|---|---|---|---|")
    for side, runs in results.items():
        first, second, length, longer, cached = (statistics.median(column) for column in zip(*runs))
        print(f"| {side} | {length:.0f} | {first * 1e3:.0f} ms | {longer:.0f} | {cached:.0f} | {second * 1e3:.1f} ms "
              f"| {first / second:.1f} |")
    print(flush=True)


async def crowd(service, prompts, max_tokens, at_once):
    gate = asyncio.Semaphore(at_once)

    async def one(prompt):
        async with gate:
            tokens = []
            body = {"prompt": prompt, "max_tokens": max_tokens, "temperature": 0, "ignore_eos": True,
                    "return_token_ids": True}
            async for _, event in stream(service.port, "/v1/completions", body):
                for choice in event["choices"]:
                    tokens += choice.get("token_ids") or []
            return tokens

    begin = time.perf_counter()
    answers = await asyncio.gather(*map(one, prompts))
    return answers, time.perf_counter() - begin


def pool():
    rng = random.Random(8)
    prompts = [f"Request {i}: " + words(rng, rng.choice([30, 60, 90])) for i in range(200)]
    # 64 blocks of 16 tokens in f16: 8 sequences of 128 tokens.
    small = ["--kv-cache-memory", str(64 * 16 * 23040), "--block-size", "16", "--max-model-len", "512"]
    with served("--max-num-seqs", "1") as service:
        alone, alone_seconds = asyncio.run(crowd(service, prompts, 32, 1))
    with served(*small) as service:
        together, seconds = asyncio.run(crowd(service, prompts, 32, 200))
        preemptions = service.metric("vllm:num_preemptions_total")
    equal = sum(a == b and len(a) == 32 for a, b in zip(alone, together))
    print("| 200 requests of 32 tokens | time | preemptions | with the tokens they have alone |")
    print("|---|---|---|---|")
    print(f"| one after another | {alone_seconds:.1f} s | 0 | |")
    print(f"| all at once, a pool of 64 blocks | {seconds:.1f} s | {preemptions:.0f} | {equal} of {len(prompts)} |\n",
          flush=True)
    return equal == len(prompts)


def main():
    parts = {"mixed": mixed, "short": short, "turns": turns, "pool": pool}
    chosen = sys.argv[1:] or list(parts)
    if any(name not in parts for name in chosen):
        sys.exit(__doc__)
    print(f"cpu: {cpu()}; {RUNS} runs each, alternating\n", flush=True)
    if not all(parts[name]() is not False for name in chosen):
        sys.exit(1)


if __name__ == "__main__":
    main()
