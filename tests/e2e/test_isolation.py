"""The runner in a process of its own: what kills it kills nothing else."""
import concurrent.futures
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import time
import urllib.error

import pytest
from conftest import BINARY

PROMPTS = ["Tell me about rivers.", "Count from one to thirty.", "Write a poem about tea.", "What is a clock?"]


def runners(service):
    """The numbers of the service's child processes, which are its runner and nothing else."""
    children = service.children()
    for child in children:
        assert b"runner-process" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes()
    return children


def is_gone(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().split(") ")[1].startswith("Z")
    except (FileNotFoundError, ProcessLookupError):  # before it is opened, or read
        return True


def ask(service, i, max_tokens=80):
    sampling = {"temperature": 0} if i % 2 == 0 else {"temperature": 0.9, "seed": i}
    body = {"messages": [{"role": "user", "content": PROMPTS[i % len(PROMPTS)]}], "max_tokens": max_tokens, **sampling}
    status, answer = service.post("/v1/chat/completions", body)
    assert status == 200, answer
    return answer["choices"][0]["message"]["content"]


def ask_all(service, meanwhile=lambda: None):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(ask, service, i) for i in range(16)]
        meanwhile()
        return [answer.result() for answer in answers]


def end_runner(service, how):
    """Ends it while it works."""
    (runner,) = runners(service)
    steps = service.metric("troupe_step_seconds_count")
    service.wait_until(lambda: service.metric("troupe_step_seconds_count") > steps, 20, "at work")
    os.kill(runner, how)
    return runner


def test_a_runner_that_is_killed_costs_nobody_anything(start_service):
    with start_service() as service:
        undisturbed = ask_all(service)
        before = service.resources()
        for how in (signal.SIGKILL, signal.SIGSEGV):
            ended = []
            answers = ask_all(service, lambda: ended.append(end_runner(service, how)))
            assert answers == undisturbed
            (runner,) = runners(service)
            assert runner != ended[0] and is_gone(ended[0])
            assert f"signal {int(how)}" in pathlib.Path(service.log_path).read_text()
            assert service.status("/livez") == service.status("/readyz") == 200
            service.wait_as_before(before, 64)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_runner_that_is_killed_as_soon_as_it_appears_at_the_start_is_followed_by_another(start_service, undisturbed, how):
    service = start_service()
    killed = []

    def kill_the_next():
        for runner in service.children():
            if runner not in killed:
                killed.append(runner)
                os.kill(runner, how)
        return len(killed) >= 2

    service.wait_until(kill_the_next, 60, "with two runners, one after the other")
    with service:
        assert ask(service, 0, 5)
        assert not set(runners(service)) & set(killed)
        service.wait_as_before(undisturbed)


def stop_as_it_opens(service, stopped):
    """SIGSTOP to the next runner, as soon as it is one."""
    end_of_patience = time.monotonic() + 60
    while time.monotonic() < end_of_patience:
        for runner in service.children():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if runner not in stopped and b"runner-process" in pathlib.Path(f"/proc/{runner}/cmdline").read_bytes():
                    os.kill(runner, signal.SIGSTOP)
                    stopped.append(runner)
                    return runner
    raise AssertionError("there is no other runner")


def test_a_runner_that_hangs_as_it_opens_its_device_at_the_start_is_not_live_and_then_followed_by_another(start_service, monkeypatch, undisturbed):
    monkeypatch.setenv("TROUPE_CHAOS", "start:hasten:4000")
    service = start_service()
    runner = stop_as_it_opens(service, [])
    service.wait_until(lambda: service.status("/livez") == 503, 20, "not live")
    assert service.metric("troupe_live") == 0 and service.status("/readyz") == 503 and not is_gone(runner)
    with service:
        assert is_gone(runner) and service.status("/livez") == 200
        assert ask(service, 0, 5)
        log = service.log()
        assert re.search(rf"not live: the runner process {runner}, which opens its device, has got nowhere for 2", log), log
        assert re.search(rf"{runner}, which opens its device, has got nowhere for 4\S* s: it is killed \(threads: \S+ T on", log), log
        assert "the start gets on again" in log
        service.wait_as_before(undisturbed)


def test_runners_that_hang_one_after_the_other_as_they_open_at_the_start_end_the_service(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "start:hasten:2000")
    service = start_service()
    stopped = []
    for _ in range(2):
        stop_as_it_opens(service, stopped)
    assert service.process.wait(30) == 70, service.log()
    assert "ended 2 times in a row before its device was open, the last time by a kill, since it had got nowhere for 2 s" in service.log()
    assert all(map(is_gone, stopped))


