"""tests/bench/gpu.py where there is no GPU: model files, and what is said of what is missing; with stand-ins for device,
troupe and torch, what it makes of their answers."""
import json
import os
import pathlib
import random
import struct
import subprocess
import sys

from conftest import BINARY, ROOT

BENCH = pathlib.Path(ROOT) / "tests" / "bench"
sys.path.insert(0, str(BENCH))
import gpu  # noqa: E402
import gpu_models  # noqa: E402

STEPS = [{"sequences": batch, "context": 1024, "graph": {"us": 100.0 + batch, "device_us": 90.0, "gap_us": 2.0, "idle_share": 0.02},
          "eager": {"us": 400.0, "device_us": 390.0, "gap_us": 3.0, "idle_share": 0.01},
          "batch_invariant": {"us": 120.0 + batch, "device_us": 110.0, "gap_us": 2.0, "idle_share": 0.02}, "share_of_copy_bandwidth": 0.5}
         for batch in (1, 8, 64)]
SELF_TEST = {"passed": True, "failures": [], "kernels": [{"kernel": "silu_multiply, bf16", "passed": True, "largest_difference": 0.1, "bound": 0.2}],
             "timings": [{"kernel": "silu_multiply", "shape": "8192 x 14336, bf16", "us": 250.0, "share_of_copy_bandwidth": 0.9},
                         {"kernel": "product, logits", "shape": "1 x 49152 x 576", "us": 20.0, "best_us": 16.0, "batch_invariant_us": 24.0,
                          "share_of_copy_bandwidth": 0.8, "share_of_arithmetic": 0.01}],
             "logprobs_mean_difference": 0.01, "copy_gb_per_s": 3000.0, "product_tflop_per_s": 700.0, "decode": STEPS}


def bench(tmp_path, *arguments, path=os.environ["PATH"], **environment):
    done = subprocess.run([sys.executable, BENCH / "gpu.py", "--out", tmp_path / "out", "--work", tmp_path / "work", *arguments],
                          capture_output=True, text=True, timeout=120, env={**os.environ, "PATH": path, **environment})
    return done, json.loads((tmp_path / "out" / "gpu.json").read_text())


