#!/usr/bin/env python3
"""Every measurement on an NVIDIA GPU, in one command: builds, tries the kernels, times them and whole steps of models of three
shapes beside torch, and writes one JSON file and a page of Markdown for docs/benchmarks.md.

    tests/bench/gpu.py [--out DIR] [--seconds N] [--rounds N] [--troupe PROGRAM] [PART...]
    tests/bench/gpu.py pack DIR

PART is one of: build, kernels, smollm-135m, llama-1b, llama-8b, and the last three with "-q4" or "-fp8" behind them: the same
shapes with quantised weights that stay so on the device, or with weights that become 8-bit floats there (troupe alone). Without any: all of them, in this order. What an earlier
command has written into DIR/gpu.json stays, so that parts can be run by one command each; with --seconds nothing new is
begun that is not expected to end within so many seconds of the start, and what was left out is named.

A part that cannot be had (no compiler, no device, no torch) is said to be missing by name, and the rest goes on; the exit
code is 1 where something failed, 3 where something was missing. Nothing is fetched.

On a machine without what troupe is built with, run "pack DIR" on one that has it: the program and the libraries that it
needs, for --troupe DIR/troupe. torch is that of the python3 that is found (or PYTHON).
"""
import argparse
import glob
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "bench"
sys.path.insert(0, str(HERE))
from gpu_models import QUANTISED, write  # noqa: E402

MODELS = ["smollm-135m", "llama-1b", "llama-8b"]
FP8 = "-fp8"  # the same file as without
MODELS += [f"{each}{form}" for form in (QUANTISED, FP8) for each in MODELS]
PARTS = ["build", "kernels", *MODELS]
BATCHES = ["1", "8", "64"]
CONTEXT = "1024"
# Seconds that one piece of work is expected to take at most; with --seconds none is begun that has less left.
EXPECTED = {"build": 420, "self-test": 45, "self-test llama-8b": 180, "torch": 140, "weights": 30}
SYSTEM_LIBRARIES = ("libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so", "libresolv.so", "ld-linux")


class Missing(Exception):
    """Something that this machine does not have."""


def say(text):
    print(f"[{time.monotonic() - BEGIN:6.1f} s] {text}", file=sys.stderr, flush=True)


BEGIN = time.monotonic()


class Run:
    def __init__(self, arguments):
        self.out = arguments.out
        self.seconds = arguments.seconds
        self.rounds = arguments.rounds
        self.troupe = arguments.troupe
        self.python = os.environ.get("PYTHON") or shutil.which("python3") or sys.executable
        self.file = self.out / "gpu.json"
        self.data = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.problems = self.data["problems"] = {}
        self.failed = False

    def save(self):
        unfinished = self.file.with_suffix(".part")
        unfinished.write_text(json.dumps(self.data, indent=1))
        os.replace(unfinished, self.file)
        (self.out / "gpu.md").write_text(markdown(self.data))

    def left(self):
        return float("inf") if self.seconds is None else self.seconds - (time.monotonic() - BEGIN)

    def attempt(self, name, work, expected):
        """Runs a piece of work; whatever comes of it the others go on. Gives what it gives, or nothing."""
        if self.left() < expected:
            say(f"{name}: LEFT OUT: {self.left():.0f} s are left and it may take {expected}")
            self.problems[name] = "left out: no time was left"
            return None
        say(name)
        try:
            return work()
        except Missing as why:
            say(f"{name}: MISSING: {why}")
            self.problems[name] = f"missing: {why}"
        except (subprocess.SubprocessError, OSError, ValueError, KeyError) as why:
            say(f"{name}: FAILED: {why}")
            self.problems[name] = f"failed: {why}"
            self.failed = True
        finally:
            self.save()
        return None

    def command(self, *command, may_fail=False, **settings):
        """Standard output; standard error is shown. Ends what takes longer than the time that is left."""
        limit = None if self.seconds is None else max(5.0, self.left() - 5)
        done = subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, text=True, timeout=limit, **settings)
        if done.returncode != 0 and not may_fail:
            tail = done.stdout[-2000:].strip()
            raise subprocess.SubprocessError(f"{pathlib.Path(command[0]).name} ended with code {done.returncode}"
                                             + (f": {tail}" if tail else ""))
        return done


