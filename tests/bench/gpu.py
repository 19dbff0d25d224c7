#!/usr/bin/env python3
"""Every measurement on an NVIDIA GPU, in one command: builds, tries the kernels, times them and whole steps of models of three
shapes beside torch, and writes one JSON file and a page of Markdown for docs/benchmarks.md.

    tests/bench/gpu.py [--out DIR] [--seconds N] [--rounds N] [--fresh] [--no-torch] [--troupe PROGRAM] [--device cuda|cpu]
                       [PART...]
    tests/bench/gpu.py pack DIR

PART is one of: build, kernels, service, smollm-135m, llama-1b, llama-8b, and the last three with "-q4" or "-fp8" behind them: the same
shapes with quantised weights that stay so on the device, or with weights that become 8-bit floats there (troupe alone). The service is
`troupe serve` with smollm-135m: how quick it is, alone and with a draft model, and whether its answers stay the same where its runner is
killed. Without any: all of them, in this order. What an earlier command has written into DIR/gpu.json stays, so that parts can be run by
one command each: a command measures what is not there yet, also of torch's side, and with --fresh its parts from the beginning. What was
measured of another program or on another device is set aside. With --seconds nothing new is begun that is not expected to end within so
many seconds of the start, what does not end by then is ended, and what was left out is named.

The program is PROGRAM, or what the part "build" has built (in DIR/build, for this machine's devices alone): where that could not be
done, nothing is measured until it is, or until PROGRAM is named. Anything else that cannot be had (no device, no torch) is said to be
missing by name, and the rest goes on; the exit code is 1 where something failed, 3 where something was missing. Nothing is fetched.

With --device cpu the part service alone is tried, with a program that is named, where there is no device: its figures are the CPU's.

On a machine without what troupe is built with, run "pack DIR" on one that has it: build/troupe and the libraries that it
needs, for --troupe DIR/troupe. torch is that of the python3 that is found (or PYTHON).
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import gpu_build  # noqa: E402
import gpu_process  # noqa: E402
from gpu_models import QUANTISED, write  # noqa: E402
from gpu_page import BATCHES, KERNEL_KEYS, OUR_WAYS, WAYS, markdown, of_way  # noqa: E402
from gpu_process import BEGIN, GRACE, Failed, LeftOut, Missing, say  # noqa: E402
from gpu_service import measure_service  # noqa: E402
from gpu_store import Store, hash_of  # noqa: E402

MODELS = ["smollm-135m", "llama-1b", "llama-8b"]
FP8 = "-fp8"  # the same file as without
MODELS += [f"{each}{form}" for form in (QUANTISED, FP8) for each in MODELS]
PARTS = ["build", "kernels", "service", *MODELS]
CONTEXT = "1024"
# Seconds that one piece of work is expected to take at most; with --seconds none is begun that has less left. Of torch: until
# it has measured something.
EXPECTED = {"build": 420, "self-test": 45, "self-test llama-8b": 180, "torch": 40, "weights": 30}
LONGEST, LONGEST_TORCH = 3600, 900  # seconds for one command, also without --seconds: what takes longer hangs
MEASURED = re.compile(r"(?P<device>.+) \(device \d+, compute capability (?P<compute_capability>[\d.]+), .*?(?P<memory>\d+ MiB)\)")


class Run:
    def __init__(self, arguments):
        self.out, self.work = arguments.out, arguments.work
        self.seconds = arguments.seconds
        self.rounds = arguments.rounds
        self.with_torch = not arguments.no_torch
        self.device = arguments.device  # of the part service
        self.python = os.environ.get("PYTHON") or shutil.which("python3") or sys.executable
        self.troupe = arguments.troupe.resolve() if arguments.troupe else self.out / "build" / "troupe"
        self.store = Store(self.out)
        self.devices = []  # what nvidia-smi says of each
        self.device_code = None  # where this command has built it
        self.part = ""
        self.code = 0

    def begin(self, part):
        self.part = part
        self.store.begin(part)

    def left(self):
        return float("inf") if self.seconds is None else self.seconds - (time.monotonic() - BEGIN)

    def limit(self, longest=LONGEST):
        """Of a command: what it leaves is time to end it and to write what was measured."""
        return max(1.0, min(longest, self.left() - GRACE - 2))

    def problem(self, name, kind, why):
        say(f"{name}: {kind.upper()}: {why}")
        self.store.problem(self.part, name, f"{kind}: {why}")
        self.code = 1 if kind == "failed" else self.code or 3

    def attempt(self, name, work, expected):
        """Runs a piece of work; whatever comes of it the others go on. Gives what it gives, or nothing."""
        try:
            if self.left() < expected:
                raise LeftOut(f"{self.left():.0f} s are left and it may take {expected}")
            say(name)
            return work()
        except LeftOut as why:
            self.problem(name, "left out", why)
        except Missing as why:
            self.problem(name, "missing", why)
        except (Failed, OSError, ValueError) as why:
            self.problem(name, "failed", why)
        except Exception as why:  # a fault of this program's own costs no other piece
            self.problem(name, "failed", f"{type(why).__name__}: {why}")
        finally:
            self.store.save()
        return None


# ---- the parts ----

def find_devices(run):
    if run.device == "cpu":
        run.devices.append({"device": "none, a trial on the CPU", "driver": "none", "memory": "none", "compute_capability": "none"})
        return say(run.devices[0]["device"])
    if not shutil.which("nvidia-smi"):
        raise Missing("nvidia-smi: no NVIDIA driver, so there is no device to measure")
    found = gpu_process.run(["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader"],
                            min(60, run.limit()))
    rows = [[each.strip() for each in line.split(",")] for line in found.output if line.count(",") == 3]
    if found.code != 0 or not rows:
        raise Missing(f"nvidia-smi names no device: {found.reason()}")
    for row in rows:
        run.devices.append(dict(zip(("device", "driver", "memory", "compute_capability"), row)))
        say("{}, driver {}, {}, compute capability {}".format(*row))
    return None


def build(run):
    capabilities = [each["compute_capability"] for each in run.devices]
    lines = gpu_build.build(run.out / "build", run.out / "build.log", capabilities, run.limit)
    for line in lines:
        say("  " + line)
    run.device_code = lines


def weights(run, name):
    path = run.work / f"{name.removesuffix(FP8)}.gguf"
    if not path.exists():
        write(path.stem, path)
    return path


def reason(answer, otherwise):
    return "; ".join(answer.get("failures", [])) or otherwise


def tell_failures(run, name, answer):
    for each in answer.get("kernels", []):
        if not each["passed"]:
            say(f"  WRONG: {each['kernel']}: {each['largest_difference']} apart, {each['bound']} allowed. {each.get('failure', '')}")
    if not answer["passed"]:
        run.problem(f"self-test {name}", "failed", reason(answer, "it did not pass"))


def self_test(run, name, model):
    if name.endswith(FP8) and float(run.store.data["machine"]["compute_capability"]) < 8.9:
        raise Missing("products of 8-bit floats: they need compute capability 8.9")
    weights_there = "file" if name.endswith(QUANTISED) else "fp8" if name.endswith(FP8) else "bf16"
    done = gpu_process.run([run.troupe, "gpu-selftest", model, "--json", "--context", CONTEXT, "--gpu-weights", weights_there],
                           run.limit(), env=gpu_build.library_environment(run.troupe, run.python))
    if done.code is None or not done.output:
        done.check()
    answer = json.loads("\n".join(done.output))
    found = MEASURED.match(answer.get("device") or "")
    if not found:
        raise Failed(reason(answer, f"the self-test names no device: {answer.get('device')}"))
    try:
        markdown({"self_tests": {name: answer}, "steps": {name: {"troupe": [answer["decode"]], "torch": {}}}})
    except (KeyError, TypeError) as why:
        raise Failed(reason(answer, f"the self-test's answer lacks {why}")) from None
    run.store.measured_on({**run.devices[0], **found.groupdict()})  # the driver is all devices' own
    run.store.self_tests()[name] = answer
    tell_failures(run, name, answer)
    return answer


def torch(run, keep, *arguments):
    """Hands each result to `keep` with its key, also those of a run that did not end well."""
    limit = run.limit(LONGEST_TORCH)
    done = gpu_process.run([run.python, HERE / "gpu_torch.py", "--seconds", f"{limit:.0f}", *arguments], limit)
    for line in done.output:
        result = json.loads(line) if line.startswith("{") else {}  # torch's own libraries write here as well
        if "key" in result:
            keep(result.pop("key"), result)
        elif "torch" in result:
            run.store.data["torch"] = {"version": result["torch"], "device": result["device"]}
    if done.code == 3:
        raise Missing(f"torch with a CUDA device in {run.python}: {done.reason()}")
    if done.code == 4:
        raise LeftOut(done.reason())
    done.check()


def measure_kernels(run, fresh):
    """Both sides of each kernel: troupe's own report, and torch's operations."""
    if not fresh and run.store.self_tests().get("smollm-135m", {}).get("passed"):
        say("kernels: their self-test is there and passed; --fresh makes it again")
    elif model := run.attempt("weights smollm-135m", lambda: weights(run, "smollm-135m"), EXPECTED["weights"]):
        run.attempt("self-test smollm-135m", lambda: self_test(run, "smollm-135m", model), EXPECTED["self-test"])
    if not run.with_torch:
        return None
    found = run.store.torch_kernels()
    if found.keys() >= set(KERNEL_KEYS):
        return say("kernels: torch's are there; --fresh measures them again")
    without = [each for key in found for each in ("--but", key)]
    run.attempt("torch kernels", lambda: torch(run, found.__setitem__, "kernels", *without), EXPECTED["torch"])
    return None


def serve(run):
    if model := run.attempt("weights smollm-135m", lambda: weights(run, "smollm-135m"), EXPECTED["weights"]):
        measure_service(run, model)


def lacking(run, name, turns):
    """Keys of torch's steps that were measured in fewer turns."""
    if not run.with_torch or name.endswith((QUANTISED, FP8)):
        return []  # torch has no such weights
    found = run.store.steps(name)["torch"]
    return [key for key in (f"{way} {batch}" for way in WAYS for batch in BATCHES) if len(found.get(key, [])) < turns]


