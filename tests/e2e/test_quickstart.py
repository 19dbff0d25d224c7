"""./quickstart as a person runs it. What takes minutes (apt, CMake, the compiler) is already done and answers so here."""
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess

import pytest
from conftest import BINARY, MODEL, ROOT, free_port


@pytest.fixture
def clone(tmp_path):
    """The folder of a clone that is built and has its model, with the programs in front of PATH that say so."""
    for script in ("quickstart", "examples/http_chat.py", *(f"packaging/{p.name}" for p in (ROOT / "packaging").iterdir() if p.is_file())):
        (tmp_path / script).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / script, tmp_path / script)
    for folder in ("build", "models", "bin"):
        (tmp_path / folder).mkdir()
    (tmp_path / "build" / "troupe").symlink_to(pathlib.Path(BINARY).resolve())
    (tmp_path / "models" / MODEL.name).symlink_to(MODEL.resolve())
    for name, does in (("cmake", "exit 0"), ("dpkg-query", "echo install ok installed")):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    return tmp_path


def begin_quickstart(clone, *arguments, stderr=subprocess.PIPE):
    path = f"{clone / 'bin'}:{os.environ['PATH']}"
    return subprocess.Popen(["./quickstart", *map(str, arguments)], cwd=clone, env={**os.environ, "PATH": path},
                            stdout=subprocess.PIPE, stderr=stderr, text=True)


def quickstart(clone, *arguments):
    process = begin_quickstart(clone, *arguments)
    try:
        said, complained = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.terminate()  # it ends its service, which is in a session of its own
        process.communicate(timeout=60)
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, said, complained)


def test_once_answers_stops_the_service_and_ends_with_0(clone):
    port = free_port()
    done = quickstart(clone, "--once", "What is the capital of Japan? Answer in one word.", "--port", port, "--tcp-port", free_port())
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Tokyo" in done.stdout.split("Asking over HTTP")[1].split("\n", 1)[1]
    assert "every request had finished" in (clone / "build" / "quickstart.log").read_text()


def test_a_proxy_for_others_is_not_asked_for_what_is_on_this_machine(clone, monkeypatch):
    with socket.socket() as proxy:  # takes connections, and nobody ever answers
        proxy.bind(("127.0.0.1", 0))
        proxy.listen()
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        done = quickstart(clone, "--once", "Hello", "--port", free_port(), "--tcp-port", free_port())
        assert done.returncode == 0, done.stdout + done.stderr
        proxy.setblocking(False)
        with pytest.raises(BlockingIOError):
            proxy.accept()


def test_a_prompt_may_look_like_an_option(clone):
    done = quickstart(clone, "--once", "--version?", "--port", free_port(), "--tcp-port", free_port())
    assert done.returncode == 0 and done.stdout.split("Asking over HTTP: --version?")[1].strip(), done.stdout + done.stderr


def test_two_signals_at_once_end_the_service_too(clone):
    """A closed terminal sends two: both are pending when the script goes on."""
    ports = ("--port", free_port(), "--tcp-port", free_port())
    with begin_quickstart(clone, *ports, stderr=subprocess.STDOUT) as process:
        for line in process.stdout:
            if "Serving until Ctrl-C" in line:
                break
        for number in (signal.SIGSTOP, signal.SIGINT, signal.SIGHUP, signal.SIGCONT):
            process.send_signal(number)
        said = process.stdout.read()
        assert process.wait(timeout=60) in (130, 143), said
    assert "every request had finished" in (clone / "build" / "quickstart.log").read_text()


def test_a_service_that_ends_badly_is_told_with_what_to_do(clone):
    (clone / "build" / "troupe").unlink()
    (clone / "build" / "troupe").write_text("#!/bin/sh\necho mayday\nexit 3\n")
    (clone / "build" / "troupe").chmod(0o755)
    done = quickstart(clone, "--once", "Hello", "--port", free_port(), "--tcp-port", free_port())
    assert done.returncode == 1
    assert "mayday" in done.stderr and "failed while: Starting the service" in done.stderr and "what to do:" in done.stderr


def test_a_model_that_is_another_file_is_not_taken_for_the_model(clone):
    (clone / "models" / MODEL.name).unlink()
    (clone / "models" / MODEL.name).write_bytes(MODEL.read_bytes()[:-1])
    pip = clone / ".venv" / "bin" / "pip"
    pip.parent.mkdir(parents=True)
    pip.write_text('#!/bin/sh\n[ "$1" = --version ] && exit 0\necho no network\nexit 1\n')
    pip.chmod(0o755)
    done = quickstart(clone, "--build-only")
    assert done.returncode == 1 and "failed while: Fetching the default model" in done.stderr
    assert [p.name for p in (clone / "models").iterdir()] == [MODEL.name], "a download that failed leaves nothing"


@pytest.mark.parametrize("arguments, word", [(["--port"], "--port"), (["--port", "70000"], "70000"), (["--once", ""], "--once"),
                                             (["--twice"], "--twice")])
def test_wrong_usage_ends_with_2(clone, arguments, word):
    done = quickstart(clone, *arguments)
    assert done.returncode == 2 and word in done.stderr and not done.stdout


def package_of(library):
    """Debian's package of a file that the dynamic linker has found, wherever it was found by."""
    found = subprocess.run(["dpkg-query", "-S", f"*/{library.name}", f"*/{library.resolve().name}"], capture_output=True, text=True).stdout
    return {line.split(":")[0] for line in found.splitlines() if pathlib.Path(line.split(": ")[1]).resolve() == library.resolve()}


def test_the_readme_names_the_libraries_of_a_machine_that_only_runs_it():
    section = re.search(r"needs the libraries that it is linked with: `apt-get install ([^`]*)`", (ROOT / "README.md").read_text())
    told = set(section[1].split())
    dynamic = subprocess.run(["readelf", "-d", BINARY], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    places = subprocess.run(["ldd", BINARY], capture_output=True, text=True, check=True).stdout
    found = {name: pathlib.Path(place) for name, place in re.findall(r"(\S+) => (\S+)", places)}
    packages = set().union(*(package_of(found[name]) for name in needed if name in found))
    assert {"libcaf-core0.17", "libc6"} <= packages
    assert packages - {"libc6", "libgcc-s1", "libstdc++6"} == told
