"""tests/bench/gpu.py from command to command: what is kept, measured again and ended; with stand-ins."""
import json
import os
import signal
import subprocess
import sys
import types

import pytest
from gpu_stand_ins import BENCH, SELF_TEST, STEPS, TORCH, asked, bench_with, gone, program, python, stand_ins, troupe, wait_until

import gpu
import gpu_page
import gpu_process


def earlier(tmp_path):
    file, = (tmp_path / "out").glob("gpu.earlier.*.json")
    return json.loads(file.read_text())


# ---- what is kept between commands ----

def test_what_is_there_is_not_measured_again_but_where_it_is_asked_for(tmp_path):
    tools = stand_ins(tmp_path)
    bench_with(tools, "--rounds", "1", "smollm-135m")
    done, data = bench_with(tools, "--rounds", "2", "smollm-135m")
    assert len(asked(tools)) == len(data["steps"]["smollm-135m"]["troupe"]) == 2
    done, data = bench_with(tools, "--rounds", "2", "smollm-135m")
    assert len(asked(tools)) == len(asked(tools, "torch_asked")) == 2
    assert "--fresh" in done.stderr
    done, data = bench_with(tools, "--rounds", "2", "--fresh", "smollm-135m")
    assert len(asked(tools)) == 4
    assert len(data["steps"]["smollm-135m"]["troupe"]) == len(data["steps"]["smollm-135m"]["torch"]["eager 1"]) == 2


def test_a_failed_self_test_is_a_failure_also_where_it_is_not_measured_again(tmp_path):
    tools = stand_ins(tmp_path, {**SELF_TEST, "passed": False, "failures": ["graphs and eager steps disagree"]})
    for _ in range(2):
        done, data = bench_with(tools, "--rounds", "1", "smollm-135m-q4")
        assert done.returncode == 1
        assert "disagree" in data["problems"]["smollm-135m-q4"]["self-test smollm-135m-q4"]
    assert len(asked(tools)) == 1


# Times and shares are 0 where the device was lost before, and a way that was not timed is null.
@pytest.mark.parametrize("without", [None, dict.fromkeys(STEPS[2]["graph"], 0)])
@pytest.mark.parametrize("way", ["graph", "eager"])
def test_a_self_test_that_has_not_timed_every_step_is_no_turn(tmp_path, way, without):
    last = {**STEPS[2], way: without, "share_of_copy_bandwidth": 0.0}
    tools = stand_ins(tmp_path, {**SELF_TEST, "passed": False, "failures": ["the device was lost"], "decode": [*STEPS[:2], last]})
    for _ in range(2):  # it is tried again
        done, data = bench_with(tools, "--rounds", "1", "smollm-135m")
        assert done.returncode == 1
        assert data["problems"]["smollm-135m"] == {"self-test smollm-135m": "failed: the device was lost"}
        assert data["steps"]["smollm-135m"] == {"troupe": [], "torch": {}}
    assert len(asked(tools)) == 2


def test_without_a_batch_invariant_kernel_the_other_times_are_kept(tmp_path):
    why = "cuBLASLt has no kernel that keeps the bits"
    failed = {**SELF_TEST, "passed": False, "failures": [why], "decode": [{**each, "batch_invariant": None} for each in STEPS]}
    tools = stand_ins(tmp_path, failed)
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m")
    assert done.returncode == 1
    assert data["problems"]["smollm-135m"] == {"self-test smollm-135m": f"failed: {why}"}
    assert "| smollm-135m | 64 | 1024 | 164 | 400 | - | 2.0 | 50 |" in done.stdout
    assert len(data["steps"]["smollm-135m"]["torch"]["eager 1"]) == 1
    bench_with(tools, "--rounds", "1", "smollm-135m")
    assert len(asked(tools)) == 1, "it is not tried again"


def test_a_self_test_that_passed_has_timed_batch_invariant_steps(tmp_path):
    tools = stand_ins(tmp_path, {**SELF_TEST, "decode": [{**each, "batch_invariant": None} for each in STEPS]})
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m-q4")
    assert done.returncode == 1
    assert data["problems"]["smollm-135m-q4"] == {"self-test smollm-135m-q4": "failed: it passed and has not timed every step"}


