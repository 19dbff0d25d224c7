"""The laws of the house that a glance can check: who may include whom, and what stays out of the repository."""
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = {".cpp", ".hpp", ".cu", ".cuh"}
ACTORS = r"caf/"
SOCKETS = r"boost/asio|boost/beast|sys/socket\.h|netinet/|arpa/|sys/epoll\.h"

# folder: what it may not include
LAYERS = {
    "kernels": rf"{ACTORS}|{SOCKETS}|nlohmann/|fstream|(runtime|actors|metrics|config|main)/",
    "runtime": rf"{ACTORS}|{SOCKETS}|spdlog/|prometheus/|CLI/|toml|(actors|metrics|config|main)/",
    "actors/net": rf"{ACTORS}|prometheus/|(kernels|metrics|config|main|actors/(?!net/))/?",
    "actors": r"CLI/|toml|(config|main)/",
    "main/setup": r"main/(?!setup/)",
    "metrics": rf"{ACTORS}|{SOCKETS}|(kernels|runtime|actors|config|main)/",
    "config": rf"{ACTORS}|{SOCKETS}|prometheus/|(kernels|runtime|actors|metrics|main)/",
    "examples/generate.cpp": rf"{ACTORS}|{SOCKETS}|prometheus/|(kernels|actors|metrics|config|main)/",
}


def tracked():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def sources(folder=""):
    return [p for p in tracked() if p.suffix in SOURCES and str(p.relative_to(ROOT)).startswith(folder)]


def includes(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^>"]+)[>"]', line)
        if match:
            yield number, match[1]


@pytest.mark.parametrize("folder", LAYERS)
def test_a_layer_includes_only_what_it_may_know(folder):
    files = sources(folder if folder.endswith(".cpp") else folder + "/")
    assert files, f"no sources in {folder}"
    bad = [f"{p.relative_to(ROOT)}:{n}: {name}" for p in files for n, name in includes(p)
           if re.match(LAYERS[folder], name)]
    assert not bad, f"{folder} must not include:\n" + "\n".join(bad)


def test_own_headers_are_included_from_the_root():
    """"runtime/x/y.hpp", never "../y.hpp": so that the law above can be read off the line."""
    bad = [f"{p.relative_to(ROOT)}:{n}: {name}" for p in sources() for n, name in includes(p) if ".." in name]
    assert not bad, "\n".join(bad)


def test_each_file_is_as_clang_format_writes_it():
    """Version 14, which tests/requirements.txt pins: others break lines elsewhere."""
    program = pathlib.Path(sys.executable).with_name("clang-format")
    files = [p for p in sources() if p.suffix in {".cpp", ".hpp"}]
    done = subprocess.run([program, "--dry-run", "-Werror", "--ferror-limit=1", *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_runtime_reads_no_clock_and_no_randomness():
    forbidden = re.compile(r"_clock::now\(\)|random_device|\brand\(\)|std::time\(|getenv\(")
    bad = [f"{p.relative_to(ROOT)}" for p in sources("runtime/") if not p.name.endswith("_bench.cpp")
           and forbidden.search(p.read_text())]
    assert not bad, f"clocks and randomness are handed in: {bad}"


def test_the_time_of_day_is_told_and_decides_nothing():
    """A clock may be set back while the service runs. These five tell dates: a header, `created`, the spans of a trace,
    and those of the start of the process and of the prompts that chat templates write."""
    tellers = {"actors/net/http/http_message.cpp", "actors/net/http/http_answers.cpp", "actors/net/telemetry/trace_exporter.cpp",
               "actors/time_of_day.cpp"}
    wall = re.compile(r"system_clock|high_resolution_clock|utc_clock|gettimeofday|CLOCK_REALTIME|\btime\((?:NULL|nullptr|0|&)")
    found = {str(p.relative_to(ROOT)) for p in sources() if not str(p.relative_to(ROOT)).startswith("tests/") and wall.search(p.read_text())}
    assert found == tellers


def test_unfinished_work_is_not_committed():
    words = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
    bad = [str(p.relative_to(ROOT)) for p in sources() if words.search(p.read_text())]
    assert not bad, bad


def test_no_file_is_larger_than_a_mebibyte():
    bad = [str(p.relative_to(ROOT)) for p in tracked() if p.stat().st_size > 1 << 20]
    assert not bad, bad


def test_relative_links_in_the_documents_lead_somewhere():
    bad = []
    for page in [p for p in tracked() if p.suffix == ".md"]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target and not (page.parent / target).exists():
                bad.append(f"{page.relative_to(ROOT)}: {target}")
    assert not bad, bad
