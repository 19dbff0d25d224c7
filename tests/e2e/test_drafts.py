"""Drafts: the same answers with them and without, counted truly, off where somebody says so."""
import concurrent.futures
import json
import subprocess

import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import BINARY, MODEL, Service

SUBJECTS = ["bread", "rivers", "chess", "winter", "music", "gardens", "ships", "tea", "letters", "clocks"]
TASKS = ["Tell me about {}.", "List ten facts about {}.", "Write a short poem about {}.", "Repeat the word {} twenty times.",
         "Say 'I like {}' in five ways.", "Write a Python list of twenty words about {}.", "Explain {} to a child.",
         "Write JSON that describes {}.", "Count from one to ten and name {} each time.", "Spell {} letter by letter, three times."]
PROMPTS = [task.format(subject) for task in TASKS for subject in SUBJECTS]
PERSON = {"type": "object", "additionalProperties": False, "required": ["first_name", "last_name", "likes"],
          "properties": {"first_name": {"type": "string", "maxLength": 12}, "last_name": {"type": "string", "maxLength": 12},
                         "likes": {"type": "array", "maxItems": 4, "items": {"enum": ["long walks", "long talks", "long songs"]}}}}


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    """A service without drafts, and one that verifies every draft it can think of."""
    folder = tmp_path_factory.mktemp("drafts")
    eager = {"method": "suffix", "adaptive": False, "suffix_decoding_min_token_prob": 0.01, "num_speculative_tokens": 8}
    with Service(folder / "plain.log") as plain, \
            Service(folder / "drafts.log", "--speculative-config", json.dumps(eager)) as drafting:
        yield plain, drafting


def answers(service, bodies):
    def ask(body):
        status, answer = service.post("/v1/chat/completions", body)
        assert status == 200, answer
        return [(choice["message"]["content"], choice["finish_reason"], choice.get("logprobs")) for choice in answer["choices"]]

    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        return list(pool.map(ask, bodies))


def counts(service):
    found = {"position": {}, "drafted at": {}}
    for sample in (sample for family in text_string_to_metric_families(service.get("/metrics")) for sample in family.samples):
        if sample.name == "vllm:spec_decode_num_accepted_tokens_per_pos_total":
            found["position"][int(sample.labels["position"])] = sample.value
        elif sample.name == "troupe_draft_tokens_per_pos_total":
            found["drafted at"][int(sample.labels["position"])] = sample.value
        elif sample.name.startswith("vllm:spec_decode_num_") and sample.name.endswith("_total"):
            found[sample.name.removeprefix("vllm:spec_decode_num_").removesuffix("_total")] = sample.value
    return found


def bodies(prompts, **fields):
    return [{"messages": [{"role": "user", "content": prompt}], "max_tokens": 24, **fields} for prompt in prompts]


@pytest.mark.parametrize("prompts, fields", [
    pytest.param(PROMPTS, {"temperature": 0, "logprobs": True, "top_logprobs": 2}, id="a hundred, greedy, with log-probabilities"),
    pytest.param(PROMPTS[::4], {"temperature": 0.8, "top_p": 0.9, "top_k": 40, "min_p": 0.02, "seed": 7, "n": 2}, id="seeded, two choices"),
    pytest.param(PROMPTS[1::4], {"temperature": 1, "seed": 8, "frequency_penalty": 0.7, "presence_penalty": 0.2,
                                 "repetition_penalty": 1.1, "logit_bias": {"30": 1.5, "198": -100}}, id="penalties and a bias"),
])
def test_prompts_are_answered_alike(sides, prompts, fields):
    plain, drafting = sides
    before = counts(drafting)
    assert answers(drafting, bodies(prompts, **fields)) == answers(plain, bodies(prompts, **fields))
    after = counts(drafting)
    assert after["accepted_tokens"] > before["accepted_tokens"] + 5, "drafts took part"
    assert after["draft_tokens"] - before["draft_tokens"] > after["accepted_tokens"] - before["accepted_tokens"], "wrong ones too"
    assert counts(plain)["drafts"] == 0


def test_answers_that_are_held_to_a_schema_are_alike(sides):
    plain, drafting = sides
    asked = [{"messages": [{"role": "user", "content": f"Describe person {i}."}], "max_tokens": 120, "temperature": 1, "seed": i,
              "response_format": {"type": "json_schema", "json_schema": {"name": "person", "schema": PERSON}}} for i in range(8)]
    before = counts(drafting)["accepted_tokens"]
    assert answers(drafting, asked) == answers(plain, asked)
    assert counts(drafting)["accepted_tokens"] > before


