#!/usr/bin/env python3
"""What drafts bring and cost on the default model; prints Markdown tables.

    tests/bench/drafts.py [tasks] [crowd]        both when none is named

tasks: one request at a time: rewriting code with one change, summarising with quotes, free chat; tokens a second with drafts
and without, and how many of the drafts were right.
crowd: 1, 2, 4, 8, 16, 32 and 64 (CROWDS) free chats side by side.

Two services, one with drafts (TROUPE_SPECULATIVE_CONFIG, {"method": "suffix"}) and one without; they are asked in turns, RUNS (5)
times each, and medians are shown. The answers of both must be the same. On a machine that others use, run all of it under one
prefix, such as "nice -n -18 tests/bench/drafts.py".
"""
import asyncio
import os
import statistics
import sys
import time
import urllib.request

from serving import cpu, generate, served

RUNS = int(os.environ.get("RUNS", "5"))
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


async def crowd_time(service, count, run):
    """A salt of its own for each answer: nobody's text tells anything of another's."""
    begin = time.perf_counter()
    await asyncio.gather(*(generate(service.port, [{"role": "user", "content": f"Tell me about {TOPICS[i % len(TOPICS)]}, part {i}."}],
                                    128, cache_salt=f"{count} {run} {i}") for i in range(count)))
    return time.perf_counter() - begin


def crowd(plain, drafting):
    print("| free chats side by side | tok/s without | with drafts | ratio |\n|---|---|---|---|")
    for count in map(int, os.environ.get("CROWDS", "1 2 4 8 16 32 64").split()):
        times = {plain: [], drafting: []}
        for run in range(RUNS):
            for service in (plain, drafting):
                times[service].append(asyncio.run(crowd_time(service, count, run)))
        ratios = [a / b for a, b in zip(times[plain], times[drafting])]
        without, with_drafts = (count * 128 / statistics.median(times[service]) for service in (plain, drafting))
        print(f"| {count} | {without:.0f} | {with_drafts:.0f} | {statistics.median(ratios):.3f} |", flush=True)
    print()


def main():
    wanted = sys.argv[1:] or ["tasks", "crowd"]
    print(f"CPU: {cpu()}\n")
    with served("--warmup", "full") as plain, served("--warmup", "full", "--speculative-config", CONFIG) as drafting:
        for name in wanted:
            {"tasks": tasks, "crowd": crowd}[name](plain, drafting)


if __name__ == "__main__":
    main()
