"""The commands that tests/bench/gpu.py runs: each is ended with all that it started, and what it says is shown and kept."""
import contextlib
import ctypes
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time

BEGIN = time.monotonic()
GRACE = 3.0  # seconds that a command's processes have to end by themselves
LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


class Missing(Exception):
    """Something that this machine does not have."""


class LeftOut(Exception):
    """Something for which no time was left."""


class Failed(Exception):
    """Something that went wrong."""


@dataclasses.dataclass
class Ended:
    name: str
    code: int | None  # none where its time was over
    seconds: float
    output: list[str]
    errors: list[str]

    def check(self):
        if self.code is None:
            raise LeftOut(f"{self.name} was ended after {self.seconds:.0f} s: no time was left")
        if self.code != 0:
            raise Failed(f"{self.name} ended with code {self.code}: {self.reason()}")

    def reason(self):
        return next((line.strip() for line in reversed(self.errors or self.output) if line.strip()), "it gave no reason")


def say(text):
    print(f"[{time.monotonic() - BEGIN:6.1f} s] {text}", file=sys.stderr, flush=True)


def show(line):
    print(line, file=sys.stderr, flush=True)


def die_with_parent():
    """In a session of its own a command would outlive a parent that is killed, and be measured beside what comes next."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def group_lives(process, number):
    process.poll()  # a leader that has ended stays a member until somebody has waited for it
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        return False
    return True


def end_group(process):
    """Compilers below ninja and torch's workers may outlive the process that started them: the group ends as a whole.
    ninja, asked first, removes what it has half written."""
    if not group_lives(process, signal.SIGTERM):
        return
    deadline = time.monotonic() + GRACE
    while group_lives(process, 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    group_lives(process, signal.SIGKILL)
    process.wait()


def listen(stream, kept, told):
    for line in stream:
        kept.append(line.rstrip("\n"))
        told(kept[-1])


@dataclasses.dataclass
class Running:
    process: subprocess.Popen
    output: list[str] = dataclasses.field(default_factory=list)
    errors: list[str] = dataclasses.field(default_factory=list)
    readers: list[threading.Thread] = dataclasses.field(default_factory=list)

    def hear_out(self):
        """Waits until all that the process, which has ended, said has been read; for each pipe not longer than GRACE, since a process that
        left the group may hold its other end."""
        for each in self.readers:
            each.join(GRACE)


@contextlib.contextmanager
def signals_held_back():
    """Those that end this process come behind what is done here: a command that has begun is known to somebody who ends it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came = []
    before = {number: signal.signal(number, lambda number, _: came.append(number)) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in came:
            signal.raise_signal(number)


@contextlib.contextmanager
def running(command, on_output=lambda line: None, on_error=show, **settings):
    """A command beside which this goes on; what is left of it at the end is ended. Each line of its two outputs is handed on as it
    comes."""
    settings = {"stderr": subprocess.PIPE, **settings}
    process = None
    try:
        with signals_held_back():
            process = subprocess.Popen([str(each) for each in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                       errors="replace", start_new_session=True, preexec_fn=die_with_parent, **settings)
        child = Running(process)
        child.readers += [threading.Thread(target=listen, args=each, daemon=True)
                          for each in ((process.stdout, child.output, on_output), (process.stderr, child.errors, on_error)) if each[0]]
        for each in child.readers:
            each.start()
        yield child
    finally:  # also where this process is interrupted: a terminal's signals do not reach another session
        if process is not None:
            end_group(process)
    child.hear_out()


def run(command, limit=None, **settings):
    """Runs a command for at most `limit` seconds, and hands its lines on as `running` does."""
    begin = time.monotonic()
    with running(command, **settings) as child:
        try:
            code = child.process.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
    return Ended(os.path.basename(str(command[0])), code, time.monotonic() - begin, child.output, child.errors)
