"""A service that was started from a terminal, and what becomes of it when that is closed."""
import contextlib
import os
import pty
import signal
import sys
import time

import pytest

from test_signals import begin_stream

IN_A_SESSION = "import os, sys; os.setsid(); os.open(sys.argv[1], os.O_RDWR); os.execvp(sys.argv[2], sys.argv[2:])"


@pytest.fixture
def terminal():
    """Its far end, to close, and a command that executes the rest of its arguments as the leader of its session."""
    far, near = pty.openpty()
    far = os.fdopen(far, "rb", buffering=0)
    yield far, (sys.executable, "-c", IN_A_SESSION, os.ttyname(near))
    os.close(near)
    far.close()


def job_of_a_shell(pid_file, then):
    """Of an interactive one, which writes down whose process it is."""
    return ("bash", "--norc", "-i", "-c", f'"$@" & echo $! > {pid_file}; {then}', "bash")


@contextlib.contextmanager
def process_in(pid_file):
    """Its number; it is not left behind."""
    pid = int(pid_file.read_text())
    try:
        yield pid
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_for(service, words, seconds):
    """In the log of a service that its shell may have left behind."""
    end = time.monotonic() + seconds
    while words not in service.log():
        assert time.monotonic() < end, service.log()
        time.sleep(0.05)


def has_reloaded(service):
    return "SIGHUP asks for a reload" in service.log()


def test_a_terminal_that_is_closed_ends_its_service_as_sigterm_does(start_service, terminal):
    far, leader = terminal
    with start_service("--shutdown-grace", "120", prefix=leader) as service:
        connection, answer = begin_stream(service, max_tokens=100)
        far.close()
        rest = answer.read().decode()
        assert service.process.wait(130) == 0
        assert '"finish_reason":"length"' in rest.replace(" ", "")
        assert "the terminal has gone" in service.log() and "every request had finished" in service.log()
        assert not has_reloaded(service)
        connection.close()


def test_a_hangup_is_a_reload_while_the_terminal_is_there(start_service, terminal):
    _, leader = terminal
    with start_service(prefix=leader) as service:
        service.process.send_signal(signal.SIGHUP)
        service.wait_until(lambda: has_reloaded(service), 10, "reloading")
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(30) == 0


def test_a_closed_terminal_does_not_end_a_service_that_ignores_it(start_service, terminal):
    far, leader = terminal
    with start_service(prefix=(*leader, "nohup")) as service:
        far.close()
        service.wait_until(lambda: has_reloaded(service), 10, "reloading")
        assert service.status("/readyz") == 200


def test_a_shell_that_its_terminal_ends_takes_its_service_along(start_service, terminal, tmp_path):
    far, leader = terminal
    pid_file = tmp_path / "pid"
    with start_service("--shutdown-grace", "120", prefix=(*leader, *job_of_a_shell(pid_file, "wait"))) as service, process_in(pid_file):
        connection, answer = begin_stream(service, max_tokens=100)
        far.close()
        assert '"finish_reason":"length"' in answer.read().decode().replace(" ", "")
        wait_for(service, "every request had finished", 130)
        assert "second signal: ending" not in service.log() and not has_reloaded(service)
        connection.close()


def test_a_service_that_its_shell_has_left_running_may_be_reloaded_as_ever(start_service, terminal, tmp_path):
    pid_file, go = tmp_path / "pid", tmp_path / "go"
    leaves = f"until [ -e {go} ]; do sleep 0.05; done; disown -a; exit 0"
    with start_service(prefix=(*terminal[1], *job_of_a_shell(pid_file, leaves))) as service, process_in(pid_file) as pid:
        go.touch()
        service.process.wait(30)
        os.kill(pid, signal.SIGHUP)
        wait_for(service, "SIGHUP asks for a reload", 10)
        os.kill(pid, signal.SIGTERM)
        wait_for(service, "every request had finished", 30)