def has_all_times(answer):
    """Whether a self-test has timed every step; batch-invariant ones need not be there where it says what failed."""
    ways = OUR_WAYS if answer["passed"] else ["graph", "eager"]
    decode = answer["decode"]
    return [str(each["sequences"]) for each in decode] == BATCHES and all((of_way(each, way) or 0) > 0 for each in decode for way in ways)


def measure_model(run, name):
    """Troupe's self-test, which times steps, and torch's steps in turns, so that whatever else the machine does meets both."""
    if len(run.store.steps(name)["troupe"]) >= run.rounds and not lacking(run, name, run.rounds):
        say(f"{name}: its {run.rounds} turns are there; --fresh measures them again")
        return tell_failures(run, name, run.store.self_tests()[name])
    model = run.attempt(f"weights {name}", lambda: weights(run, name), EXPECTED["weights"])
    if not model:
        return None
    expected = EXPECTED.get(f"self-test {name.removesuffix(QUANTISED).removesuffix(FP8)}", EXPECTED["self-test"])
    torch_works = True
    for turn in range(1, run.rounds + 1):
        if len(run.store.steps(name)["troupe"]) < turn:
            ours = run.attempt(f"self-test {name}, {turn} of {run.rounds}", lambda: self_test(run, name, model), expected)
            if not ours:
                return None
            if not has_all_times(ours):
                if ours["passed"]:  # else its failures have been told
                    run.problem(f"self-test {name}", "failed", "it passed and has not timed every step")
                return run.store.save()
            run.store.steps(name)["troupe"].append(ours["decode"])
            run.store.save()
        if torch_works and (keys := lacking(run, name, turn)):
            steps = run.store.steps(name)["torch"]
            run.attempt(f"torch steps {name}", lambda: torch(run, lambda key, result: steps.setdefault(key, []).append(result),
                                                             "steps", name, CONTEXT, *keys), EXPECTED["torch"])
            torch_works = not lacking(run, name, turn)
    return None


