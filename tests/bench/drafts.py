#!/usr/bin/env python3
"""What drafts bring and cost on the default model; prints Markdown tables.

    tests/bench/drafts.py [tasks] [crowd]        both when none is named

tasks: one request at a time: rewriting code with one change, summarising with quotes, free chat; tokens a second with drafts
and without, and how many of the drafts were right.
crowd: 1, 2, 4, 8, 16, 32 and 64 (CROWDS) free chats side by side, in SLICES (40) slices of about a second.

Two services, one with drafts (TROUPE_SPECULATIVE_CONFIG, {"method": "suffix"}) and one without; they are asked in turns, tasks RUNS (5)
times each, and medians are shown. The answers of both must be the same. On a machine that others use, run all of it under one
prefix, such as "nice -n -18 tests/bench/drafts.py".
"""
import asyncio
import json
import math
import os
import pathlib
import statistics
import sys
import time
import urllib.request

from serving import MODEL, cpu, generate, served

RUNS = int(os.environ.get("RUNS", "5"))
SLICES = int(os.environ.get("SLICES", "40"))
CONFIG = os.environ.get("TROUPE_SPECULATIVE_CONFIG", '{"method": "suffix"}')

CODE = '''import os


def read_lines(path):
    """Every line of the file, without its end."""
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\\n") for line in file]


def count_words(path):
    """How often each word stands in the file."""
    counts = {}
    for line in read_lines(path):
        for word in line.split():
            word = word.lower().strip(".,;:!?")
            counts[word] = counts.get(word, 0) + 1
    return counts


def print_most_common(path, limit):
    """Prints the most common words of the file with their counts."""
    counts = count_words(path)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    for word, count in ordered[:limit]:
        print(f"{word:20} {count:6}")


def main():
    for name in sorted(os.listdir(".")):
        if name.endswith(".txt"):
            print_most_common(name, 10)


main()
'''
REPORT = (
    'The harbour council met on Tuesday to decide about the old lighthouse. "The tower has stood for a hundred and sixty years, and it '
    'will not fall this winter," said the engineer Maria Lindqvist, who has inspected it twice since the storm in September. Two cracks '
    'run from the gallery to the second window, she reported, but "neither has grown by more than a millimetre." The council\'s treasurer, '
    'Jonas Weber, disagreed. "We cannot spend four hundred thousand on a building that guides no ship," he said, and proposed to sell the '
    'tower to a hotel company from the capital. Fishermen in the audience were not pleased. "My father found his way home by that light," '
    'said Anna Berg, the owner of three boats, "and my children will show it to theirs." After three hours the council voted seven to four '
    'to repair the cracks in spring, to open the gallery to visitors in summer, and to ask the national heritage fund for half of the cost.'
)
TASKS = {
    "editing (rewrite this code with one change)":
        ("Rewrite this code with one change: rename the function count_words to word_counts. Answer with the whole code.\n\n```python\n"
         + CODE + "```", 320),
    "summarising with quotes":
        ("Summarise this report in three sentences. Quote what each person said word for word.\n\n" + REPORT, 160),
    "free chat": ("Why do people like to travel by train? Tell me in a few paragraphs.", 256),
}


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


def tasks(plain, drafting):
    print(f"| one request at a time, {CONFIG} | without | with drafts | ratio | drafted tokens that were right |\n|---|---|---|---|---|")
    for task, (prompt, tokens) in TASKS.items():
        rates = {plain: [], drafting: []}
        before = counters(drafting)
        for run in range(RUNS):
            texts = []
            for service in (plain, drafting):
                measured, text = asyncio.run(rate(service, prompt, tokens, f"{task}{run}"))
                rates[service].append(measured)
                texts.append(text)
            if texts[0] != texts[1]:
                raise SystemExit(f"{task}: other text with drafts than without")
        after = counters(drafting)
        drafted, right = (after[name] - before[name] for name in ("draft_tokens_total", "accepted_tokens_total"))
        without, with_drafts = (statistics.median(rates[service]) for service in (plain, drafting))
        share = f"{right:.0f} of {drafted:.0f}" if drafted else "none drafted"
        ratios = [b / a for a, b in zip(rates[plain], rates[drafting])]
        print(f"| {task} | {without:.0f} tok/s | {with_drafts:.0f} tok/s | {statistics.median(ratios):.2f} | {share} |", flush=True)
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


