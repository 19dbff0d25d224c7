"""troupe buckets: every strategy as a person would ask for it; no model is needed."""
import itertools
import json
import random

import pytest

from test_cli import refused, troupe

DOCUMENTED = ["--max-num-seqs", 4, "--max-num-batched-tokens", 1024, "--block-size", 128, "--max-model-len", 1024,
              "--num-blocks", 5781]
DECODE_BLOCKS = [*range(128, 1025, 128), 1408, 1792, 2432, 3328, 4352, 5888]


def buckets(*arguments, **environment):
    done = troupe("buckets", "--json", *arguments, **environment)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert len(done.stdout.splitlines()) == 1
    return json.loads(done.stdout)


def test_exponential_buckets_are_the_documented_ones():
    found = buckets("--bucketing-strategy", "exponential", *DOCUMENTED)
    assert found == buckets(*DOCUMENTED)
    assert found["prompt"] == [[1, query, blocks] for query in range(128, 1025, 128)
                               for blocks in range((1024 - query) // 128 + 1)]
    assert len(found["prompt"]) == 36
    assert found["decode"] == [[batch, 1, blocks] for batch in (1, 2, 4) for blocks in DECODE_BLOCKS]
    assert found["unified"] == []


def test_a_block_may_hold_one_token():
    found = buckets("--block-size", 1, "--max-num-seqs", 4, "--max-num-batched-tokens", 1024, "--max-model-len", 1024,
                    "--num-blocks", 5781, "--prompt-bs-bucket-max", 4, "--prompt-query-bucket-min", 128,
                    "--prompt-query-bucket-step", 128, "--prompt-block-bucket-max", 0, "--decode-block-bucket-min", 128,
                    "--decode-block-bucket-step", 128)
    assert [4, 512, 0] in found["prompt"]
    assert all(bucket in found["decode"] for bucket in ([4, 1, 512], [2, 1, 512], [4, 1, 640]))


def test_unified_buckets_are_the_documented_ones():
    found = buckets("--bucketing-strategy", "unified", "--max-num-seqs", 32, "--max-num-batched-tokens", 2048,
                    "--block-size", 128, "--max-model-len", 1024, "--num-blocks", 5781)
    assert found["prompt"] == found["decode"] == []
    assert len(found["unified"]) == 375
    assert found["unified"][:2] == [[8, 0, 0, 1], [8, 0, 8, 0]] and found["unified"][-1] == [2048, 256, 5781, 1]
    wider = buckets("--bucketing-strategy", "unified", "--max-num-seqs", 64, "--max-num-batched-tokens", 4096)
    assert sorted({each[0] for each in wider["unified"]}) == [16, 32, 64, 1024, 2048, 4096]


@pytest.mark.parametrize("ranges, expected", [
    (["--prompt-query-bucket-min", 2, "--prompt-query-bucket-step", 32, "--prompt-query-bucket-max", 64], [2, 4, 8, 16, 32, 64]),
    (["--prompt-query-bucket-min", 128, "--prompt-query-bucket-step", 128, "--prompt-query-bucket-max", 512],
     [128, 256, 384, 512])])
def test_linear_buckets_are_the_documented_ones(ranges, expected):
    found = buckets("--bucketing-strategy", "linear", *DOCUMENTED, *ranges)
    assert sorted({query for _, query, _ in found["prompt"]}) == expected


def test_buckets_are_filled_or_dropped():
    ranges = ["--prompt-query-bucket-min", 128, "--prompt-query-bucket-step", 128, "--prompt-query-bucket-limit"]
    sizes = ["--max-model-len", 4096, "--max-num-batched-tokens", 4096]

    def queries(*arguments):
        return sorted({query for _, query, _ in buckets(*sizes, *ranges, *arguments)["prompt"]})

    assert queries(13) == [*range(128, 1025, 128), 1408, 1792, 2304, 3072, 4096]
    assert queries(10, "--prompt-query-bucket-max", 2048, "--bucket-fill", "drop") == [
        128, 256, 384, 512, 640, 896, 1152, 1536, 2048]


@pytest.mark.parametrize("strategy, minimum, step, limit, most, expected", [
    ("exponential", 2, 2, 4, 32, [4, 8, 16, 32]), ("exp", 2, 2, 4, 32, [4, 8, 16, 32]),
    ("linear", 2, 4, 32, 16, [4, 8, 12, 16])])
def test_decode_batches_are_counted_down(strategy, minimum, step, limit, most, expected):
    found = buckets("--max-num-seqs", most, "--decode-batch-bucket-strategy", strategy, "--decode-batch-bucket-min", minimum,
                    "--decode-batch-bucket-step", step, TROUPE_DECODE_BATCH_BUCKET_LIMIT=str(limit))
    assert sorted({batch for batch, _, _ in found["decode"]}) == expected
    assert {batch for batch, _, _ in found["prompt"]} == {1}


def test_one_option_of_the_decode_batches_is_enough():
    batches = {batch for batch, _, _ in buckets("--max-num-seqs", 48, "--decode-batch-bucket-limit", 3)["decode"]}
    assert batches == {48, 24, 12}


@pytest.mark.parametrize("flags, words", [
    (["--decode-batch-bucket-step", 1], ["decode_batch_bucket_step", "1"]),
    (["--decode-batch-bucket-step", 0], ["--decode-batch-bucket-step", "'0'"]),
    (["--decode-batch-bucket-min", 0], ["--decode-batch-bucket-min", "'0'"]),
    (["--decode-batch-bucket-limit", -3], ["--decode-batch-bucket-limit", "'-3'"]),
    (["--decode-batch-bucket-min", 65], ["decode_batch_bucket_min", "max_num_seqs (64)", "65"]),
    (["--decode-batch-bucket-strategy", "geometric"], ["--decode-batch-bucket-strategy", "geometric"]),
    (["--bucketing-strategy", "cubic"], ["--bucketing-strategy", "cubic"]),
    (["--prompt-query-bucket-min", 1000, "--max-num-batched-tokens", 512], ["prompt_query_bucket_min", "512", "1000"]),
    (["--bucketing-strategy", "unified", "--bucketing-from-file", "b.txt"], ["bucketing_from_file", "unified", "b.txt"])])
def test_a_wrong_value_is_a_configuration_error_that_names_it(flags, words):
    refused(troupe("buckets", *flags), 78, *words)


def test_buckets_come_from_a_file(tmp_path):
    file = tmp_path / "buckets.txt"
    file.write_text("# mixed\n(1, 2048, 0)\n(64, 1, 1024)  # precise\n(1, [256, 512], [0, 4, 8])\n(1, 1, range(256, 512, 128))\n")
    found = buckets("--bucketing-from-file", file)
    assert found["decode"] == [[1, 1, 256], [1, 1, 384], [1, 1, 512], [64, 1, 1024]]
    assert found["prompt"] == [*([1, query, blocks] for query in (256, 512) for blocks in (0, 4, 8)), [1, 2048, 0]]
    file.write_text("\ufeff([64, 128, 256,], 1, range(512, 1024, 32),)\n")  # as editors and Python write it
    assert len(buckets(TROUPE_BUCKETING_FROM_FILE=str(file))["decode"]) == 51


def test_a_bad_line_is_named_with_its_number(tmp_path):
    file = tmp_path / "buckets.txt"
    file.write_text("(1, 2, 3)\n\n(1, 2\n")
    refused(troupe("buckets", "--bucketing-from-file", file), 78, f"{file}:3: ")
    refused(troupe("buckets", "--bucketing-from-file", tmp_path / "none"), 78, "bucketing_from_file", "no such file")


def test_none_has_no_buckets():
    assert buckets("--bucketing-strategy", "none") == {"prompt": [], "decode": [], "unified": []}
    assert "no buckets" in troupe("buckets", "--bucketing-strategy", "none").stdout


def test_the_table_has_every_bucket():
    table = troupe("buckets", *DOCUMENTED).stdout
    assert "Prompt bucket config (min, step, max_warmup, limit) bs:[1, 1, 1, 1], seq:[128, 128, 1024, 11]" in table
    assert "36 prompt buckets" in table and "42 decode buckets" in table
    rows = [line.split() for line in table.splitlines()]
    assert ["1", "128", *map(str, range(8))] in rows
    assert ["4", "1", *map(str, DECODE_BLOCKS)] in rows
    assert "64 unified buckets" not in table


def test_a_trace_shows_what_padding_costs(tmp_path):
    trace = tmp_path / "lengths.txt"
    trace.write_text("100\n128, 129\n2000\n")
    found = buckets(*DOCUMENTED, "--trace", trace)["trace"]
    assert found["lengths"] == 4 and found["tokens"] == 2357 and found["fallbacks"] == 1
    assert found["padding_tokens"] == 28 + 0 + 127
    assert found["waste"] == pytest.approx(155 / (2357 + 155))
    table = troupe("buckets", *DOCUMENTED, "--trace", trace).stdout
    assert "155 padding tokens" in table and "fallbacks  1 prompt beyond every bucket" in table
    trace.write_text("7\nseven\n")
    refused(troupe("buckets", "--trace", trace), 78, f"{trace}:2: ")


def test_a_suggestion_is_the_best_of_all_and_a_bucket_file(tmp_path):
    lengths = random.Random(1).choices([3, 10, 17, 40, 41, 90, 200, 350, 351, 500], k=60)
    trace, file = tmp_path / "lengths.txt", tmp_path / "suggested.txt"
    trace.write_text("\n".join(map(str, lengths)))

    def padding(chosen):
        return sum(min(each for each in chosen if each >= length) - length for length in lengths)

    for count in (1, 3, 5):
        best = min(padding(chosen) for chosen in itertools.combinations(sorted(set(lengths)), count)
                   if max(chosen) >= max(lengths))
        file.write_text(troupe("buckets", "--suggest", trace, "--buckets", count).stdout)
        found = buckets("--bucketing-from-file", file, "--trace", trace)
        assert len(found["prompt"]) == count
        assert found["trace"]["padding_tokens"] == best and found["trace"]["fallbacks"] == 0
        assert buckets("--suggest", trace, "--buckets", count)["trace"] == found["trace"]


def test_a_suggestion_tells_of_prompts_that_no_step_computes_whole(tmp_path):
    trace, file = tmp_path / "lengths.txt", tmp_path / "suggested.txt"
    trace.write_text("100 512 513 2000")
    file.write_text(troupe("buckets", "--suggest", trace, "--max-num-batched-tokens", "512").stdout)
    assert "2 of them are longer than max_num_batched_tokens (512)" in file.read_text()
    assert buckets("--bucketing-from-file", file)["prompt"], "it is a bucket file all the same"
    assert "longer than" not in troupe("buckets", "--suggest", trace, "--max-num-batched-tokens", "2000").stdout


@pytest.mark.parametrize("arguments", [["--num-blocks", "-1"], ["--buckets", "3"], ["--suggest", "x", "--trace", "y"],
                                       ["--suggest", "x", "--buckets", "0"]])
def test_wrong_usage_ends_with_2(arguments):
    assert troupe("buckets", *arguments).returncode == 2
