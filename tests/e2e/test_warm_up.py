"""Warm-up and padding of the real service: what is logged, and that no token depends on it."""
import json
import re
import urllib.request

SMALL = ["--max-model-len", "256", "--max-num-seqs", "4", "--max-num-batched-tokens", "64", "--kv-cache-memory", "64MiB",
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


def test_a_skipped_warm_up_logs_nothing(start_service):
    for flag in ("--skip-warmup", "--enforce-eager"):
        with start_service(*SMALL, flag) as service:
            assert service.metric("troupe_warmup_progress") == 1
            assert not re.search(r"\[Warmup\]|bucket|sampler", whole_log(service))


def test_a_lazy_warm_up_goes_on_while_nothing_runs(start_service):
    with start_service(*SMALL) as service:
        service.wait_until(lambda: service.metric("troupe_warmup_progress") == 1, 60, "warmed up")
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
