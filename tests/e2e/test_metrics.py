"""Every metric against what a client measured in the same run."""
import concurrent.futures
import dataclasses
import http.client
import json
import math
import time

import pytest
from prometheus_client.parser import text_string_to_metric_families

from conftest import Service

FLAGS = ["--max-num-seqs", "2", "--speculative-config",
         json.dumps({"method": "suffix", "adaptive": False, "suffix_decoding_min_token_prob": 0.01, "num_speculative_tokens": 3})]
WITHIN_A_REQUEST = ["vllm:e2e_request_latency_seconds", "vllm:request_queue_time_seconds", "vllm:request_inference_time_seconds",
                    "vllm:request_prefill_time_seconds", "vllm:request_decode_time_seconds"]
LABELS = {
    "vllm:num_requests_waiting_by_reason": {"reason": {"capacity", "deferred"}},
    "vllm:request_success_total": {"finished_reason": {"stop", "length", "abort", "timeout", "error"}},
    "vllm:spec_decode_num_accepted_tokens_per_pos_total": {"position": {"0", "1", "2"}},
    "troupe_request_errors_total": {"code": {"400", "401", "404", "413", "429", "500", "503"}},
    "troupe_trace_spans_dropped_total": {"reason": {"queue_full", "rejected", "unreachable"}},
    "troupe_step_seconds_count": {"phase": {"plan", "reserve", "draft", "mask", "execute", "commit"}},
    "troupe_actor_restarts_total": {"actor": {"supervisor", "scheduler", "kv_cache", "tokenizer", "model_runner", "structured_output",
                                              "grammar_compiler", "drafter", "gateway", "http_gateway", "tcp_gateway"}},
}
NAMES = """vllm:num_requests_running vllm:num_requests_waiting vllm:num_requests_waiting_by_reason vllm:kv_cache_usage_perc
vllm:cache_config_info vllm:prefix_cache_queries_total vllm:prefix_cache_hits_total vllm:num_preemptions_total
vllm:prompt_tokens_total vllm:prompt_tokens_cached_total vllm:generation_tokens_total vllm:request_success_total
vllm:spec_decode_num_drafts_total vllm:spec_decode_num_draft_tokens_total vllm:spec_decode_num_accepted_tokens_total
vllm:spec_decode_num_accepted_tokens_per_pos_total vllm:time_to_first_token_seconds_count
vllm:inter_token_latency_seconds_count vllm:request_time_per_output_token_seconds_count vllm:e2e_request_latency_seconds_count
vllm:request_queue_time_seconds_count vllm:request_inference_time_seconds_count vllm:request_prefill_time_seconds_count
vllm:request_decode_time_seconds_count vllm:request_prompt_tokens_count vllm:request_generation_tokens_count
vllm:request_max_num_generation_tokens_count vllm:request_params_n_count vllm:request_params_max_tokens_count
vllm:iteration_tokens_total_count troupe_actor_mailbox_size troupe_actor_restarts_total troupe_actor_message_seconds_count
troupe_step_seconds_count troupe_bucket_executions_total troupe_bucket_padding_tokens_total troupe_bucket_fallbacks_total
troupe_warmup_progress troupe_grammar_compile_seconds_count troupe_grammar_mask_seconds_count troupe_last_step_age_seconds
troupe_info troupe_live troupe_ready troupe_request_errors_total troupe_trace_spans_exported_total
troupe_trace_spans_dropped_total""".split()


class Reading:
    """One look at /metrics."""

    def __init__(self, text):
        self.samples = [s for family in text_string_to_metric_families(text) for s in family.samples]
        self.names = {s.name for s in self.samples}

    def of(self, name, **labels):
        found = [s.value for s in self.samples if s.name == name and labels.items() <= s.labels.items()]
        assert found, f"/metrics has no {name} with {labels}"
        return sum(found)