def test_accepted_tokens_are_counted_by_their_places(sides):
    found = counts(sides[1])
    assert sorted(found["position"]) == list(range(8))
    assert sum(found["position"].values()) == found["accepted_tokens"]
    by_place = [found["position"][place] for place in range(8)]
    assert by_place == sorted(by_place, reverse=True)
    assert found["drafts"] <= found["draft_tokens"] <= 8 * found["drafts"]
    drafted_at = [found["drafted at"][place] for place in range(8)]
    assert drafted_at[0] == found["drafts"], "each draft has a first token"
    assert sum(drafted_at) == found["draft_tokens"]
    assert all(accepted <= drafted for accepted, drafted in zip(by_place, drafted_at))


def test_what_is_drafted_behind_a_stop_string_is_nobodys_and_not_counted(sides):
    _, drafting = sides
    counting = {"prompt": " one two three four five six seven eight nine ten" * 6, "max_tokens": 26, "ignore_eos": True, "temperature": 0}
    before, told = drafting.metric("vllm:generation_tokens_total"), 0
    for fields in ({"stop": [" nine"]}, {"stop": [" seven"], "n": 3, "temperature": 0.01, "seed": 1}, {}):
        for _ in range(4):
            status, answer = drafting.post("/v1/completions", {**counting, **fields})
            assert status == 200, answer
            told += answer["usage"]["completion_tokens"]
    assert drafting.metric("vllm:generation_tokens_total") - before == told


def test_a_request_may_do_without(sides):
    _, drafting = sides
    before = counts(drafting)
    body = {"prompt": "one two three one two three one two three one two", "max_tokens": 30, "temperature": 0, "num_speculative_tokens": 0}
    assert drafting.post("/v1/completions", body)[0] == 200
    assert counts(drafting) == before
    assert drafting.post("/v1/completions", {**body, "num_speculative_tokens": 2})[0] == 200
    after = counts(drafting)
    assert after["drafts"] > before["drafts"]
    assert after["draft_tokens"] - before["draft_tokens"] <= 2 * (after["drafts"] - before["drafts"])
    status, answer = drafting.post("/v1/completions", {**body, "num_speculative_tokens": -1})
    assert status == 400 and answer["error"]["param"] == "num_speculative_tokens"


@pytest.mark.parametrize("config, named", [
    ("{", "speculative_config"),
    ('{"method": "medusa"}', "medusa"),
    ('{"method": "ngram", "prompt_lookup_minimum": 3}', "prompt_lookup_minimum"),
    ('{"method": "suffix", "num_speculative_tokens": 0}', "num_speculative_tokens"),
    ('{"method": "draft_model"}', "model"),
    ('{"method": "ngram", "suffix_decoding_max_tree_depth": 3}', "suffix_decoding_max_tree_depth is for the method suffix alone"),
    ('{"method": "suffix", "rejection_sample_method": "strict"}', "rejection_sample_method is for the method draft_model alone"),
    ('{"method": "draft_model", "model": "other.gguf", "rejection_sample_method": "block"}', "block"),
])
def test_a_configuration_that_is_wrong_is_refused_by_name(config, named):
    run = subprocess.run([BINARY, "serve", "--model", str(MODEL), "--port", "0", "--tcp-port", "0", "--speculative-config", config], capture_output=True, text=True, timeout=60)
    assert run.returncode == 78, run.stderr
    assert named in run.stderr


def test_a_draft_model_that_is_the_model_itself_is_always_right(sides, tmp_path):
    plain, _ = sides
    config = {"method": "draft_model", "model": str(MODEL), "num_speculative_tokens": 4, "adaptive": False, "rejection_sample_method": "probabilistic"}
    asked = [body for fields in ({"temperature": 0}, {"temperature": 0.9, "top_p": 0.95, "seed": 5}, {"temperature": 0.7, "seed": 6, "frequency_penalty": 0.5})
             for body in bodies(PROMPTS[3:60:13], ignore_eos=True, **fields)]
    with Service(tmp_path / "model.log", "--speculative-config", json.dumps(config)) as drafting:
        assert answers(drafting, asked) == answers(plain, asked)
        assert drafting.metric("troupe_rejection_sampled_draft_tokens_total") == 0, "whoever gives a seed gets its tokens"
        # How many drafts there are depends on how busy the machine is: enough requests that there are many in any case.
        answers(drafting, bodies(PROMPTS[3:60:4], ignore_eos=True, temperature=0.9, top_p=0.95))
        by_chance = drafting.metric("troupe_rejection_sampled_draft_tokens_total")
        assert drafting.metric("troupe_rejection_sampled_accepted_tokens_total") == by_chance > 50
        found = counts(drafting)
    assert found["accepted_tokens"] == found["draft_tokens"] > 10 * len(asked)


def test_a_draft_model_that_is_not_there_is_named():
    config = json.dumps({"method": "draft_model", "model": "/nowhere/little.gguf"})
    run = subprocess.run([BINARY, "serve", "--model", str(MODEL), "--port", "0", "--tcp-port", "0", "--speculative-config", config], capture_output=True, text=True, timeout=60)
    assert run.returncode == 66, run.stderr
    assert "/nowhere/little.gguf" in run.stderr