def test_a_self_test_without_steps_is_no_turn(tmp_path):
    tools = stand_ins(tmp_path, {**SELF_TEST, "decode": []})
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m-q4")
    assert done.returncode == 1
    assert data["problems"]["smollm-135m-q4"] == {"self-test smollm-135m-q4": "failed: it passed and has not timed every step"}
    assert data["steps"]["smollm-135m-q4"]["troupe"] == []


@pytest.mark.parametrize("answer", [{"device": ""}, {"device": None}, {}])
def test_a_self_test_that_came_to_no_device_fails_for_its_own_reason(tmp_path, answer):
    tools = stand_ins(tmp_path, {"passed": False, "failures": ["no memory", "no driver"], **answer})
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m-q4")
    assert done.returncode == 1
    assert data["problems"]["smollm-135m-q4"] == {"self-test smollm-135m-q4, 1 of 1": "failed: no memory; no driver"}


def test_what_was_set_aside_is_taken_up_again(tmp_path):
    tools = stand_ins(tmp_path)
    for number in (1, 2, 3):
        troupe(tools, {**SELF_TEST, "copy_gb_per_s": 1000.0 * number})
        bench_with(tools, "--rounds", "1", "smollm-135m-q4")
    assert len(list((tmp_path / "out").glob("gpu.earlier.*.json"))) == 2
    for number in (1, 3, 2):
        troupe(tools, {**SELF_TEST, "copy_gb_per_s": 1000.0 * number})
        done, data = bench_with(tools, "--rounds", "1", "smollm-135m-q4")
        assert data["self_tests"]["smollm-135m-q4"]["copy_gb_per_s"] == 1000.0 * number
        assert f"{number}000 GB/s" in done.stdout
        assert len(list((tmp_path / "out").glob("gpu.earlier.*.json"))) == 2
    assert len(asked(tools)) == 3
    bench_with(tools, "--rounds", "1", "--fresh", "smollm-135m-q4")
    assert len(asked(tools)) == 4


def test_what_was_measured_of_another_program_is_set_aside(tmp_path):
    tools = stand_ins(tmp_path)
    bench_with(tools, "--rounds", "2", "smollm-135m", "smollm-135m-q4")
    troupe(tools, {**SELF_TEST, "copy_gb_per_s": 4000.0})
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m")
    assert "of another program" in done.stderr
    assert list(data["self_tests"]) == list(data["steps"]) == ["smollm-135m"]
    assert len(data["steps"]["smollm-135m"]["troupe"]) == 1
    assert "4000 GB/s" in done.stdout and "3000 GB/s" not in done.stdout
    assert list(earlier(tmp_path)["steps"]) == ["smollm-135m", "smollm-135m-q4"]


def test_what_was_measured_on_another_device_is_set_aside(tmp_path):
    tools = stand_ins(tmp_path)
    bench_with(tools, "--rounds", "1", "smollm-135m", "smollm-135m-q4")
    program(tools / "nvidia-smi", 'echo "Other GPU, 580.1, 143771 MiB, 9.0"\n')
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m-q4")
    assert "of another device (Some GPU)" in done.stderr
    assert list(data["steps"]) == ["smollm-135m-q4"]
    assert len(asked(tools)) == 3


def test_the_device_is_the_one_that_the_self_test_names(tmp_path):
    tools = stand_ins(tmp_path, {**SELF_TEST, "device": "Third GPU (device 1, compute capability 8.9, 142 multiprocessors, 48600 MiB)"})
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m-q4")
    assert data["machine"] == {"device": "Third GPU", "driver": "580.1", "memory": "48600 MiB", "compute_capability": "8.9"}
    assert "On a GPU: Third GPU" in done.stdout
    # Another of the same machine's devices, which nvidia-smi cannot tell.
    asking = program(tools / "logged", f'[ -e {tools}/other ] && sed "s/Third/Fourth/" {tools}/answer || cat {tools}/answer\n')
    (tools / "answer").write_text(json.dumps({**SELF_TEST, "device": "Third GPU (device 1, compute capability 8.9, 142 multiprocessors, 48600 MiB)"}))
    bench_with(tools, "--rounds", "1", "smollm-135m-q4", program=asking.name)
    (tools / "other").touch()
    done, data = bench_with(tools, "--rounds", "2", "smollm-135m-q4", program=asking.name)
    assert "of another device (Third GPU)" in done.stderr
    assert data["machine"]["device"] == "Fourth GPU" and len(data["steps"]["smollm-135m-q4"]["troupe"]) == 1
    (tools / "other").unlink()
    done, data = bench_with(tools, "--rounds", "2", "smollm-135m-q4", program=asking.name)
    assert data["machine"]["device"] == "Third GPU" and len(data["steps"]["smollm-135m-q4"]["troupe"]) == 2
    (tools / "other").touch()
    done, data = bench_with(tools, "--rounds", "1", "--fresh", "smollm-135m-q4", program=asking.name)
    assert data["machine"]["device"] == "Fourth GPU" and len(data["steps"]["smollm-135m-q4"]["troupe"]) == 1