def library_environment(troupe):
    """Where troupe finds the libraries packed beside it, and cuBLASLt: where no toolkit has one, torch's."""
    places = [str(troupe.parent / "lib")] if (troupe.parent / "lib").is_dir() else []
    places += [each for each in os.environ.get("LD_LIBRARY_PATH", "").split(":") if each]
    places += ["/usr/local/cuda/lib64"]
    for folder in {os.path.dirname(os.path.dirname(os.path.realpath(each))) for each in (shutil.which("python3"), sys.executable) if each}:
        places += glob.glob(f"{folder}/lib/python3*/site-packages/nvidia/c*/lib")
    for folder in sys.path:
        places += glob.glob(f"{folder}/nvidia/c*/lib")
    virtual = os.environ.get("VIRTUAL_ENV")
    if virtual:
        places += glob.glob(f"{virtual}/lib/python3*/site-packages/nvidia/c*/lib")
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(dict.fromkeys(places))}


# ---- the parts ----

def describe_machine(run):
    if not shutil.which("nvidia-smi"):
        raise Missing("nvidia-smi: no NVIDIA driver, so there is no device to measure")
    found = run.command("nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap",
                        "--format=csv,noheader", may_fail=True)
    if found.returncode != 0 or not found.stdout.strip():
        raise Missing("nvidia-smi names no device")
    name, driver, memory, capability = [each.strip() for each in found.stdout.splitlines()[0].split(",")]
    run.data["machine"] = {"device": name, "driver": driver, "memory": memory, "compute_capability": capability}
    say(f"{name}, driver {driver}, {memory}, compute capability {capability}")
    return capability


def build(run, capability):
    for tool in ("cmake", "ninja"):
        if not shutil.which(tool):
            raise Missing(f"{tool}, which builds troupe; bring a program built elsewhere: --troupe")
    architectures = [f"-DTROUPE_CUDA_ARCHITECTURES={capability.replace('.', '')}"] if capability else []
    run.command("cmake", "--preset", "release", "-DTROUPE_CUDA=ON", "-DTROUPE_TESTS=ON", *architectures, cwd=ROOT)
    run.command("cmake", "--build", "--preset", "release", "--target", "cuda_device_code", "troupe", cwd=ROOT)
    run.data["device_code"] = (ROOT / "build/kernels/cuda/device_code.txt").read_text().splitlines()
    for line in run.data["device_code"]:
        say("  " + line)
    return ROOT / "build" / "troupe"


def weights(run, name, folder):
    path = folder / f"{name.removesuffix(FP8)}.gguf"
    if not path.exists():
        write(path.stem, path)
    return path


def self_test(run, troupe, model, name):
    if name.endswith(FP8) and float(run.data["machine"]["compute_capability"]) < 8.9:
        raise Missing("products of 8-bit floats: they need compute capability 8.9")
    weights_there = "file" if name.endswith(QUANTISED) else "fp8" if name.endswith(FP8) else "bf16"
    done = run.command(troupe, "gpu-selftest", model, "--json", "--context", CONTEXT, "--gpu-weights", weights_there, may_fail=True,
                       env=library_environment(troupe))
    if not done.stdout.strip():
        raise subprocess.SubprocessError(f"troupe gpu-selftest ended with code {done.returncode} and said nothing on standard output; "
                                         "its reason stands above")
    answer = json.loads(done.stdout)
    for each in answer.get("kernels", []):
        if not each["passed"]:
            say(f"  WRONG: {each['kernel']}: {each['largest_difference']} apart, {each['bound']} allowed. {each.get('failure', '')}")
    if not answer["passed"]:
        run.failed = True
        run.problems[f"self-test {name}"] = "failed: " + "; ".join(answer["failures"])
    return answer


def torch(run, *arguments):
    found = subprocess.run([run.python, "-c", "import torch; assert torch.cuda.is_available()"], capture_output=True, text=True)
    if found.returncode != 0:
        raise Missing(f"torch with a CUDA device in {run.python} ({found.stderr.strip().splitlines()[-1] if found.stderr.strip() else 'no reason given'})")
    return json.loads(run.command(run.python, HERE / "gpu_torch.py", *arguments).stdout.splitlines()[-1])


def measure_kernels(run, troupe, folder):
    """Both sides of each kernel: troupe's own report, and torch's operations."""
    model = run.attempt("weights smollm-135m", lambda: weights(run, "smollm-135m", folder), EXPECTED["weights"])
    if model:
        found = run.attempt("self-test smollm-135m", lambda: self_test(run, troupe, model, model.stem), EXPECTED["self-test"])
        if found:
            run.data.setdefault("self_tests", {})["smollm-135m"] = found
    found = run.attempt("torch kernels", lambda: torch(run, "kernels"), EXPECTED["torch"])
    if found:
        run.data["torch_kernels"] = found