def test_a_service_that_is_ended_as_it_loads_leaves_no_runner_that_hangs_behind(start_service):
    """Also one that has not come to ask for its end with its parent."""
    for _ in range(3):
        service = start_service()
        runner = stop_as_it_opens(service, [])
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(20) == 0
        end = time.monotonic() + 10
        while not is_gone(runner) and time.monotonic() < end:
            time.sleep(0.05)
        assert is_gone(runner)


def test_a_replacement_that_hangs_as_it_opens_is_not_live_and_then_followed_by_another(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "start:hasten:4000")
    with start_service() as service:
        undisturbed = ask(service, 0)
        before = service.resources()
        (first,) = runners(service)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            cut_off = pool.submit(ask, service, 0)
            service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 20, "running")
            os.kill(first, signal.SIGKILL)
            second = stop_as_it_opens(service, [first])
            service.wait_until(lambda: service.status("/livez") == 503, 20, "not live")
            assert not is_gone(second) and service.metric("troupe_live") == 0
            assert ask(service, 0) == undisturbed, "who comes meanwhile waits"
            assert cut_off.result() == undisturbed
        assert is_gone(second) and service.status("/livez") == service.status("/readyz") == 200
        service.wait_as_before(before, 64)
        log = service.log()
        assert log.count("not live: ") == 1, log
        assert re.search(rf"not live: the runner process {second}, which opens its device, has got nowhere for 2", log), log
        assert re.search(rf"{second}, which opens its device, has got nowhere for 4\S* s: its process is killed", log), log


def test_replacements_that_hang_one_after_the_other_as_they_open_end_the_service(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "start:hasten:2000")
    with start_service() as service:
        stopped = runners(service)
        os.kill(stopped[0], signal.SIGKILL)
        for _ in range(2):
            stop_as_it_opens(service, stopped)
        assert service.process.wait(60) == 70, service.log()
        assert "actor model_runner cannot be started again, since it has hung 2 times in a row as it opened its device" in service.log()
        assert all(map(is_gone, stopped))


def test_a_start_that_hangs_in_the_service_itself_is_not_live_and_then_ends_it(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "start:hang:2,start:hasten:3000")
    service = start_service()
    service.wait_until(lambda: service.status("/livez") == 503, 20, "not live")
    assert service.children() == []
    assert service.process.wait(20) == 70, service.log()
    assert re.search(r"not live: the service, which loads the model, has got nowhere for 1\.5", service.log()), service.log()
    assert re.search(r"the service, which loads the model, has got nowhere for 3\S* s: the process ends", service.log()), service.log()


def test_a_starter_that_ignores_the_ends_of_children_costs_nobody_anything(start_service):
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    service = start_service()
    signal.signal(signal.SIGCHLD, before)
    with service:
        undisturbed = ask_all(service)
        before = service.resources()
        for _ in range(4):
            assert ask_all(service, lambda: end_runner(service, signal.SIGKILL)) == undisturbed
        service.wait_as_before(before, 64)
        assert pathlib.Path(service.log_path).read_text().count("signal 9 (Killed)") >= 4


def test_a_runner_that_hangs_is_killed_when_its_deadline_is_over_twice(start_service):
    with start_service("--step-deadline", "1s") as service:
        undisturbed = ask_all(service)
        before = service.resources()
        seen = []

        def hang():
            end_runner(service, signal.SIGSTOP)
            service.wait_until(lambda: service.status("/livez") == 503, 20, "not live")
            service.wait_until(lambda: service.status("/livez") == 200, 20, "live again")
            seen.append(True)

        assert ask_all(service, hang) == undisturbed
        assert seen
        log = pathlib.Path(service.log_path).read_text()
        assert re.search(r"its process is killed \(threads: troupe-runner T on \d+( in \w+)?, team member 1 T on ", log), log
        service.wait_as_before(before, 64)


def test_a_runner_that_hangs_does_not_keep_the_service_from_its_end(start_service):
    with start_service("--shutdown-grace", "1s") as service:
        (runner,) = runners(service)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            cut_off = pool.submit(ask, service, 0)
            end_runner(service, signal.SIGSTOP)
            service.process.send_signal(signal.SIGTERM)
            assert service.process.wait(60) == 0
            cut_off.exception()
        assert is_gone(runner)


