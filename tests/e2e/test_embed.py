"""The example that puts the company into an actor system of its own, run as a program that embeds it would be."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess

import pytest

from conftest import BINARY, MODEL

EXAMPLE = pathlib.Path(BINARY).parent / "examples" / "example_embed"
PROMPTS = ["What is the capital of Japan?", *(f"Write a long story about {what}." for what in ("the sea", "a dog", "Rome", "a tree", "snow"))]


def run(*arguments, **environment):
    return subprocess.run([EXAMPLE, *arguments], capture_output=True, text=True, timeout=120, env={**os.environ, **environment})


def children_of(process):
    try:
        return [int(child) for of_thread in pathlib.Path(f"/proc/{process.pid}/task").glob("*/children") for child in of_thread.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return []


@pytest.fixture(scope="module")
def answers():
    done = run(MODEL, *PROMPTS)
    assert done.returncode == 0, done.stderr
    return sorted(done.stdout.splitlines())


def test_each_prompt_has_its_answer(answers):
    assert "The capital of Japan is Tokyo." in answers
    assert answers.count("(stop)") + answers.count("(length)") == len(PROMPTS)


def test_no_answer_is_lost_with_the_runners_process(answers, tmp_path):
    """Killed when the first answer is whole; a machine that was too slow to see that in time has another try."""
    killed = []
    for attempt in range(5):
        log = tmp_path / f"log{attempt}"
        with open(log, "w") as errors, subprocess.Popen([EXAMPLE, MODEL, *PROMPTS], stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            lines = []
            for line in process.stdout:
                lines.append(line.rstrip("\n"))
                if not killed and re.fullmatch(r"\((stop|length)\)", lines[-1]):
                    killed = children_of(process)
                    for runner in killed:
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(runner, signal.SIGKILL)
            assert process.wait(timeout=120) == 0, log.read_text()
        assert sorted(lines) == answers
        if killed and "is started again" in log.read_text():
            return
        killed = []
    pytest.fail("the runner was never killed while requests ran")


@pytest.mark.parametrize("arguments, environment, told", [
    (["/nowhere/model.gguf", "Hi"], {}, "/nowhere/model.gguf: "),
    ([MODEL, "word " * 9000], {}, "maximum context length is 8192 tokens"),
    ([MODEL, "Hi"], {"TROUPE_CONFIG": "/nowhere/troupe.toml"}, "/nowhere/troupe.toml"),
])
def test_what_is_wrong_is_told(arguments, environment, told):
    done = run(*arguments, **environment)
    assert (done.returncode, done.stdout) == (1, "")
    assert told in next(line for line in done.stderr.splitlines() if line.startswith("embed: "))