@dataclasses.dataclass
class Answer:
    """What a client saw of one streamed request."""
    first: float | None = None  # seconds after it was sent
    last: float = 0
    tokens: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    reason: str = ""


def stream(service, body):
    """Sends one request, reads its whole stream."""
    seen, sent = Answer(), time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=120)
    request = {"temperature": 0, "stream": True, "stream_options": {"include_usage": True}, "return_token_ids": True, **body}
    connection.request("POST", "/v1/completions", json.dumps(request), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    assert answer.status == 200, answer.read()
    for line in answer:
        if not line.startswith(b"data: {"):
            continue
        event = json.loads(line[6:])
        for choice in event["choices"]:
            if choice.get("token_ids"):
                seen.first = seen.first or time.monotonic() - sent
            seen.reason = choice["finish_reason"] or seen.reason
        if event.get("usage"):
            seen.tokens, seen.prompt_tokens = event["usage"]["completion_tokens"], event["usage"]["prompt_tokens"]
            seen.cached_tokens = event["usage"]["prompt_tokens_details"]["cached_tokens"]
    seen.last = time.monotonic() - sent
    connection.close()
    return seen


@pytest.fixture(scope="module")
def idle(tmp_path_factory):
    """A service that nobody has asked anything but its health."""
    with Service(tmp_path_factory.mktemp("metrics") / "log", *FLAGS) as running:
        yield running


@pytest.fixture(scope="module")
def before(idle):
    idle.wait_until(lambda: idle.metric("troupe_warmup_progress") == 1, 60, "warmed up")  # what is left of it runs while nothing else does
    return Reading(idle.get("/metrics"))


@pytest.fixture(scope="module")
def run(idle, before):
    """The answers to ten requests, the metrics before and after, and how long it took."""
    bodies = [{"prompt": f"Tell me about {word} and {word} again.", "max_tokens": 12 + 4 * i, "ignore_eos": True}
              for i, word in enumerate(["bread", "rivers", "chess", "winter", "music", "bread", "ships", "tea"])]
    again = {"prompt": "One two three four five six seven eight nine ten " * 6, "max_tokens": 5, "ignore_eos": True}
    bodies = [again, *bodies, again]
    bodies += [{"prompt": "Count: one two three four", "max_tokens": 40, "stop": [" "]}]
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(lambda body: stream(idle, body), bodies))
    idle.wait_idle()
    return bodies, answers, before, Reading(idle.get("/metrics")), time.monotonic() - began


def grown(run, name, **labels):
    return run[3].of(name, **labels) - run[2].of(name, **labels)


def test_everything_is_there_at_zero_from_the_start(before):
    assert set(NAMES) <= before.names
    for name, expected in LABELS.items():
        for label, values in expected.items():
            assert {s.labels[label] for s in before.samples if s.name == name} == values, name
    moving = ("process_", "troupe_info", "troupe_actors", "troupe_actor_message_seconds", "vllm:cache_config_info", "troupe_warmup_progress",
              "troupe_live", "troupe_ready", "troupe_runner_")
    for sample in before.samples:
        if not sample.name.startswith(moving):
            assert sample.value == 0, sample
    assert before.of("troupe_warmup_progress") == before.of("troupe_live") == before.of("troupe_ready") == 1
    assert len([s for s in before.samples if s.name == "troupe_bucket_executions_total"]) > 3


