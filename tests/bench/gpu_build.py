"""The program that tests/bench/gpu.py measures: building it, packing it for another machine, and where its libraries are."""
import glob
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

from gpu_process import Failed, Missing, run, say

ROOT = pathlib.Path(__file__).resolve().parents[2]
SYSTEM_LIBRARIES = ("libc.so", "libm.so", "libdl.so", "librt.so", "libpthread.so", "libresolv.so", "ld-linux")
# What CMake looks for of a CUDA toolkit, and where its cache says that it found it.
TOOLKIT = {"TROUPE_FOUND_NVCC": "nvcc", "TROUPE_CUDART": "cudart_static", "TROUPE_CUBLAS_HEADERS": "cublasLt.h"}
REFUSED = re.compile(r"TROUPE_CUDA is ON\b.*?(?=\n\s*\n|\Z)", re.DOTALL)  # CMake breaks lines, and ends it with an empty one
NINJA_STEP = re.compile(r"\[\d+/\d+\] ")
BETWEEN_STEPS = 15.0  # seconds


class Log:
    """A build's output in a file, of which a line now and then tells how far it is."""

    def __init__(self, path):
        self.path, self.file, self.told = path, open(path, "w", buffering=1), time.monotonic()

    def __call__(self, line):
        self.file.write(line + "\n")
        if NINJA_STEP.match(line) and time.monotonic() - self.told >= BETWEEN_STEPS:
            say("  " + line)
            self.told = time.monotonic()

    def check(self, ended):
        """A build that fails says why somewhere before its last line."""
        if ended.code is not None and ended.code != 0:
            reason = next((line for line in ended.output if re.search(r"\berror\b|^FAILED:", line, re.IGNORECASE)), ended.reason())
            raise Failed(f"{ended.name} ended with code {ended.code}: {reason.strip()} (all of it: {self.path.name})")
        ended.check()


def cached(folder):
    """CMake's cache, as far as it has got."""
    file = folder / "CMakeCache.txt"
    lines = file.read_text().splitlines() if file.exists() else []
    return {name.partition(":")[0]: value for name, equals, value in (line.partition("=") for line in lines) if equals}


def check_toolkit(folder, output):
    """CMake stops at the first thing that it cannot do without: what is not in its cache then may well be there."""
    found = cached(folder)
    lacking = [name for variable, name in TOOLKIT.items() if found.get(variable, "").endswith("-NOTFOUND")]
    refused = REFUSED.search("\n".join(output))
    if lacking or refused:
        told = "; ".join(line.removeprefix("-- ") for line in output if line.startswith("-- CUDA:"))
        why = " ".join(refused[0].split()) if refused else told
        what = f"{', '.join(lacking)} of a CUDA toolkit" if lacking else "a CUDA toolkit"
        raise Missing(f"{what}, 12.8 or newer ({why}); bring a program built elsewhere: --troupe")


def build(folder, log_path, capabilities, left):
    """Builds into a folder of its own, since code for these devices alone is of no use to others. Gives what each kernel takes of a
    multiprocessor; one that spills registers with this machine's compiler is slower, and measured all the same. `left` tells the seconds that are left."""
    for tool in ("cmake", "ninja"):
        if not shutil.which(tool):
            raise Missing(f"{tool}, which builds troupe; bring a program built elsewhere: --troupe")
    log = Log(log_path)
    numbers = ";".join(each.replace(".", "") for each in sorted(set(capabilities), key=float))
    architectures = f"-DTROUPE_CUDA_ARCHITECTURES={numbers}" if numbers else "-UTROUPE_CUDA_ARCHITECTURES"
    told = {"on_output": log, "stderr": subprocess.STDOUT, "cwd": ROOT}
    configured = run(["cmake", "--preset", "release", "-B", folder, "-DTROUPE_CUDA=ON", "-DTROUPE_TESTS=OFF", "-DTROUPE_BENCHMARKS=OFF",
                      "-DTROUPE_CUDA_MAY_SPILL=ON", architectures], left(), **told)
    check_toolkit(folder, configured.output)
    log.check(configured)
    log.check(run(["cmake", "--build", folder, "--target", "cuda_device_code", "troupe"], left(), **told))
    return (folder / "kernels/cuda/device_code.txt").read_text().splitlines()


def libraries_of(python):
    """Of Python packages, as torch brings them: where that Python looks for packages, or this one."""
    asked = run([python, "-c", "import sys; print('\\n'.join(sys.path))"], 30, on_error=lambda line: None)
    return [place for folder in asked.output + sys.path if folder for place in glob.glob(f"{folder}/nvidia/c*/lib")]


def library_environment(troupe, python):
    """Where troupe finds the libraries packed beside it, and cuBLASLt: the toolkit's, or torch's."""
    places = [str(troupe.parent / "lib")] if (troupe.parent / "lib").is_dir() else []
    places += [each for each in os.environ.get("LD_LIBRARY_PATH", "").split(":") if each]
    built_with = cached(troupe.parent).get("TROUPE_FOUND_NVCC", "-NOTFOUND")
    nvcc = shutil.which("nvcc") if built_with.endswith("-NOTFOUND") else built_with
    toolkits = [nvcc and pathlib.Path(nvcc).resolve().parents[1], os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
    places += [f"{each}/lib64" for each in toolkits if each]
    places += libraries_of(python)
    return {**os.environ, "LD_LIBRARY_PATH": ":".join(dict.fromkeys(places))}


def has_cuda(program):
    """A program without CUDA says so before it looks for a model."""
    asked = run([program, "gpu-selftest", "/none/such"], 60, on_error=lambda line: None)
    return not any("built without CUDA" in line for line in asked.errors)


def pack(program, folder):
    """The program and every library that it needs but the C library's own."""
    if not program.exists():
        raise Missing(f"{program}: build it first")
    if not has_cuda(program):
        raise Missing(f"CUDA in {program}: where nvcc, cudart_static and cublasLt.h are, build it with -DTROUPE_CUDA=ON")
    (folder / "lib").mkdir(parents=True, exist_ok=True)
    shutil.copy2(program, folder / "troupe")
    subprocess.run(["strip", folder / "troupe"], check=False)
    for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
        name, _, place = line.strip().partition(" => ")
        if place.startswith("/") and not name.startswith(SYSTEM_LIBRARIES):
            shutil.copy2(os.path.realpath(place.split(" (")[0]), folder / "lib" / name)
    total = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
    architectures = cached(program.parent).get("TROUPE_CUDA_ARCHITECTURES", "not known")
    print(f"{folder}: {total / 2**20:.1f} MiB, compute capabilities: {architectures}; there: tests/bench/gpu.py --troupe {folder}/troupe")
