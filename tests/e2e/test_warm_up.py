"""Warm-up, padding and planning ahead of the real service: what is logged, and that no token depends on them."""
import json
import re
import subprocess
import urllib.request
from concurrent.futures import ThreadPoolExecutor

from conftest import BINARY, MODEL

SMALL = ["--max-model-len", "256", "--max-num-seqs", "4", "--max-num-batched-tokens", "64", "--kv-cache-memory", "64MiB",
         "--threads", "1"]
TINY = ["--max-model-len", "256", "--max-num-seqs", "2", "--max-num-batched-tokens", "16", "--kv-cache-memory", "64MiB",
        "--threads", "1"]
FEW = ["--prompt-query-bucket-limit", "2", "--prompt-block-bucket-max", "2", "--decode-block-bucket-limit", "2"]


def tokens(service, prompt):
    request = urllib.request.Request(
        service.url + "/v1/completions", headers={"Content-Type": "application/json"},
        data=json.dumps({"model": "SmolLM2-135M-Instruct", "prompt": prompt, "max_tokens": 12, "temperature": 0.8, "seed": 3,
                         "ignore_eos": True, "return_token_ids": True}).encode())
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)["choices"][0]["token_ids"]


def whole_log(service):
    with open(service.log_path, errors="replace") as log:
        return log.read()


def test_a_full_warm_up_logs_every_bucket_and_the_sampler(start_service):
    with start_service(*SMALL, *FEW, "--warmup", "full") as service:
        assert service.metric("troupe_warmup_progress") == 1
        log = whole_log(service)
    assert re.search(r"Prompt bucket config \(min, step, max_warmup, limit\) bs:\[1, 1, 1, 1\], seq:\[16, 16, 64, 2\]", log)
    prompts = re.search(r"Generated (\d+) prompt buckets \[bs, query, num_blocks\]: \[\(1, 16, 0\), \(1, 16, 1\)", log)
    decodes = re.search(r"Generated (\d+) decode buckets \[bs, query, num_blocks\]: \[\(1, 1, 16\)", log)
    for phase, generated in (("Prompt", prompts), ("Decode", decodes)):
        count = int(generated[1])
        found = re.findall(rf"\[Warmup\]\[{phase}\]\[(\d+)/(\d+)\] batch:(\d+) query:(\d+) blocks:(\d+) free_mem:[\d.]+ GiB", log)
        assert [(int(number), int(total)) for number, total, *_ in found] == [(i + 1, count) for i in range(count)]
        shapes = [tuple(map(int, shape)) for _, _, *shape in found]
        assert shapes == sorted(shapes, reverse=True)
    assert "Warming up sampler with batch sizes: [0, 1, 2, 4] and following configs:" in log
    assert len(re.findall(r"temp=\d\.\d, top_p=[\d.]+, top_k=\d+, batch_changed=(True|False)", log)) == 12
    assert log.index("Starting sampler warmup...") < log.index("Sampler warmup completed successfully")


def test_a_warm_up_of_rows_is_done_before_the_first_request(start_service):
    with start_service(*SMALL, *FEW, "--warmup", "rows") as service:
        assert service.metric("troupe_warmup_progress") == 1
        for phase, rows in (("Prompt", [64, 16]), ("Decode", [4, 2, 1])):
            found = re.findall(rf"\[Warmup\]\[{phase}\]\[\d+/\d+\] batch:(\d+) query:(\d+) blocks:\d+ ", whole_log(service))
            assert [int(batch) * int(query) for batch, query in found] == rows


def test_a_skipped_warm_up_logs_nothing(start_service):
    for flag in ("--skip-warmup", "--enforce-eager"):
        with start_service(*SMALL, flag) as service:
            assert service.metric("troupe_warmup_progress") == 1
            assert not re.search(r"\[Warmup\]|bucket|sampler", whole_log(service))


def test_a_lazy_warm_up_goes_on_while_nothing_runs(start_service):
    with start_service(*SMALL) as service:
        service.wait_until(lambda: service.metric("troupe_warmup_progress") == 1, 180, "warmed up")
        log = whole_log(service)
        before = re.findall(r"\[Warmup\]\[(\w+)\]", log[:log.index('ready"') if 'ready"' in log else len(log)])
        assert before[:2] == ["Prompt", "Decode"]
        assert "Sampler warmup completed successfully" in log


def test_no_token_depends_on_warm_up_or_padding(start_service):
    prompts = ["The capital of Japan is", "Once upon a time there was a " + "very " * 60 + "old castle"]
    expected = None
    for flags in (["--skip-warmup"], ["--warmup", "full", *FEW], ["--bucket-padding", "on"],
                  ["--bucket-padding", "on", "--bucketing-strategy", "unified", "--skip-warmup"]):
        with start_service(*SMALL, *flags) as service:
            found = [tokens(service, prompt) for prompt in prompts]
            padding = service.metric("troupe_bucket_padding_tokens_total")
            assert (padding > 0) == ("--bucket-padding" in flags)
            assert service.metric("troupe_bucket_executions_total") > 0
        assert all(len(each) == 12 for each in found)
        expected = expected or found
        assert found == expected