def test_all_is_there_while_the_model_loads(start_service):
    starting = start_service(*FLAGS)
    starting.wait_until(lambda: starting.status("/livez") == 200, 60, "listening")
    first = Reading(starting.get("/metrics"))
    with starting as service:
        after = Reading(service.get("/metrics"))
    assert after.names == first.names
    assert first.of("vllm:cache_config_info") == first.of("troupe_bucket_executions_total") == 0
    assert after.of("vllm:cache_config_info") == first.of("troupe_info") == after.of("troupe_info") == 1
    versions = {s.labels["version"] for reading in (first, after) for s in reading.samples if s.name == "troupe_info"}
    assert len(versions) == 1 and versions != {""}
    for name, expected in LABELS.items():
        for label, values in expected.items():
            assert {s.labels[label] for s in first.samples if s.name == name} == values, name
    assert first.of("troupe_live") == 1 and first.of("troupe_ready") == 0
    assert first.of("vllm:generation_tokens_total") == first.of("troupe_actor_message_seconds_count") == 0
    model = {"model_name": "SmolLM2-135M-Instruct", "engine": "0"}
    assert first.of("vllm:num_requests_running", **model) == after.of("vllm:num_requests_running", **model) == 0


def test_errors_while_the_model_loads_are_counted_and_stay_so(start_service):
    starting = start_service()
    refused = 0
    starting.wait_until(lambda: starting.status("/livez") == 200, 60, "listening")
    while starting.status("/readyz") == 503:
        refused += starting.post("/v1/completions", {"prompt": "Once", "max_tokens": 1})[0] == 503
    with starting as service:
        assert service.metric("troupe_request_errors_total", code="503") == refused


def test_answers_are_counted_by_their_ends(run):
    _, answers, *_ = run
    for reason in ("stop", "length", "abort", "timeout", "error"):
        assert grown(run, "vllm:request_success_total", finished_reason=reason) == sum(a.reason == reason for a in answers), reason
    assert {a.reason for a in answers} == {"stop", "length"}


def test_tokens_are_those_of_the_answers_usage(run):
    bodies, answers, *_ = run
    tokens, prompts = sum(a.tokens for a in answers), sum(a.prompt_tokens for a in answers)
    assert grown(run, "vllm:generation_tokens_total") == grown(run, "vllm:request_generation_tokens_sum") == tokens
    assert grown(run, "vllm:prompt_tokens_total") == grown(run, "vllm:request_prompt_tokens_sum") == prompts
    assert grown(run, "vllm:prefix_cache_hits_total") == grown(run, "vllm:prompt_tokens_cached_total") == sum(a.cached_tokens for a in answers)
    assert sum(a.cached_tokens for a in answers) > 0, "two prompts are the same"
    assert grown(run, "vllm:prefix_cache_queries_total") >= prompts
    assert grown(run, "vllm:request_params_max_tokens_sum") == sum(body["max_tokens"] for body in bodies)
    assert grown(run, "vllm:request_max_num_generation_tokens_sum") == tokens
    assert grown(run, "vllm:request_params_n_sum") == len(answers)


def test_histograms_of_requests_have_one_observation_each(run):
    _, answers, *_ = run
    counted = ["vllm:time_to_first_token_seconds", "vllm:request_prompt_tokens", "vllm:request_generation_tokens",
               "vllm:request_max_num_generation_tokens", "vllm:request_params_n", "vllm:request_params_max_tokens", *WITHIN_A_REQUEST]
    for name in counted:
        assert grown(run, f"{name}_count") == len(answers), name
        assert grown(run, f"{name}_bucket", le="+Inf") == len(answers), name
    assert grown(run, "vllm:request_time_per_output_token_seconds_count") == sum(a.tokens > 1 for a in answers)
    assert 0 < grown(run, "vllm:inter_token_latency_seconds_count") <= sum(a.tokens - 1 for a in answers)
    by_length = sum(1 for a in answers if a.tokens <= 20)
    assert grown(run, "vllm:request_generation_tokens_bucket", le="20") == by_length
    assert grown(run, "vllm:request_params_n_bucket", le="1") == len(answers)


