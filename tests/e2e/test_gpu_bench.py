"""tests/bench/gpu.py where there is no GPU: model files, and what is said of what is missing; with stand-ins for device,
troupe and torch, what it makes of their answers."""
import json
import random
import struct
import subprocess
import sys

from conftest import BINARY
from gpu_stand_ins import BENCH, SELF_TEST, asked, bench, bench_with, program, python, stand_ins, troupe

import gpu_models
import gpu_page


def test_a_made_up_model_is_one_that_troupe_reads(tmp_path):
    file = tmp_path / "tiny.gguf"
    subprocess.run([sys.executable, BENCH / "gpu_models.py", "tiny", file], check=True, timeout=120)
    done = subprocess.run([BINARY, "inspect", file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "82240 parameters" in done.stdout
    done = subprocess.run([BINARY, "run", "--model", file, "--device", "cpu", "--max-tokens", "4", "Hello"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout, done.stderr
    again = tmp_path / "again.gguf"
    subprocess.run([sys.executable, BENCH / "gpu_models.py", "tiny", again], check=True, timeout=120)
    assert file.read_bytes() == again.read_bytes()


def test_a_made_up_quantised_model_is_one_that_troupe_reads(tmp_path):
    file = tmp_path / "tiny-q4.gguf"
    subprocess.run([sys.executable, BENCH / "gpu_models.py", "tiny-q4", file], check=True, timeout=120)
    done = subprocess.run([BINARY, "inspect", file], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "82240 parameters" in done.stdout
    assert "q4_1" in done.stdout.lower() and "q8_0" in done.stdout.lower()
    done = subprocess.run([BINARY, "run", "--model", file, "--device", "cpu", "--max-tokens", "4", "Hello"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout, done.stderr


def test_blocks_of_codes_are_the_numbers_that_they_were_made_of():
    dice = random.Random(2)
    normal = [dice.gauss(0, 1) for _ in range(1021)]
    first = struct.unpack("<ee16B", gpu_models.blocks(normal, 0.25, gpu_models.Q4_1)[:20])
    codes = [each % 16 for each in first[2:]] + [each // 16 for each in first[2:]]
    for value, code in zip(normal, codes):
        assert abs(first[1] + first[0] * code - 0.25 * value) < 0.55 * first[0]
    first = struct.unpack("<e32b", gpu_models.blocks(normal, 0.25, gpu_models.Q8_0)[:34])
    for value, code in zip(normal, first[1:]):
        assert abs(first[0] * code - 0.25 * value) < 0.55 * first[0]


def test_no_two_tokens_have_the_same_row():
    """Their logits would be equal, and which of them is the best a matter of the last bit."""
    for shape in gpu_models.SHAPES.values():
        assert shape.hidden % gpu_models.BLOCK == 0
        for elements, period in ((shape.hidden, gpu_models.PATTERN), (shape.hidden // gpu_models.BLOCK, gpu_models.BLOCK_PATTERN)):
            assert len({row * elements % period for row in range(shape.vocab)}) == shape.vocab


def test_what_is_missing_is_named_and_the_rest_goes_on(tmp_path):
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    done, data = bench(tmp_path, "--troupe", tmp_path / "nowhere", "kernels", path=str(nothing))
    assert done.returncode == 3
    assert "no NVIDIA driver" in data["problems"]["machine"]["machine"]
    assert str(tmp_path / "nowhere") in data["problems"]["build"]["troupe"]
    assert "no device was found" in done.stdout


def test_answers_become_a_page_with_medians_of_turns(tmp_path):
    tools = stand_ins(tmp_path)
    done, data = bench_with(tools, "--rounds", "2", "kernels", "smollm-135m")
    assert done.returncode == 0, done.stderr
    assert data["problems"] == {}
    steps = data["steps"]["smollm-135m"]
    assert len(steps["troupe"]) == len(steps["torch"]["graph 8"]) == 2
    assert "On a GPU: Some GPU" in done.stdout
    assert "torch 2.11" in done.stdout
    assert "| smollm-135m | 64 | 1024 | 164 | 400 | 184 | 2.0 | 50 | 7000 | 300 | - |" in done.stdout
    assert "| silu_multiply | 8192 x 14336, bf16 | 250.0 | 90 | - | 900.0 | 260.0 |" in done.stdout
    assert "| smollm-135m, logits | 1 x 49152 x 576 | 20.0 | 16.0 | 24.0 | 1.25 | 80 | 1 |" in done.stdout
    assert "- torch, smollm-135m, compiled 64: OutOfMemoryError: too large" in done.stdout


def test_a_median_is_the_middle_of_what_was_measured():
    assert gpu_page.median([9.0, None, 1.0, 2.0]) == 2.0
    assert gpu_page.median([None]) is None


def test_quantised_models_are_run_with_their_codes_on_the_device_and_without_torch(tmp_path):
    coded = {"kernel": "quantised product, logits", "shape": "1 x 49152 x 576", "us": 9.0, "batch_invariant_us": 9.5,
             "share_of_copy_bandwidth": 0.6, "share_of_arithmetic": 0.02}
    tools = stand_ins(tmp_path, {**SELF_TEST, "timings": [*SELF_TEST["timings"], coded]})
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m-q4")
    assert done.returncode == 0, done.stderr
    assert data["problems"] == {}
    assert "--gpu-weights file" in asked(tools)[0]
    assert not asked(tools, "torch_asked")
    assert "| smollm-135m-q4 | 64 | 1024 | 164 | 400 | 184 | 2.0 | 50 | - | - | - |" in done.stdout
    assert "| smollm-135m-q4, logits | 1 x 49152 x 576 | 9.0 | 9.5 | 60 | 2 |" in done.stdout


def test_torch_may_be_left_out(tmp_path):
    tools = stand_ins(tmp_path)
    done, data = bench_with(tools, "--rounds", "1", "--no-torch", "kernels", "smollm-135m")
    assert done.returncode == 0, done.stderr
    assert data["problems"] == {} and len(data["steps"]["smollm-135m"]["troupe"]) == 1
    assert not asked(tools, "torch_asked")


def test_models_in_fp8_are_the_same_files_and_need_a_device_that_has_such_products(tmp_path):
    coded = {"kernel": "fp8 product, logits", "shape": "8 x 49152 x 576", "us": 7.0, "batch_invariant_us": 7.5,
             "share_of_copy_bandwidth": 0.7, "share_of_arithmetic": 0.04}
    tools = stand_ins(tmp_path, {**SELF_TEST, "timings": [*SELF_TEST["timings"], coded]})
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m-fp8")
    assert done.returncode == 0, done.stderr
    assert "smollm-135m.gguf" in asked(tools)[0] and "--gpu-weights fp8" in asked(tools)[0]
    assert "| smollm-135m-fp8, logits | 8 x 49152 x 576 | 7.0 | 7.5 | 70 | 4 |" in done.stdout
    assert "| smollm-135m-fp8 | 64 | 1024 | 164 | 400 | 184 | 2.0 | 50 | - | - | - |" in done.stdout
    program(tools / "nvidia-smi", 'echo "Old GPU, 580.1, 40960 MiB, 8.0"\n')
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m-fp8")
    assert done.returncode == 3
    assert "8.9" in data["problems"]["smollm-135m-fp8"]["self-test smollm-135m-fp8, 1 of 1"]


def test_a_wrong_kernel_and_a_missing_torch_are_told_by_name(tmp_path):
    wrong = {**SELF_TEST, "passed": False, "failures": ["the kernel silu_multiply, bf16 is wrong"], "kernels": [{**SELF_TEST["kernels"][0], "passed": False}]}
    tools = stand_ins(tmp_path, wrong)
    python(tools, 'sys.exit("No module named torch")')
    done, data = bench_with(tools, "kernels")
    assert done.returncode == 1
    assert "WRONG: silu_multiply, bf16" in done.stderr
    assert "wrong: silu_multiply, bf16" in done.stdout
    assert "No module named torch" in data["problems"]["kernels"]["torch kernels"]


def test_an_answer_that_lacks_what_the_page_tells_fails_by_name_and_is_not_kept(tmp_path):
    tools = stand_ins(tmp_path, {each: value for each, value in SELF_TEST.items() if each != "copy_gb_per_s"})
    done, data = bench_with(tools, "kernels")
    assert done.returncode == 1
    assert "'copy_gb_per_s'" in data["problems"]["kernels"]["self-test smollm-135m"]
    troupe(tools, SELF_TEST)
    done, data = bench_with(tools, "kernels")
    assert done.returncode == 0, done.stderr


def test_what_would_not_end_in_time_is_left_out(tmp_path):
    tools = stand_ins(tmp_path)
    done, data = bench_with(tools, "--seconds", "20", "llama-1b")
    assert done.returncode == 3
    assert "left out" in data["problems"]["llama-1b"]["weights llama-1b"]


def test_torch_says_by_its_code_that_it_is_missing(tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no such library')\n")
    done = subprocess.run([sys.executable, BENCH / "gpu_torch.py", "kernels"], capture_output=True, text=True, timeout=60,
                          env={"PYTHONPATH": str(tmp_path)})
    assert done.returncode == 3
    assert "no such library" in done.stderr


# Every measurement fails in it, which is all that these tests need of one.
TORCH_MODULE = """
import contextlib, types
__version__ = "0"
nn = None
cuda = types.SimpleNamespace(is_available=lambda: True, get_device_name=lambda: "Some GPU", synchronize=lambda: None, empty_cache=lambda: None)
_dynamo = types.SimpleNamespace(reset=lambda: None)
manual_seed, no_grad = lambda seed: None, contextlib.nullcontext
"""


def torch_side(tmp_path, *arguments):
    (tmp_path / "torch" / "nn").mkdir(parents=True, exist_ok=True)
    (tmp_path / "torch" / "__init__.py").write_text(TORCH_MODULE)
    (tmp_path / "torch" / "nn" / "__init__.py").touch()
    (tmp_path / "torch" / "nn" / "functional.py").touch()
    done = subprocess.run([sys.executable, BENCH / "gpu_torch.py", *arguments], capture_output=True, text=True, timeout=60,
                          env={"PYTHONPATH": str(tmp_path)})
    return done, [json.loads(line) for line in done.stdout.splitlines()]


def test_torch_tells_each_result_in_a_line_and_the_rest_goes_on(tmp_path):
    done, lines = torch_side(tmp_path, "steps", "tiny", "16", "eager 1", "compiled 8")
    assert done.returncode == 0, done.stderr
    assert lines[0] == {"torch": "0", "device": "Some GPU"}
    assert [each["key"] for each in lines[1:]] == ["eager 1", "compiled 8"]
    assert all("AttributeError" in each["failed"] for each in lines[1:])
    done, lines = torch_side(tmp_path, "kernels")
    assert [each["key"] for each in lines[1:]] == gpu_page.KERNEL_KEYS
    done, lines = torch_side(tmp_path, "kernels", "--but", "eager residual_norm")
    keys = [each["key"] for each in lines[1:]]
    assert "compiled residual_norm" in keys and "eager residual_norm" not in keys


def test_torch_begins_nothing_that_would_not_end_in_time(tmp_path):
    done, lines = torch_side(tmp_path, "--seconds", "20", "steps", "tiny", "16", "eager 1", "compiled 8")
    assert done.returncode == 4
    assert [each["key"] for each in lines[1:]] == ["eager 1"]
    assert "no time was left for compiled 8" in done.stderr