def test_no_token_depends_on_how_far_ahead_steps_are_planned(start_service):
    prompts = ["The capital of Japan is", "One, two, three,", "Once upon a time there was a " + "very " * 60 + "old castle"]
    expected = None
    for flags in ([], ["--no-async-scheduling"], ["--num-scheduler-steps", "3"],
                  ["--num-scheduler-steps", "3", "--no-async-scheduling"]):
        with start_service(*SMALL, "--skip-warmup", *flags) as service, ThreadPoolExecutor() as clients:
            found = list(clients.map(lambda prompt: tokens(service, prompt), prompts))
        assert all(len(each) == 12 for each in found)
        expected = expected or found
        assert found == expected, flags


def test_the_log_tells_the_phases_of_the_start_in_order(start_service):
    with start_service(*SMALL, "--skip-warmup") as service:
        log = whole_log(service)
    places = [re.search(pattern, log) for pattern in (
        r"device: .*kernels \w+ .*dtype auto: activations and sums in float32", r"weights packed for \w+",
        r"profiling: a step of 64 tokens and 4 sequences takes [\d.]+ MiB beside [\d.]+ MiB of weights; \d+ MiB are free",
        r"KV cache: \d+ blocks of 16 tokens in f16, \d+ bytes per block, [\d.]+ MiB in all \(kv_cache_memory 64 MiB\)")]
    assert all(places), log
    assert [place.start() for place in places] == sorted(place.start() for place in places)


def test_a_share_of_what_the_profiling_leaves_sizes_the_kv_cache(start_service):
    with start_service("--max-model-len", "256", "--max-num-seqs", "4", "--max-num-batched-tokens", "64", "--threads", "1",
                       "--memory-utilization", "0.02", "--skip-warmup") as service:
        log = whole_log(service)
    found = re.search(r"([\d.]+) MiB in all \(memory_utilization 0.02 of (\d+) MiB\)", log)
    assert found, log
    assert 0.5 * 0.02 * int(found[2]) < float(found[1]) <= 1.5 * 0.02 * int(found[2])


def test_a_type_that_the_cpu_does_not_compute_in_is_refused():
    for dtype in ("half", "bfloat16", "float32"):
        ended = subprocess.run([BINARY, "serve", "--model", str(MODEL), "--dtype", dtype, "--port", "0", "--tcp-port", "-1"],
                               capture_output=True, text=True, timeout=60)
        assert ended.returncode == 78
        assert f"dtype is {dtype}" in ended.stderr and "dtype must be auto" in ended.stderr
    ended = subprocess.run([BINARY, "serve", "--port", "0", "--tcp-port", "0", "--dtype", "fp4"], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 78


def test_a_bucket_that_memory_does_not_hold_is_left_out_and_the_rest_is_served(start_service, tmp_path):
    buckets = tmp_path / "buckets"
    buckets.write_text("(1, 16777216, 0)\n(1, 32, 0)\n(4, 1, 16)\n")
    with start_service(*SMALL, "--bucket-padding", "on", "--bucketing-from-file", str(buckets), "--warmup", "full") as service:
        assert len(tokens(service, "The capital of Japan is")) == 12
        assert service.metric("troupe_bucket_padding_tokens_total") > 0
        log = whole_log(service)
    assert re.search(r"prompt bucket \(1, 16777216, 0\) left out: ", log)
    assert "[Warmup][Prompt][1/1] batch:1 query:32 blocks:0" in log


def test_a_tuning_file_makes_the_next_start_measure_nothing_and_no_token_depends_on_it(start_service, tmp_path):
    place = tmp_path / "cache" / "tuning.json"
    expected = None
    for flags, tuned, warned in (
            (["--skip-warmup"], False, False),
            (["--warmup", "full", *FEW, "--tuning-file", str(place)], True, False),
            (["--warmup", "full", *FEW, "--tuning-file", str(place)], False, False),
            (["--warmup", "full", *FEW, "--tuning-file", str(place), "--block-size", "32"], True, True),
            (["--skip-warmup", "--tuning-file", str(place), "--block-size", "32"], False, False)):
        with start_service(*TINY, *flags) as service:
            found = tokens(service, "The capital of Japan is")
            log = whole_log(service)
        assert len(found) == 12
        expected = expected or found
        assert found == expected
        assert ("[Warmup][Tuning][1/" in log) == tuned
        assert (f"tuning kept in {place}" in log) == tuned
        assert ("plans are chosen anew" in log) == warned
        assert log.count("is of another machine, model, number of threads or version") == (1 if warned else 0)
    assert json.loads(place.read_text())["threads"] == 1
    assert [entry.name for entry in place.parent.iterdir()] == [place.name]


def test_a_tuning_file_that_is_damaged_or_cannot_be_written_is_one_warning(start_service, tmp_path):
    damaged = tmp_path / "damaged"
    damaged.write_text("this is not what you are looking for\n")
    for place in (damaged, damaged / "below"):
        with start_service(*TINY, *FEW, "--warmup", "full", "--tuning-file", str(place)) as service:
            assert len(tokens(service, "The capital of Japan is")) == 12
            log = whole_log(service)
        assert "the tuning is not kept" in log
    assert damaged.read_text() == "this is not what you are looking for\n"
