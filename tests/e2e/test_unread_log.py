"""A log that nobody reads: lines are lost, and nothing else."""
import fcntl
import os
import signal
import time

from conftest import Service


def test_nobody_waits_for_a_log_that_nobody_reads(tmp_path):
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 16384)
    with Service(tmp_path / "log", "--step-deadline", "10s", "--shutdown-grace", "5s", output=f"/proc/self/fd/{writing}") as service:
        before = service.resources()
        for _ in range(60):  # the log of a few fills the pipe
            assert service.post("/v1/completions", {"prompt": "Once", "max_tokens": 1}, timeout=20)[0] == 200
        service.process.send_signal(signal.SIGHUP)
        os.kill(service.children()[0], signal.SIGKILL)
        assert service.post("/v1/completions", {"prompt": "Once", "max_tokens": 3}, timeout=20)[0] == 200
        assert service.status("/livez") == 200
        os.set_blocking(reading, False)
        told = b""
        while True:
            try:
                told += os.read(reading, 1 << 16)
            except BlockingIOError:
                break
        assert service.post("/v1/completions", {"prompt": "Once", "max_tokens": 1}, timeout=20)[0] == 200
        deadline = time.monotonic() + 20
        while b"lines of the log were dropped" not in told and time.monotonic() < deadline:
            try:
                told += os.read(reading, 1 << 16)
            except BlockingIOError:
                time.sleep(0.05)
        assert b"lines of the log were dropped" in told
        for _ in range(60):
            assert service.post("/v1/completions", {"prompt": "Once", "max_tokens": 1}, timeout=20)[0] == 200
        service.wait_as_before(before, 64)
        service.process.send_signal(signal.SIGTERM)
        assert service.process.wait(15) == 0
    os.close(reading)
    os.close(writing)
