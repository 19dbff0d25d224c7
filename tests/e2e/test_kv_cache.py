"""What the KV cache must not change: the tokens, however small the pool is and however keys and values are stored."""
import asyncio
import dataclasses
import random

import openai
from test_crowd import WORDS, ask_all, make_asks

BLOCK_BYTES = 16 * 30 * 3 * 64 * 2 * 2  # SmolLM2-135M in f16: tokens, layers, KV heads, head size, K and V, bytes


async def complete_all(service, prompts, max_tokens, at_once):
    """The token ids of each prompt's greedy completion."""
    gate = asyncio.Semaphore(at_once)
    async with openai.AsyncOpenAI(base_url=service.url + "/v1", api_key="none", max_retries=0, timeout=600) as client:
        async def one(prompt):
            async with gate:
                answer = await client.completions.create(
                    model="SmolLM2-135M-Instruct", prompt=prompt, max_tokens=max_tokens, temperature=0,
                    extra_body={"return_token_ids": True, "ignore_eos": True})
            assert answer.choices[0].finish_reason == "length"
            return answer.choices[0].model_extra["token_ids"]
        return await asyncio.gather(*map(one, prompts))


def test_200_requests_through_a_pool_that_holds_8_get_the_tokens_they_have_alone(service, start_service):
    rng = random.Random(8)
    prompts = [f"Request {i}: " + " ".join(rng.choice(WORDS) for _ in range(rng.choice([10, 25, 50]))) for i in range(200)]
    alone = asyncio.run(complete_all(service, prompts, 12, 1))
    # 5 blocks hold the longest of them.
    flags = ["--kv-cache-memory", str(8 * 5 * BLOCK_BYTES), "--block-size", "16", "--max-model-len", "512"]
    with start_service(*flags) as small:
        before = small.resources()
        together = asyncio.run(complete_all(small, prompts, 12, 200))
        assert small.metric("vllm:num_preemptions_total") > 0
        small.wait_as_before(before)
    assert all(len(tokens) == 12 for tokens in together)
    assert together == alone


def chat(service, messages):
    """The text and the token ids of a greedy answer of 24 tokens."""
    with openai.OpenAI(base_url=service.url + "/v1", api_key="none", max_retries=0, timeout=300) as client:
        answer = client.chat.completions.create(model="SmolLM2-135M-Instruct", messages=messages, max_tokens=24, temperature=0,
                                                extra_body={"return_token_ids": True, "ignore_eos": True})
    return answer.choices[0].message.content, answer.choices[0].model_extra["token_ids"]


def test_a_second_turn_reuses_the_first_and_has_the_same_tokens_as_without(start_service):
    rng = random.Random(9)
    first = [{"role": "user", "content": " ".join(rng.choice(WORDS) for _ in range(300))}]
    with start_service("--no-enable-prefix-caching") as plain:
        text, first_tokens = chat(plain, first)
        second = first + [{"role": "assistant", "content": text}, {"role": "user", "content": "And then?"}]
        _, second_tokens = chat(plain, second)
        assert plain.metric("vllm:prefix_cache_hits_total") == 0
    with start_service("--enable-prefix-caching") as caching:
        assert chat(caching, first) == (text, first_tokens)
        prompt = caching.metric("vllm:prompt_tokens_total")
        hits = caching.metric("vllm:prefix_cache_hits_total")
        assert chat(caching, second)[1] == second_tokens
        # All full blocks of the first prompt, and of its answer where it is encoded as it was generated.
        assert caching.metric("vllm:prefix_cache_hits_total") - hits >= prompt // 16 * 16
        caching.wait_idle()


def test_block_sizes_1_16_and_32_give_equal_tokens(service, start_service):
    asks = [dataclasses.replace(ask, prompt=ask.prompt[:300]) for ask in make_asks(8, None)]
    expected = asyncio.run(ask_all(service, asks, 8))
    for size in ["1", "32"]:
        with start_service("--block-size", size) as other:
            assert asyncio.run(ask_all(other, asks, 8)) == expected, size


def test_int8_keys_and_values_keep_a_requests_tokens_the_same_alone_and_in_a_crowd(start_service):
    asks = make_asks(12, None)
    with start_service("--kv-cache-dtype", "int8") as coded:
        assert 'cache_dtype="int8"' in coded.get("/metrics")
        alone = asyncio.run(ask_all(coded, asks, 1))
        assert asyncio.run(ask_all(coded, asks, 12)) == alone