async def slice_of(service, count, load, number):
    """Seconds that so many chats take side by side, and their texts. The prompts are those of every slice, so that they are
    computed once; the tenants are new in each, so that nobody's text tells anything of another's."""
    bodies = [{"messages": [{"role": "user", "content": f"Tell me about {TOPICS[i % len(TOPICS)]}, part {i}."}], "max_tokens": SLICE[count],
               "user": f"{load} {number} {i}", "seed": 1000 * number + i, **LOADS[load]} for i in range(count)]
    begin = time.perf_counter()
    texts = await asyncio.gather(*(ask(service.port, body) for body in bodies))
    return time.perf_counter() - begin, texts


def cpu_seconds(service):
    """That its threads have run: what other programs take of the machine hardly shows in it."""
    threads = pathlib.Path(f"/proc/{service.process.pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


def median_between(values):
    """The median, and where it lies with 95 % confidence: between two order statistics (binomial)."""
    ordered = sorted(values)
    off = 0.98 * len(ordered) ** 0.5
    low, high = int(len(ordered) / 2 - off), math.ceil(len(ordered) / 2 + off) - 1
    return statistics.median(ordered), ordered[max(low, 0)], ordered[min(high, len(ordered) - 1)]


def crowd(plain, drafting):
    """Short slices of both services in turns, in the order a b b a, so that what else the machine does falls on both."""
    print(f"| chats side by side, {CONFIG} | load | tok/s without | with drafts | ratio | 95 % between | of CPU time | 95 % between "
          "| drafted for a token |\n|---|---|---|---|---|---|---|---|---|")
    for count in map(int, os.environ.get("CROWDS", "1 2 4 8 16 32 64").split()):
        for load in LOADS:
            times = {plain: [], drafting: []}
            used = {plain: [], drafting: []}
            before = counters(drafting)
            for number in range(-2, SLICES):
                texts = {}
                for service in (plain, drafting) if number % 2 == 0 else (drafting, plain):
                    began = cpu_seconds(service)
                    seconds, texts[service] = asyncio.run(slice_of(service, count, load, number + 2))
                    times[service].append(seconds)
                    used[service].append(cpu_seconds(service) - began)
                if texts[plain] != texts[drafting]:
                    raise SystemExit(f"{count} {load}: other text with drafts than without")
            drafted = counters(drafting)["draft_tokens_total"] - before["draft_tokens_total"]
            rates = {service: [count * SLICE[count] / seconds for seconds in times[service][2:]] for service in times}
            ratio, low, high = median_between([b / a for a, b in zip(rates[plain], rates[drafting])])
            work, least, most = median_between([a / b for a, b in list(zip(used[plain], used[drafting]))[2:]])
            print(f"| {count} | {load} | {statistics.median(rates[plain]):.0f} | {statistics.median(rates[drafting]):.0f} | {ratio:.3f} "
                  f"| {low:.3f} and {high:.3f} | {work:.3f} | {least:.3f} and {most:.3f} | {drafted / (count * SLICE[count] * (SLICES + 2)):.2f} |", flush=True)
    print()


def main():
    wanted = sys.argv[1:] or ["tasks", "crowd"]
    print(f"CPU: {cpu()}\n")
    with served("--warmup", "full") as plain, served("--warmup", "full", "--speculative-config", CONFIG) as drafting:
        for name in wanted:
            {"tasks": tasks, "crowd": crowd}[name](plain, drafting)


if __name__ == "__main__":
    main()