def replace_runner(service):
    """Ends it while it does nothing, and waits for the next one; whom it has ended."""
    (runner,) = runners(service)
    os.kill(runner, signal.SIGKILL)
    service.wait_until(lambda: is_gone(runner) and service.children() not in ([], [runner]), 20, "there again")
    return runner


def test_a_runner_that_is_started_after_a_reload_logs_in_the_form_of_then(start_service, tmp_path):
    config = tmp_path / "troupe.toml"
    config.write_text('log_format = "json"\n')
    with start_service("--config", str(config)) as service:
        form = [pathlib.Path(f"/proc/{runner}/cmdline").read_bytes().split(b"--log-format\0")[1] for runner in runners(service)]
        config.write_text('log_format = "text"\n')
        service.process.send_signal(signal.SIGHUP)
        service.wait_until(lambda: "reloaded: " in service.log(), 20, "reloading")
        replace_runner(service)
        form += [pathlib.Path(f"/proc/{runner}/cmdline").read_bytes().split(b"--log-format\0")[1] for runner in runners(service)]
    assert [each.split(b"\0")[0] for each in form] == [b"json", b"text"]


def test_the_end_of_a_runner_without_work_is_noticed(start_service):
    with start_service() as service:
        undisturbed = ask(service, 0)
        before = service.resources()
        runner = replace_runner(service)
        assert ask(service, 0) == undisturbed
        assert f"the runner process {runner} has ended: signal 9 (Killed)" in service.log()
        service.wait_as_before(before, 64)


def test_a_runner_that_ends_again_and_again_is_not_ready_for_a_while_and_serves_all_the_same(start_service):
    with start_service() as service:
        # Few tokens: who lives for ten seconds has not ended again and again.
        undisturbed = ask(service, 0, 10)
        before = service.resources()
        for _ in range(3):
            assert service.status("/readyz") == 200, "requests wait for a moment, and none is lost"
            replace_runner(service)
            assert ask(service, 0, 10) == undisturbed
        with pytest.raises(urllib.error.HTTPError) as refusal:
            service.get("/readyz")
        assert refusal.value.code == 503 and "the model runner ends again and again" in refusal.value.read().decode()
        assert service.status("/livez") == 200 and ask(service, 0, 10) == undisturbed
        service.wait_until(lambda: service.status("/readyz") == 200, 30, "ready again")
        service.wait_as_before(before, 64)


def test_the_runner_does_not_know_the_operators_key(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_ADMIN_KEY", "a-key-that-operators-have-0123456789")
    with start_service() as service:
        (runner,) = runners(service)
        environment = pathlib.Path(f"/proc/{runner}/environ").read_bytes().split(b"\0")
        assert not any(variable.startswith(b"TROUPE_ADMIN_KEY=") for variable in environment)
        assert any(variable.startswith(b"PATH=") for variable in environment)


def test_the_runner_ends_with_the_service_however_that_ends(start_service):
    with start_service() as service:
        (runner,) = runners(service)
        service.process.kill()
        service.process.wait()
        end = time.monotonic() + 10
        while not is_gone(runner) and time.monotonic() < end:
            time.sleep(0.05)
        assert is_gone(runner)


def test_signals_that_are_meant_for_the_service_do_not_reach_the_runner(start_service):
    """As Ctrl-C in a terminal and systemd do it: everybody gets the signal, and requests finish all the same."""
    with start_service() as service:
        (runner,) = runners(service)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(ask, service, 0)
            service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 20, "running")
            os.kill(runner, signal.SIGTERM)
            os.kill(runner, signal.SIGINT)
            os.kill(runner, signal.SIGHUP)
            service.process.send_signal(signal.SIGTERM)
            assert answer.result()
        assert service.process.wait(20) == 0
        assert is_gone(runner)


def test_without_isolation_there_is_one_process(start_service):
    with start_service("--runner-isolation", "none") as service:
        assert runners(service) == []
        ask(service, 0)


def test_nobody_starts_a_runner_process_by_hand():
    ended = subprocess.run([BINARY, "runner-process", "5", "1"], capture_output=True, text=True, timeout=20)
    assert ended.returncode == 1
    assert "the service that started this runner process is gone" in ended.stderr
    assert "runner-process" not in subprocess.run([BINARY, "--help"], capture_output=True, text=True, timeout=20).stdout
