"""Many clients at once through the real `openai` package: all end, nothing leaks, nobody's tokens change."""
import asyncio
import dataclasses
import random

import openai

WORDS = "river stone lamp orange quiet seven engine paper mountain letter copper winter garden signal thread".split()


@dataclasses.dataclass(frozen=True)
class Ask:
    prompt: str
    max_tokens: int
    temperature: float
    seed: int
    cancel_after: int | None = None  # events


def make_asks(count, cancelled_every=5):
    rng = random.Random(20)
    asks = []
    for i in range(count):
        words = rng.choice([3, 10, 40, 120, 400])
        prompt = f"Story {i}: " + " ".join(rng.choice(WORDS) for _ in range(words))
        cancel = rng.randrange(1, 6) if cancelled_every and i % cancelled_every == 4 else None
        asks.append(Ask(prompt, rng.choice([4, 16, 33, 64]), rng.choice([0.0, 0.8, 1.3]), rng.randrange(2**31), cancel))
    return asks


async def ask_one(client, ask):
    """The token ids, log-probabilities, text and finish reason of one streamed chat."""
    stream = await client.chat.completions.create(
        model="SmolLM2-135M-Instruct", messages=[{"role": "user", "content": ask.prompt}], stream=True,
        max_tokens=ask.max_tokens, temperature=ask.temperature, seed=ask.seed, top_p=0.95, logprobs=True, top_logprobs=2,
        extra_body={"return_token_ids": True, "ignore_eos": True})
    tokens, logprobs, text, reason, events = [], [], "", None, 0
    async for chunk in stream:
        events += 1
        if ask.cancel_after and events > ask.cancel_after:
            await stream.close()
            return None
        for choice in chunk.choices:
            text += choice.delta.content or ""
            tokens += (choice.model_extra or {}).get("token_ids") or []
            if choice.logprobs:
                logprobs += [(entry.token, entry.logprob) for entry in choice.logprobs.content]
            reason = choice.finish_reason or reason
    return tokens, logprobs, text, reason


async def ask_all(service, asks, at_once):
    gate = asyncio.Semaphore(at_once)
    async with openai.AsyncOpenAI(base_url=service.url + "/v1", api_key="none", max_retries=0, timeout=300) as client:
        async def guarded(ask):
            async with gate:
                return await ask_one(client, ask)
        return await asyncio.gather(*map(guarded, asks))


def test_64_concurrent_chats_all_end_and_leave_nothing_behind(service):
    asyncio.run(ask_all(service, make_asks(2, None), 1))
    before = service.resources()
    asks = make_asks(64)
    answers = asyncio.run(ask_all(service, asks, 64))
    for ask, answer in zip(asks, answers):
        if ask.cancel_after and answer is None:
            continue
        tokens, logprobs, text, reason = answer
        assert reason == "length" and len(tokens) == len(logprobs) == ask.max_tokens and text
    service.wait_as_before(before)
    whole = [i for i, ask in enumerate(asks) if not ask.cancel_after]
    chosen = random.Random(64).sample(whole, 8)
    alone = asyncio.run(ask_all(service, [asks[i] for i in chosen], 1))
    assert alone == [answers[i] for i in chosen], "leaving clients and a crowd change nobody's tokens"


def test_tokens_are_the_same_alone_and_in_a_crowd(service):
    asks = make_asks(24, None)
    crowd = asyncio.run(ask_all(service, asks, 24))
    chosen = [0, 3, 7, 11, 19, 23]
    alone = asyncio.run(ask_all(service, [asks[i] for i in chosen], 1))
    assert alone == [crowd[i] for i in chosen]


def test_tokens_do_not_depend_on_chunking_threads_block_size_or_preemption(service, start_service):
    asks = [dataclasses.replace(ask, prompt=ask.prompt[:500], max_tokens=90) for ask in make_asks(12, None)]
    expected = asyncio.run(ask_all(service, asks, 1))
    # About 1,000 tokens of KV for 12 sequences that grow to more: some must be preempted and recomputed.
    flags = ["--threads", "1", "--max-num-batched-tokens", "48", "--block-size", "32", "--kv-cache-memory", "24MiB",
             "--max-model-len", "1000"]
    with start_service(*flags) as small:
        got = asyncio.run(ask_all(small, asks, 12))
        assert small.metric("vllm:num_preemptions_total") > 0, "the pool was too large to put any pressure on"
        small.wait_idle()
    assert got == expected
