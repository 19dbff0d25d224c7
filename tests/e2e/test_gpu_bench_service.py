"""The part "service" of tests/bench/gpu.py: with the real service on the CPU, and with a stand-in whose one fault is told by name."""
import argparse
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

import pytest
from conftest import BINARY
from gpu_stand_ins import BENCH, bench, gone, program, stand_ins, wait_until

import gpu
import gpu_load
import gpu_models
import gpu_process
import gpu_server
import gpu_service
import gpu_store

STAND_IN = pathlib.Path(__file__).resolve().parent / "gpu_service_stand_in.py"
PROBABILISTIC = {"rejection_sample_method": "probabilistic"}


def processes_of(words):
    """Those whose command line has these."""
    found = []
    for each in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if words in each.read_text(errors="replace").replace("\0", " "):
                found.append(each.parent.name)
    return found


# ---- the real service ----

def tiny_model(tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    gpu_models.write("tiny", tmp_path / "work" / "smollm-135m.gguf")


def test_on_the_cpu_all_of_it_passes_and_is_on_the_page(tmp_path):
    tiny_model(tmp_path)
    done, data = bench(tmp_path, "--device", "cpu", "--troupe", BINARY, "--seconds", "110", "service")
    assert done.returncode == 0, done.stderr
    assert data["problems"] == {}
    assert list(data["service"]) == ["default", "drafts", "by chance"]
    assert all(tried["passed"] for tried in data["service"].values())
    for name in ("default", "drafts"):
        for how in ("killed under way", "killed idle"):
            assert data["service"][name][how]["equal"] == 1
            assert f"| {name} | {how} | " in done.stdout
        assert data["service"][name]["killed under way"]["under_way"] > 0
    assert data["service"]["drafts"]["drafts"]["another runner"] == {"accepted_greedy": 1, "accepted_others": 1}
    assert all(f"| {name} | " in done.stdout for name in ("default | 1", "default | 64", "drafts | 1", "drafts | 1, without drafts"))
    assert "KV cache: " in done.stdout and "accepted by chance" in done.stdout
    assert "the model runner is back" in (tmp_path / "out" / "service.drafts.log").read_text()
    done, _ = bench(tmp_path, "--device", "cpu", "--troupe", BINARY, "--seconds", "110", "service")
    assert done.returncode == 0 and done.stderr.count("it is there and passed") == 3


def test_a_service_that_finds_no_device_is_told_with_its_reason(tmp_path):
    tools = stand_ins(tmp_path)
    tiny_model(tmp_path)
    done, data = bench(tmp_path, "--troupe", BINARY, "service", path=f"{tools}:{os.environ['PATH']}", CUDA_VISIBLE_DEVICES="")
    assert done.returncode == 1
    assert list(data["problems"]["service"]) == [f"server {name}: start" for name in ("default", "drafts", "by chance")]
    assert all("the server has ended with code 78: " in why for why in data["problems"]["service"].values())


def test_a_trial_on_the_cpu_measures_no_other_part(tmp_path):
    for parts in (["kernels"], []):
        with pytest.raises(FileNotFoundError):  # it has written nothing
            bench(tmp_path, "--device", "cpu", "--troupe", BINARY, *parts)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_ended_bench_leaves_no_service_behind(tmp_path, number):
    tiny_model(tmp_path)
    running = subprocess.Popen([sys.executable, BENCH / "gpu.py", "--out", tmp_path / "out", "--work", tmp_path / "work", "--device", "cpu",
                                "--troupe", BINARY, "service"], stderr=subprocess.PIPE, text=True)
    assert any("server default: 64 clients" in line for line in running.stderr)  # they and the service are at it
    log = (tmp_path / "out" / "service.default.log").read_text()
    port, runner = (int(re.search(pattern, log)[1]) for pattern in (r"HTTP on http://127.0.0.1:(\d+)", r"runner process (\d+) started"))
    assert not gone(runner)
    running.send_signal(number)
    assert running.wait(20) != 0
    running.stderr.close()
    wait_until(lambda: gone(runner) and not processes_of(str(tmp_path)) and not processes_of(f"gpu_load.py {port} "))


# ---- a service with a fault ----

@pytest.fixture
def trial(tmp_path, monkeypatch):
    """Tries a server with this fault; gives its problems and its figures."""
    monkeypatch.setattr(gpu_service, "LOAD_SECONDS", {"cpu": 0.3, "cuda": 0.3})
    monkeypatch.setattr(gpu_service, "FIGURES_AGE", 0)

    def run_with(fault, *options, checks=gpu_service.default_checks, device="cpu"):
        troupe = program(tmp_path / "troupe", f"exec {sys.executable} {STAND_IN} '{fault}' \"$@\"\n")
        run = gpu.Run(argparse.Namespace(out=tmp_path, work=tmp_path, seconds=None, rounds=1, troupe=troupe, device=device, no_torch=False))
        run.begin("service")
        gpu_service.try_server(run, "tried", tmp_path / "model.gguf", list(options), checks)
        return run.store.problems_of("service"), run.store.service()["tried"]

    return run_with


def with_drafts(trial, fault, **fields):
    options = gpu_service.draft_options("model.gguf", **fields)
    return trial(fault, *options, checks=gpu_service.chance_checks if fields else lambda tried: gpu_service.draft_checks(tried, None))


@pytest.mark.parametrize("fields", [None, {}, PROBABILISTIC])
def test_a_service_without_a_fault_passes(trial, fields):
    problems, figures = trial("none") if fields is None else with_drafts(trial, "none", **fields)
    assert problems == {} and figures["passed"]


@pytest.mark.parametrize("fault, told", [
    ("other tokens behind a kill", {"answers that were under way": "0% of 8 answers have the tokens that they had before, of 75%",
                                    "answers of another runner": "0% of 32 answers"}),
    ("chosen anew", {"runner killed under way": "has not taken over the choices of the first", "runner killed idle": "products are chosen anew"}),
    ("nothing is under way", {"runner killed under way": "every request had its tokens before the runner was killed"}),
    ("is cut off", {"answers": "an answer of 192 tokens ended with 192: abort", "answers of another runner": "abort"}),
    ("refuses", {"answers": "a completion was answered 400: no such member",
                 "64 clients": "64 clients failed, one of them: an answer that does not end well"}),
    ("ends when asked", {"answers": "the server has ended with code 70: something is wrong", "end": "the server has ended with code 70"}),
    ("does not start", {"start": "the server has ended with code 78: error: no device"}),
])
def test_a_fault_is_told_by_the_name_of_what_it_shows_in(trial, fault, told):
    problems, figures = trial(fault)
    for piece, words in told.items():
        assert words in problems[f"server tried: {piece}"]
    assert not figures.get("passed")


@pytest.mark.parametrize("fault, told", [
    ("other tokens with drafts", {"answers with drafts": "0% of 32 answers"}),
    ("other tokens behind a kill", {"answers that were under way": "0% of 32 answers",
                                    "answers with drafts of another runner": "0% of 32 answers"}),
    ("wrong drafts", {"answers with drafts": "50% of the greedy requests' draft tokens were right"}),
    ("no drafts", {"answers with drafts": "nothing was drafted", "answers with drafts of another runner": "nothing was drafted"}),
])
def test_a_fault_of_drafts_is_told(trial, fault, told):
    problems, _ = with_drafts(trial, fault)
    for piece, words in told.items():
        assert words in problems[f"server tried: {piece}"]


def test_drafts_that_are_rejected_by_chance_though_they_are_the_models_own_are_told(trial):
    problems, _ = with_drafts(trial, "wrong drafts", **PROBABILISTIC)
    assert "50% of the draft tokens were accepted" in problems["server tried: answers with drafts by chance"]


def test_other_answers_than_those_of_the_server_before_are_told():
    mine = argparse.Namespace(oracle=[[0] * gpu_service.TOKENS] * gpu_service.REQUESTS)
    trial = gpu_service.Trial(None, None, {})
    trial.oracle = [[1] * gpu_service.TOKENS] * gpu_service.REQUESTS
    with pytest.raises(gpu_server.Failed, match="has 1 for 0 as token 0"):
        trial.is_as_of(mine)


def test_what_does_not_come_in_its_time_is_told(trial, monkeypatch):
    with monkeypatch.context() as impatient:
        impatient.setattr(gpu_server, "LONGEST_START", 2.0)
        assert "within 2 s" in trial("never ready")[0]["server tried: start"]
    with monkeypatch.context() as impatient:
        impatient.setattr(gpu_server, "LONGEST_END", 1.0)
        assert "had not ended 1 s after SIGTERM" in trial("does not end")[0]["server tried: end"]
    monkeypatch.setattr(gpu_server, "PATIENCE", 4.0)
    monkeypatch.setattr(gpu_service, "LONGEST_RETURN", 4.0)
    problems, _ = trial("no other runner")
    assert "no answer to /v1/completions within 4 s" in problems["server tried: runner killed under way"]
    assert "the server was not found to have a runner within 4 s" in problems["server tried: runner killed idle"]


def test_graphs_that_are_not_there_or_not_there_again_are_told(trial, monkeypatch):
    monkeypatch.setattr(gpu_service, "LONGEST_CAPTURE", 1.0)
    assert "no decode is captured as a graph" in trial("no graphs", device="cuda")[0]["server tried: graphs"]
    assert "not seen to have its 12 graphs again" in trial("graphs are lost", device="cuda")[0]["server tried: runner killed idle"]


def test_what_the_time_does_not_suffice_for_is_left_out_and_the_server_ended(trial, monkeypatch):
    monkeypatch.setattr(gpu.Run, "limit", lambda run, longest=0: 5.4)
    problems, _ = trial("never ready")
    assert problems["server tried: start"].startswith("left out: the server was not ready within 5 s")
    assert not processes_of(str(STAND_IN))


def test_nothing_is_asked_when_the_time_is_over():
    run = argparse.Namespace(left=lambda: 4.0, limit=lambda longest: 1.0)
    server = gpu_server.Server(run, argparse.Namespace(process=None), [])
    with pytest.raises(gpu_process.LeftOut, match="no time was left to ask for /readyz"):
        server.get("/readyz")


def test_what_is_measured_afresh_is_forgotten(tmp_path):
    store = gpu_store.Store(tmp_path)
    store.service()["default"] = {"passed": True}
    store.forget("service")
    assert store.service() == {}


def test_an_answers_tokens_count_as_far_as_they_come_within_the_time_that_counts():
    answers = [(0.0, 1.0, 3.0, 20), (0.0, 5.0, 5.0, 4), (0.0, 7.0, 7.0, 3), (0.0, 8.0, 9.0, 5)]
    assert gpu_load.tokens_within(answers, 2.0, 6.0) == 10 + 4