@pytest.mark.parametrize("content", ['{"machine": {}, "self_tests": {"smollm-135m": {}}, "steps": {"smollm-135m": {"troupe": [[]], "torch": []}}}',
                                     "[]", "cut off", '{"format": 1}'])
def test_a_file_of_another_format_is_set_aside(tmp_path, content):
    tools = stand_ins(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "gpu.json").write_text(content)
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m")
    assert done.returncode == 0, done.stderr
    assert "another format" in done.stderr
    file, = (tmp_path / "out").glob("gpu.earlier.*.json")
    assert file.read_text() == content
    assert len(data["steps"]["smollm-135m"]["troupe"]) == 1


def test_problems_of_earlier_commands_are_on_the_page_until_their_part_is_run_again(tmp_path):
    tools = stand_ins(tmp_path)
    python(tools, 'sys.exit("No module named torch")')
    bench_with(tools, "kernels")
    done, data = bench_with(tools, "--rounds", "1", "smollm-135m-q4")
    assert done.returncode == 0, done.stderr  # of this command's parts
    assert "- torch kernels: failed: python ended with code 1: No module named torch" in done.stdout
    python(tools, TORCH)
    done, data = bench_with(tools, "kernels")
    assert data["problems"] == {}
    assert "No module named torch" not in done.stdout


# ---- torch's side ----

def test_torch_s_steps_that_are_lacking_are_measured_by_the_next_command(tmp_path):
    tools = stand_ins(tmp_path)
    python(tools, """
print(json.dumps({"key": "eager 1", "us": 7.0}))
print("no time was left for the rest", file=sys.stderr)
sys.exit(4)""")
    done, data = bench_with(tools, "--rounds", "2", "smollm-135m")
    assert done.returncode == 3
    assert data["problems"]["smollm-135m"]["torch steps smollm-135m"] == "left out: no time was left for the rest"
    assert data["steps"]["smollm-135m"]["torch"] == {"eager 1": [{"us": 7.0}]}
    assert len(asked(tools, "torch_asked")) == 1  # not tried again at once
    assert len(data["steps"]["smollm-135m"]["troupe"]) == 2
    python(tools, TORCH)
    done, data = bench_with(tools, "--rounds", "2", "smollm-135m")
    assert done.returncode == 0, done.stderr
    assert len(asked(tools)) == 2  # none of troupe's was measured again
    first, second = [line.split(" | ") for line in asked(tools, "torch_asked")[1:]]
    assert first == ["steps", "smollm-135m", "1024", *(f"{way} {batch}" for way in ("eager", "graph", "compiled") for batch in (1, 8, 64) if (way, batch) != ("eager", 1))]
    assert second[3:] == ["eager 1", *first[3:]]
    assert data["steps"]["smollm-135m"]["torch"]["eager 1"] == [{"us": 7.0}, {"us": 7000.0}]


def test_torch_is_asked_for_the_kernels_that_are_lacking(tmp_path):
    tools = stand_ins(tmp_path)
    bench_with(tools, "kernels")
    bench_with(tools, "kernels")
    bench_with(tools, "--fresh", "kernels")
    assert asked(tools, "torch_asked") == ["kernels", "kernels | --but | eager silu_multiply | --but | compiled silu_multiply", "kernels"]