def test_times_lie_within_those_that_the_client_measured_and_add_up(run):
    _, answers, *_ = run
    total = {name: grown(run, f"{name}_sum") for name in WITHIN_A_REQUEST}
    whole, queue, inference, prefill, decode = (total[name] for name in WITHIN_A_REQUEST)
    first = grown(run, "vllm:time_to_first_token_seconds_sum")
    assert first <= sum(a.first for a in answers)
    assert whole <= sum(a.last for a in answers) <= 20 * whole, "the same unit"
    assert math.isclose(first, queue + prefill, rel_tol=1e-6)
    assert math.isclose(inference, prefill + decode, rel_tol=1e-6)
    assert math.isclose(decode, grown(run, "vllm:inter_token_latency_seconds_sum"), rel_tol=1e-6)
    assert queue + inference <= whole
    per_token = grown(run, "vllm:request_time_per_output_token_seconds_sum") / grown(run, "vllm:request_time_per_output_token_seconds_count")
    assert 0 < per_token < decode


def test_steps_buckets_and_drafts_agree_with_each_other(run):
    *_, took = run
    steps = grown(run, "troupe_step_seconds_count", phase="execute")
    assert steps == grown(run, "vllm:iteration_tokens_total_count") == grown(run, "troupe_step_seconds_count", phase="commit")
    assert grown(run, "troupe_actor_message_seconds_count", actor="model_runner", message="run_step") == steps
    assert 0 < grown(run, "troupe_step_seconds_sum", phase="execute") <= took
    assert grown(run, "troupe_step_seconds_count", phase="mask") == 0
    computed = grown(run, "vllm:prompt_tokens_total") - grown(run, "vllm:prompt_tokens_cached_total")
    assert grown(run, "vllm:iteration_tokens_total_sum") >= computed
    assert grown(run, "troupe_bucket_executions_total") + grown(run, "troupe_bucket_fallbacks_total") >= steps
    assert grown(run, "troupe_bucket_executions_total") > 0
    drafted, accepted = (grown(run, f"vllm:spec_decode_num_{what}_tokens_total") for what in ("draft", "accepted"))
    assert 0 < grown(run, "vllm:spec_decode_num_drafts_total") <= drafted
    assert accepted == grown(run, "vllm:spec_decode_num_accepted_tokens_per_pos_total") <= drafted


def test_actors_count_the_messages_of_a_request(run):
    _, answers, *_ = run
    for actor, message in [("http_gateway", "open_stream"), ("tokenizer", "generate"), ("scheduler", "submit"), ("kv_cache", "add_sequence"),
                           ("drafter", "open_drafts")]:
        assert grown(run, "troupe_actor_message_seconds_count", actor=actor, message=message) == len(answers), (actor, message)
    assert run[3].of("troupe_actor_restarts_total") == 0
    assert run[3].of("troupe_actor_mailbox_size") == 0


def test_several_answers_to_one_request_are_one_with_several_answers(idle, run):
    before = Reading(idle.get("/metrics"))
    status, answer = idle.post("/v1/completions", {"prompt": "Once", "n": 3, "max_tokens": 30, "temperature": 1, "seed": 3, "stop": ["the"]})
    assert status == 200
    after = Reading(idle.get("/metrics"))
    grew = {name: after.of(name) - before.of(name) for name in before.names if name.startswith("vllm:request_") and not name.endswith("_bucket")}
    assert (grew["vllm:request_params_n_count"], grew["vllm:request_params_n_sum"]) == (1, 3)
    assert grew["vllm:request_success_total"] == grew["vllm:request_generation_tokens_count"] == 3
    assert grew["vllm:request_generation_tokens_sum"] == answer["usage"]["completion_tokens"]
    longest = grew["vllm:request_max_num_generation_tokens_sum"]
    assert grew["vllm:request_max_num_generation_tokens_count"] == 1
    assert longest <= 30 and answer["usage"]["completion_tokens"] / 3 <= longest < answer["usage"]["completion_tokens"]


