"""tests/bench/gpu.py as a command, with stand-ins for the device, troupe and torch."""
import json
import os
import pathlib
import subprocess
import sys
import time

from conftest import ROOT

BENCH = pathlib.Path(ROOT) / "tests" / "bench"
sys.path.insert(0, str(BENCH))

STEPS = [{"sequences": batch, "context": 1024, "graph": {"us": 100.0 + batch, "device_us": 90.0, "gap_us": 2.0, "idle_share": 0.02},
          "eager": {"us": 400.0, "device_us": 390.0, "gap_us": 3.0, "idle_share": 0.01},
          "batch_invariant": {"us": 120.0 + batch, "device_us": 110.0, "gap_us": 2.0, "idle_share": 0.02}, "share_of_copy_bandwidth": 0.5}
         for batch in (1, 8, 64)]
SELF_TEST = {"passed": True, "failures": [], "kernels": [{"kernel": "silu_multiply, bf16", "passed": True, "largest_difference": 0.1, "bound": 0.2}],
             "timings": [{"kernel": "silu_multiply", "shape": "8192 x 14336, bf16", "us": 250.0, "share_of_copy_bandwidth": 0.9},
                         {"kernel": "product, logits", "shape": "1 x 49152 x 576", "us": 20.0, "best_us": 16.0, "batch_invariant_us": 24.0,
                          "share_of_copy_bandwidth": 0.8, "share_of_arithmetic": 0.01}],
             "device": "Some GPU (device 0, compute capability 9.0, 132 multiprocessors, 81079 MiB)",
             "logprobs_mean_difference": 0.01, "copy_gb_per_s": 3000.0, "product_tflop_per_s": 700.0, "decode": STEPS}


def bench(tmp_path, *arguments, path=os.environ["PATH"], **environment):
    done = subprocess.run([sys.executable, BENCH / "gpu.py", "--out", tmp_path / "out", "--work", tmp_path / "work", *arguments],
                          capture_output=True, text=True, timeout=120, env={**os.environ, "PATH": path, **environment})
    return done, json.loads((tmp_path / "out" / "gpu.json").read_text())


def program(path, text):
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(0o755)
    return path


def stand_ins(tmp_path, answer=None):
    tools, work = tmp_path / "tools", tmp_path / "work"
    tools.mkdir()
    work.mkdir()
    for name in ("smollm-135m", "smollm-135m-q4"):
        (work / f"{name}.gguf").touch()  # is there: not made
    program(tools / "nvidia-smi", 'echo "Some GPU, 580.1, 81559 MiB, 9.0"\n')
    troupe(tools, answer or SELF_TEST)
    python(tools, TORCH)
    return tools


# Answers whatever step is asked for, and one kernel.
TORCH = """
answers = {"eager": {"us": 7000.0}, "graph": {"us": 300.0}, "compiled": {"failed": "OutOfMemoryError: too large"}}
print("a library's own words")
print(json.dumps({"torch": "2.11", "device": "Some GPU"}))
if "steps" in sys.argv:
    for key in sys.argv[sys.argv.index("steps") + 3:]:
        print(json.dumps({"key": key, **answers[key.split()[0]]}))
else:
    print(json.dumps({"key": "eager silu_multiply", "us": 900.0}))
    print(json.dumps({"key": "compiled silu_multiply", "us": 260.0}))
"""


def troupe(tools, answer):
    """Answers each self-test, and keeps what it was asked in tools/asked."""
    return program(tools / "troupe", f"echo \"$@\" >> {tools}/asked\ncat <<'JSON'\n{json.dumps(answer)}\nJSON\n")


def python(tools, text):
    """In torch's place; it keeps what it was asked in tools/torch_asked, and what it is asked about itself it does not say."""
    (tools / "python").write_text(f"""#!{sys.executable}
import json, os, sys, time
if sys.argv[1] == "-c":
    sys.exit()
open("{tools}/torch_asked", "a").write(" | ".join(sys.argv[4:]) + "\\n")
{text}""")
    (tools / "python").chmod(0o755)


def asked(tools, name="asked"):
    return (tools / name).read_text().splitlines() if (tools / name).exists() else []


def bench_with(tools, *arguments, program="troupe", **environment):
    """The command where stand-ins are found first."""
    named = ("--troupe", tools / program) if program else ()
    return bench(tools.parent, *named, *arguments, path=f"{tools}:{os.environ['PATH']}", PYTHON=str(tools / "python"), **environment)


def gone(number):
    try:
        return pathlib.Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(condition):
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