def program(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


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
    assert "no NVIDIA driver" in data["problems"]["machine"]
    assert str(tmp_path / "nowhere") in data["problems"]["troupe"]
    assert "no device was found" in done.stdout


def stand_ins(tmp_path, answer):
    tools, work = tmp_path / "tools", tmp_path / "work"
    tools.mkdir()
    work.mkdir()
    for name in ("smollm-135m", "smollm-135m-q4"):
        (work / f"{name}.gguf").touch()  # is there: not made
    program(tools / "nvidia-smi", 'echo "Some GPU, 580.1, 81559 MiB, 9.0"\n')
    program(tools / "troupe", f"cat <<'JSON'\n{json.dumps(answer)}\nJSON\n")
    theirs = {"decode": [{"sequences": batch, "context": 1024, "eager_us": 7000.0, "graph_us": 300.0, "compiled_us": None}
                         for batch in (1, 8, 64)],
              "kernels": {"silu_multiply": {"eager_us": 900.0, "compiled_us": 260.0}}}
    program(tools / "python", f"[ \"$1\" = -c ] || echo '{json.dumps(theirs)}'\n")
    return tools


def test_answers_become_a_page_with_medians_of_turns(tmp_path):
    tools = stand_ins(tmp_path, SELF_TEST)
    done, data = bench(tmp_path, "--troupe", tools / "troupe", "--rounds", "2", "kernels", "smollm-135m",
                       path=f"{tools}:{os.environ['PATH']}", PYTHON=str(tools / "python"))
    assert done.returncode == 0, done.stderr
    assert data["problems"] == {}
    assert len(data["steps"]["smollm-135m"]["troupe"]) == len(data["steps"]["smollm-135m"]["torch"]) == 2
    assert "On a GPU: Some GPU" in done.stdout
    assert "| smollm-135m | 64 | 1024 | 164 | 400 | 184 | 2.0 | 50 | 7000 | 300 | - |" in done.stdout
    assert "| silu_multiply | 8192 x 14336, bf16 | 250.0 | 90 | - | 900.0 | 260.0 |" in done.stdout
    assert "| smollm-135m, logits | 1 x 49152 x 576 | 20.0 | 16.0 | 24.0 | 1.25 | 80 | 1 |" in done.stdout


def test_a_median_is_the_middle_of_what_was_measured():
    assert gpu.median([9.0, None, 1.0, 2.0]) == 2.0
    assert gpu.median([None]) is None


def test_quantised_models_are_run_with_their_codes_on_the_device_and_without_torch(tmp_path):
    coded = {"kernel": "quantised product, logits", "shape": "1 x 49152 x 576", "us": 9.0, "batch_invariant_us": 9.5,
             "share_of_copy_bandwidth": 0.6, "share_of_arithmetic": 0.02}
    tools = stand_ins(tmp_path, {**SELF_TEST, "timings": [*SELF_TEST["timings"], coded]})
    program(tools / "python", "exit 1\n")
    asked = tmp_path / "asked"
    program(tools / "logged", f'echo "$@" >> {asked}\nexec {tools}/troupe\n')
    done, data = bench(tmp_path, "--troupe", tools / "logged", "--rounds", "1", "smollm-135m-q4",
                       path=f"{tools}:{os.environ['PATH']}", PYTHON=str(tools / "python"))
    assert done.returncode == 0, done.stderr
    assert data["problems"] == {}
    assert "--gpu-weights file" in asked.read_text()
    assert "| smollm-135m-q4 | 64 | 1024 | 164 | 400 | 184 | 2.0 | 50 | - | - | - |" in done.stdout
    assert "| smollm-135m-q4, logits | 1 x 49152 x 576 | 9.0 | 9.5 | 60 | 2 |" in done.stdout


def test_models_in_fp8_are_the_same_files_and_need_a_device_that_has_such_products(tmp_path):
    coded = {"kernel": "fp8 product, logits", "shape": "8 x 49152 x 576", "us": 7.0, "batch_invariant_us": 7.5,
             "share_of_copy_bandwidth": 0.7, "share_of_arithmetic": 0.04}
    tools = stand_ins(tmp_path, {**SELF_TEST, "timings": [*SELF_TEST["timings"], coded]})
    asked = tmp_path / "asked"
    program(tools / "logged", f'echo "$@" >> {asked}\nexec {tools}/troupe\n')
    arguments = ("--troupe", tools / "logged", "--rounds", "1", "smollm-135m-fp8")
    done, data = bench(tmp_path, *arguments, path=f"{tools}:{os.environ['PATH']}", PYTHON=str(tools / "python"))
    assert done.returncode == 0, done.stderr
    assert "smollm-135m.gguf" in asked.read_text() and "--gpu-weights fp8" in asked.read_text()
    assert "| smollm-135m-fp8, logits | 8 x 49152 x 576 | 7.0 | 7.5 | 70 | 4 |" in done.stdout
    assert "| smollm-135m-fp8 | 64 | 1024 | 164 | 400 | 184 | 2.0 | 50 | - | - | - |" in done.stdout
    program(tools / "nvidia-smi", 'echo "Old GPU, 580.1, 40960 MiB, 8.0"\n')
    (tmp_path / "out" / "gpu.json").unlink()
    done, data = bench(tmp_path, *arguments, path=f"{tools}:{os.environ['PATH']}", PYTHON=str(tools / "python"))
    assert done.returncode == 3
    assert "8.9" in data["problems"]["self-test smollm-135m-fp8, 1 of 1"]


def test_a_wrong_kernel_and_a_missing_torch_are_told_by_name(tmp_path):
    wrong = {**SELF_TEST, "passed": False, "failures": ["the kernel silu_multiply, bf16 is wrong"], "kernels": [{**SELF_TEST["kernels"][0], "passed": False}]}
    tools = stand_ins(tmp_path, wrong)
    program(tools / "python", 'echo "No module named torch" >&2; exit 1\n')
    done, data = bench(tmp_path, "--troupe", tools / "troupe", "kernels", path=f"{tools}:{os.environ['PATH']}",
                       PYTHON=str(tools / "python"))
    assert done.returncode == 1
    assert "WRONG: silu_multiply, bf16" in done.stderr
    assert "wrong: silu_multiply, bf16" in done.stdout
    assert "No module named torch" in data["problems"]["torch kernels"]


def test_what_would_not_end_in_time_is_left_out(tmp_path):
    tools = stand_ins(tmp_path, SELF_TEST)
    done, data = bench(tmp_path, "--troupe", tools / "troupe", "--seconds", "30", "llama-1b",
                       path=f"{tools}:{os.environ['PATH']}", PYTHON=str(tools / "python"))
    assert done.returncode == 3
    assert "no time was left" in data["problems"]["weights llama-1b"]