# ---- the command ----

def program(run, parts, named):
    """Whether there is one to measure, and if so the one that was asked for: never what an earlier build has left."""
    if named or "build" in parts:
        run.begin("build")
    if "build" in parts and not named:
        run.attempt("build", lambda: build(run), EXPECTED["build"])
    run.part = "build"
    if not run.store.problems_of("build") and not os.access(run.troupe, os.X_OK):
        run.problem("troupe", "missing", f"{run.troupe}: run the part build, or name a program: --troupe")
    if problems := run.store.problems_of("build"):
        say(f"NOTHING IS MEASURED: there is no program that was built as asked: {'; '.join(problems.values())}")
        run.code = run.code or 3
    return not problems


def measure(run, parts, fresh):
    run.store.belongs_to(hash_of(run.troupe), sorted({each["device"] for each in run.devices}))
    run.store.data.setdefault("machine", run.devices[0])  # until a self-test names the one that it has measured
    if run.device_code:
        run.store.data["device_code"] = run.device_code
    for part in (each for each in PARTS if each in parts and each != "build"):
        run.begin(part)
        if fresh:
            run.store.forget(part)
        if part == "kernels":
            measure_kernels(run, fresh)
        elif part == "service":
            serve(run)
        else:
            measure_model(run, part)


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=gpu_build.ROOT / "build" / "gpu")
    parser.add_argument("--work", type=pathlib.Path, default=pathlib.Path(tempfile.gettempdir()) / "troupe-gpu-models",
                        help="where model files are made and kept: 26 GB for all")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--no-torch", action="store_true", help="troupe alone: torch may take longer than all the rest, torch.compile above all")
    parser.add_argument("--troupe", type=pathlib.Path)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("parts", nargs="*", metavar="PART")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("there is at least one round")
    unknown = [each for each in arguments.parts if each not in PARTS]
    if unknown:
        parser.error(f"no part {unknown[0]!r}: there are {', '.join(PARTS)}")
    if arguments.device == "cpu" and (arguments.parts != ["service"] or not arguments.troupe):
        parser.error("--device cpu is for the part service, and for a program that is named: --troupe")
    arguments.out = arguments.out.resolve()  # CMake runs elsewhere
    for folder in (arguments.out, arguments.work):
        folder.mkdir(parents=True, exist_ok=True)
    return arguments


def main():
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # what was measured is kept, as after an interrupt
    if sys.argv[1:2] == ["pack"] and len(sys.argv) == 3:
        try:
            return gpu_build.pack(gpu_build.ROOT / "build" / "troupe", pathlib.Path(sys.argv[2]))
        except Missing as why:
            say(f"MISSING: {why}")
            sys.exit(3)
    arguments = parsed()
    run = Run(arguments)
    parts = arguments.parts or PARTS
    run.begin("machine")
    run.attempt("machine", lambda: find_devices(run), 0)
    if program(run, parts, arguments.troupe) and run.devices:
        measure(run, parts, arguments.fresh)
    run.store.save()
    print(run.store.page.read_text())
    say(f"written: {run.store.file} and {run.store.page}")
    sys.exit(run.code)


if __name__ == "__main__":
    main()