def measure_model(run, name, troupe, folder):
    """Troupe's self-test, which times steps, and torch's steps in turns, so that whatever else the machine does meets both."""
    model = run.attempt(f"weights {name}", lambda: weights(run, name, folder), EXPECTED["weights"])
    if not model:
        return
    expected = EXPECTED.get(f"self-test {name.removesuffix(QUANTISED).removesuffix(FP8)}", EXPECTED["self-test"])
    steps = run.data.setdefault("steps", {}).setdefault(name, {"troupe": [], "torch": []})
    while len(steps["troupe"]) < run.rounds:
        turn = f"{len(steps['troupe']) + 1} of {run.rounds}"
        ours = run.attempt(f"self-test {name}, {turn}", lambda: self_test(run, troupe, model, name), expected)
        if not ours:
            return
        run.data.setdefault("self_tests", {})[name] = ours
        steps["troupe"].append(ours["decode"])
        if name.endswith((QUANTISED, FP8)):  # torch has no such weights
            run.save()
            continue
        theirs = run.attempt(f"torch steps {name}, {turn}", lambda: torch(run, "steps", name, CONTEXT, *BATCHES),
                             EXPECTED["torch"])
        if theirs:
            steps["torch"].append(theirs["decode"])
        run.save()


# ---- the page ----

def median(values):
    known = [each for each in values if each is not None]
    return statistics.median(known) if known else None


def cell(value, digits=0):
    return "-" if value is None else f"{value:.{digits}f}"


def step_rows(steps):
    for name, sides in steps.items():
        for index, batch in enumerate(BATCHES):
            ours = [each[index] for each in sides["troupe"] if index < len(each)]
            theirs = [each[index] for each in sides["torch"] if index < len(each)]
            if not ours:
                continue
            graph, eager, invariant = (median([each[way]["us"] for each in ours]) for way in ("graph", "eager", "batch_invariant"))
            idle, share = median([each["graph"]["idle_share"] for each in ours]), median([each["share_of_copy_bandwidth"] for each in ours])
            others = [cell(median([each.get(way) for each in theirs])) for way in ("eager_us", "graph_us", "compiled_us")]
            yield (f"| {name} | {batch} | {ours[0]['context']} | {cell(graph)} | {cell(eager)} | {cell(invariant)} | {cell(100 * idle, 1)} | {cell(100 * share)} | "
                   + " | ".join(others) + " |")


def kernel_rows(test, others):
    for each in test.get("timings", []):
        if each["kernel"].startswith(("product", "quantised product", "fp8 product")):
            continue
        other = others.get(each["kernel"]) or others.get(f"{each['kernel']}, {each['shape']}") or {}
        yield (f"| {each['kernel']} | {each['shape']} | {cell(each['us'], 1)} | {cell(100 * each['share_of_copy_bandwidth'])} | "
               f"{cell(100 * each['share_of_arithmetic']) if 'share_of_arithmetic' in each else '-'} | "
               f"{cell(other.get('eager_us'), 1)} | {cell(other.get('compiled_us'), 1)} |")


def product_rows(tests):
    for name, test in tests.items():
        for each in test.get("timings", []):
            if each["kernel"].startswith("product"):
                yield (f"| {name}, {each['kernel'][9:]} | {each['shape']} | {cell(each['us'], 1)} | {cell(each['best_us'], 1)} | "
                       f"{cell(each['batch_invariant_us'], 1)} | "
                       f"{cell(each['us'] / each['best_us'], 2)} | {cell(100 * each['share_of_copy_bandwidth'])} | "
                       f"{cell(100 * each['share_of_arithmetic'])} |")


def quantised_rows(tests):
    for name, test in tests.items():
        for each in test.get("timings", []):
            if each["kernel"].startswith(("quantised product", "fp8 product")):
                yield (f"| {name}, {each['kernel'].partition(', ')[2]} | {each['shape']} | {cell(each['us'], 1)} | {cell(each['batch_invariant_us'], 1)} | "
                       f"{cell(100 * each['share_of_copy_bandwidth'])} | {cell(100 * each['share_of_arithmetic'])} |")