def test_kernels_that_are_there_are_not_measured_again(tmp_path):
    tools = stand_ins(tmp_path, {**SELF_TEST, "passed": False, "failures": ["wrong"]})
    bench_with(tools, "kernels")
    python(tools, f"for key in {gpu_page.KERNEL_KEYS}:\n    print(json.dumps({{'key': key, 'us': 1.0}}))")
    troupe(tools, SELF_TEST)
    bench_with(tools, "kernels")
    assert (len(asked(tools)), len(asked(tools, "torch_asked"))) == (2, 2)
    done, data = bench_with(tools, "--seconds", "20", "kernels")  # for neither there would be time
    assert done.returncode == 0 and data["problems"] == {}
    assert (len(asked(tools)), len(asked(tools, "torch_asked"))) == (2, 2)
    bench_with(tools, "--fresh", "kernels")
    assert (len(asked(tools)), len(asked(tools, "torch_asked"))) == (3, 3)


def test_a_self_test_of_the_kernels_that_failed_is_made_again(tmp_path):
    tools = stand_ins(tmp_path, {**SELF_TEST, "passed": False, "failures": ["wrong"]})
    for _ in range(2):
        assert bench_with(tools, "kernels")[0].returncode == 1
    assert len(asked(tools)) == 2


def test_what_torch_has_measured_before_its_time_is_over_is_kept(tmp_path):
    tools = stand_ins(tmp_path)
    python(tools, """
print(json.dumps({"key": "eager 1", "us": 7.0}), flush=True)
time.sleep(60)""")
    found = {}
    run = types.SimpleNamespace(python=tools / "python", limit=lambda longest: 6.0)
    with pytest.raises(gpu_process.LeftOut, match="was ended after"):
        gpu.torch(run, found.__setitem__, "steps", "smollm-135m", "1024", "eager 1", "eager 8")
    assert found == {"eager 1": {"us": 7.0}}


def test_a_torch_without_a_device_is_missing(tmp_path):
    tools = stand_ins(tmp_path)
    python(tools, 'print("torch sees no CUDA device", file=sys.stderr)\nsys.exit(3)')
    done, data = bench_with(tools, "kernels")
    assert done.returncode == 3
    why = data["problems"]["kernels"]["torch kernels"]
    assert why.startswith("missing: ") and "torch sees no CUDA device" in why


# ---- commands and what they start ----

FAMILY = 'sh -c "trap \'\' TERM; sleep 60; sleep 60" &\necho $! >> {file}\nsleep 60 &\necho $! >> {file}\nwait\n'


def test_a_command_whose_time_is_over_is_ended_with_all_that_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(gpu_process, "GRACE", 0.3)
    ended = gpu_process.run([program(tmp_path / "family", FAMILY.format(file=tmp_path / "children"))], limit=5.0)
    assert ended.code is None
    assert ended.seconds < 20
    children = (tmp_path / "children").read_text().split()
    assert len(children) == 2
    wait_until(lambda: all(gone(each) for each in children))


def test_what_a_command_leaves_behind_is_ended(tmp_path):
    leaving = program(tmp_path / "leaving", f"sleep 60 >/dev/null 2>&1 &\necho $! > {tmp_path}/child\necho done\n")
    ended = gpu_process.run([leaving])
    assert (ended.code, ended.output) == (0, ["done"])
    wait_until(lambda: gone((tmp_path / "child").read_text().strip()))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_an_ended_bench_leaves_no_command_behind(tmp_path, number):
    tools = stand_ins(tmp_path)
    program(tools / "troupe", f"sleep 60 &\necho $$ $! > {tmp_path}/children\nwait\n")
    running = subprocess.Popen([sys.executable, BENCH / "gpu.py", "--out", tmp_path / "out", "--work", tmp_path / "work", "--troupe", tools / "troupe",
                                "smollm-135m"], stderr=subprocess.DEVNULL, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
    file = tmp_path / "children"
    wait_until(lambda: file.exists() and len(file.read_text().split()) == 2)
    running.send_signal(number)
    assert running.wait(20) != 0
    child, grandchild = file.read_text().split()
    wait_until(lambda: gone(child))
    if number == signal.SIGKILL:  # nobody is left who would end more than the child
        os.kill(int(grandchild), signal.SIGKILL)
    wait_until(lambda: gone(grandchild))