def test_refusals_are_counted_by_their_status(idle, run):
    before = Reading(idle.get("/metrics"))
    too_long = {"prompt": "a b c " * 9000, "max_tokens": 4}
    assert idle.post("/v1/completions", too_long)[0] == 400
    assert idle.post("/v1/completions", {**too_long, "n": 2})[0] == 400  # for one of them; the other may not have ended yet
    # The gateway refuses these itself.
    assert idle.post("/v1/completions", {"prompt": "a", "temperature": -1})[0] == 400
    assert idle.post("/v1/completions", "{")[0] == 400
    assert idle.post("/v1/completions", {"prompt": "a", "model": "nobody"})[0] == 404
    idle.wait_until(lambda: idle.metric("troupe_request_errors_total") == before.of("troupe_request_errors_total") + 6, 30, "done refusing")
    after = Reading(idle.get("/metrics"))
    by_status = {code: after.of("troupe_request_errors_total", code=code) - before.of("troupe_request_errors_total", code=code)
                 for code in LABELS["troupe_request_errors_total"]["code"]}
    assert by_status == {"400": 5, "401": 0, "404": 1, "413": 0, "429": 0, "500": 0, "503": 0}
    assert after.of("vllm:request_params_n_count") == before.of("vllm:request_params_n_count")


def test_a_grammar_is_counted_from_its_compilation_to_its_last_mask(idle, run):
    before = Reading(idle.get("/metrics"))
    body = {"messages": [{"role": "user", "content": "A number?"}], "max_tokens": 12, "temperature": 0,
            "structured_outputs": {"regex": "[0-9]{3,5}"}}
    answers = [idle.post("/v1/chat/completions", body)[1] for _ in range(2)]
    after = Reading(idle.get("/metrics"))

    def grew(name):
        return after.of(name) - before.of(name)
    tokens = sum(answer["usage"]["completion_tokens"] for answer in answers)
    assert (grew("troupe_grammar_cache_queries_total"), grew("troupe_grammar_cache_hits_total")) == (2, 1)
    assert grew("troupe_grammar_compile_seconds_count") == 1
    assert 0 < grew("troupe_grammar_mask_seconds_count") <= 2 * tokens
    assert grew("vllm:request_success_total") == 2


def test_gauges_are_what_is_open(idle, run):
    """Two run, three wait; with their clients they go."""
    began = time.monotonic()
    body = {"prompt": "A long story:", "max_tokens": 1500, "ignore_eos": True, "stream": True, "num_speculative_tokens": 0}
    clients = []
    for _ in range(5):
        clients.append(http.client.HTTPConnection("127.0.0.1", idle.port, timeout=60))
        clients[-1].request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    def counts(of):
        return of.of("vllm:num_requests_running"), of.of("vllm:num_requests_waiting")

    # Of one reading: with four of them here, three may wait for the next plan beside one that runs.
    idle.wait_until(lambda: counts(Reading(idle.get("/metrics"))) == (2, 3), 30, "full")
    now = Reading(idle.get("/metrics"))
    assert counts(now) == (2, 3)
    assert now.of("vllm:num_requests_waiting_by_reason", reason="capacity") == 3
    assert now.of("vllm:num_requests_waiting_by_reason", reason="deferred") == 0
    blocks = int(next(s for s in now.samples if s.name == "vllm:cache_config_info").labels["num_gpu_blocks"])
    used = now.of("vllm:kv_cache_usage_perc") * blocks
    assert abs(used - round(used)) < 1e-6 and 1 <= round(used) <= 2 * -(-1510 // 16) + 2
    # A step takes some milliseconds: the last one is soon far younger than the requests.
    idle.wait_until(lambda: idle.metric("troupe_last_step_age_seconds") * 20 < time.monotonic() - began, 30, "seen to go on")
    for client in clients:
        client.close()
    idle.wait_idle()
    after = Reading(idle.get("/metrics"))
    assert after.of("vllm:request_success_total", finished_reason="abort") == run[3].of("vllm:request_success_total", finished_reason="abort") + 5
    assert after.of("troupe_last_step_age_seconds") == 0