def markdown(data):
    machine, tests = data.get("machine", {}), data.get("self_tests", {})
    lines = [f"## On a GPU: {machine.get('device', 'no device was found')}", ""]
    if machine:
        lines += [f"Driver {machine['driver']}, {machine['memory']}, compute capability {machine['compute_capability']}. "
                  "`tests/bench/gpu.py`: made-up weights of the models' shapes, bf16 (-q4: 4 bits, the head 8; -fp8: the layers' e4m3); "
                  "medians, microseconds.", ""]
    for name, test in tests.items():
        wrong = [each["kernel"] for each in test.get("kernels", []) if not each["passed"]]
        lines += [f"Self-test, {name}: {'passed' if test['passed'] else 'FAILED'}; {len(test.get('kernels', []))} comparisons of kernels, "
                  f"{('wrong: ' + '; '.join(wrong)) if wrong else 'all right'}; log-probabilities {test['logprobs_mean_difference']:.4f} apart on average. "
                  f"A copy moves {test['copy_gb_per_s']:.0f} GB/s, a large product computes {test['product_tflop_per_s']:.0f} TFLOP/s.", ""]
    rows = list(step_rows(data.get("steps", {})))
    if rows:
        lines += ["Decode steps, from the host's call to its having the tokens; bandwidth: weights and contexts read once, as a share of a copy.", "",
                  "| model | sequences | context | troupe, graph | eager | batch-invariant | device idle % | bandwidth % | torch eager | torch as a graph | torch.compile |",
                  "|---|---|---|---|---|---|---|---|---|---|---|", *rows, ""]
    first = next((test for test in tests.values() if test.get("timings")), None)
    if first:
        lines += ["Kernels, launch costs not counted.", "",
                  "| kernel | shape | us | bandwidth % | arithmetic % | torch eager | torch.compile |", "|---|---|---|---|---|---|---|",
                  *kernel_rows(first, data.get("torch_kernels", {}).get("kernels", {})), "",
                  "Products with cold weights, beside the fastest of all that cuBLASLt has.", "",
                  "| product | rows x outputs x inputs | us | best us | batch-invariant us | ratio | bandwidth % | arithmetic % |",
                  "|---|---|---|---|---|---|---|---|",
                  *product_rows(tests), ""]
    rows = list(quantised_rows(tests))
    if rows:
        lines += ["Products with weights that are quantised or fp8, cold as well; bandwidth: codes and rows moved once.", "",
                  "| product | rows x outputs x inputs | us | batch-invariant us | bandwidth % | arithmetic % |", "|---|---|---|---|---|---|",
                  *rows, ""]
    for name, why in data.get("problems", {}).items():
        lines += [f"- {name}: {why}"]
    return "\n".join(lines) + "\n"


# ---- the command ----

def pack(folder):
    """The program and every library that it needs but the C library's own."""
    program = ROOT / "build" / "troupe"
    if not program.exists():
        sys.exit(f"{program} is not there: build it first")
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    shutil.copy2(program, folder / "troupe")
    subprocess.run(["strip", folder / "troupe"], check=False)
    for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
        name, _, place = line.strip().partition(" => ")
        if place.startswith("/") and not name.startswith(SYSTEM_LIBRARIES):
            shutil.copy2(os.path.realpath(place.split(" (")[0]), folder / "lib" / name)
    total = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    print(f"{folder}: {total / 2**20:.1f} MiB; there: tests/bench/gpu.py --troupe {folder}/troupe")


def main():
    if sys.argv[1:2] == ["pack"] and len(sys.argv) == 3:
        return pack(pathlib.Path(sys.argv[2]))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / "gpu")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "troupe-gpu-models",
                        help="where model files are made and kept: 26 GB for all")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--troupe", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", metavar="PART")
    arguments = parser.parse_args()
    unknown = [each for each in arguments.parts if each not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}: there are {', '.join(PARTS)}")
    for folder in (arguments.out, arguments.work):
        folder.mkdir(parents=True, exist_ok=True)
    run = Run(arguments)
    parts = arguments.parts or PARTS
    capability = run.attempt("machine", lambda: describe_machine(run), 0)
    troupe = arguments.troupe.resolve() if arguments.troupe else ROOT / "build" / "troupe"
    if "build" in parts and not arguments.troupe:
        run.attempt("build", lambda: build(run, capability), EXPECTED["build"])
    if not os.access(troupe, os.X_OK):
        say(f"MISSING: {troupe}: nothing of troupe can be measured")
        run.problems["troupe"] = f"missing: {troupe}"
    elif capability:
        if "kernels" in parts:
            measure_kernels(run, troupe, arguments.work)
        for name in [each for each in MODELS if each in parts]:
            measure_model(run, name, troupe, arguments.work)
    run.save()
    print((arguments.out / "gpu.md").read_text())
    say(f"written: {run.file} and {arguments.out / 'gpu.md'}")
    sys.exit(1 if run.failed else 3 if run.problems else 0)


if __name__ == "__main__":
    main()
