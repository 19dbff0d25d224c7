"""Faults of the device and of its draft model, from the first step of the warm-up to the last opening."""
import concurrent.futures
import json
import os
import re
import shutil
import signal
import socket
import subprocess

import conftest
import pytest
from conftest import MODEL
from test_faults import whole_log
from test_isolation import is_gone, replace_runner, runners

GREEDY = {"max_tokens": 12, "temperature": 0, "ignore_eos": True}


def complete(service, prompt, **fields):
    status, answer = service.post("/v1/completions", {"prompt": prompt, **GREEDY, **fields})
    assert status == 200, answer
    return answer["choices"][0]["text"]


def expect_as_before(service, before):
    assert service.status("/livez") == 200
    service.wait_as_before(before, 64)


def write_last_byte(path, byte):
    with open(path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(byte)


def test_a_model_whose_file_was_touched_alone_is_the_same(start_service, monkeypatch, tmp_path):
    copy = tmp_path / MODEL.name
    shutil.copyfile(MODEL, copy)
    monkeypatch.setattr(conftest, "MODEL", copy)
    with start_service("--skip-warmup") as service:
        before = complete(service, "Once upon a time")
        os.utime(copy)
        replace_runner(service)
        assert complete(service, "Once upon a time") == before


def test_a_device_that_fails_in_every_step_or_does_not_open_any_more_ends_the_service(start_service, monkeypatch, tmp_path):
    """Two services at once: before each of their openings they pause, longer and longer."""
    monkeypatch.setenv("TROUPE_CHAOS", "runner_process:throw:1")
    failing = start_service("--skip-warmup")
    copy = tmp_path / MODEL.name
    shutil.copyfile(MODEL, copy)
    monkeypatch.setattr(conftest, "MODEL", copy)
    with failing, start_service("--skip-warmup") as changed, concurrent.futures.ThreadPoolExecutor(2) as pool:
        write_last_byte(copy, b"x")
        services = (failing, changed)
        asked = [pool.submit(service.post, "/v1/completions", {"prompt": "Once", **GREEDY}) for service in services]
        assert [service.process.wait(90) for service in services] == [70, 70], [service.log() for service in services]
        assert {each.result()[0] for each in asked} <= {500, 503}
        assert "the device does not compute steps of no request's" in whole_log(failing), failing.log()
        assert f"{copy} has been written to since the service opened it" in whole_log(changed), changed.log()
        for service in services:
            socket.create_server(("127.0.0.1", service.port)).close()


def test_a_step_of_the_warm_up_that_does_not_end_is_not_live_and_then_done_by_another_runner(start_service, undisturbed):
    small = ["--max-model-len", "256", "--max-num-seqs", "2", "--max-num-batched-tokens", "64", "--kv-cache-memory", "64MiB"]
    service = start_service(*small, "--warmup", "full", "--step-deadline", "3s")
    service.wait_until(lambda: "[Warmup][Prompt]" in service.log(), 60, "warming up")
    (runner,) = runners(service)
    os.kill(runner, signal.SIGSTOP)
    service.wait_until(lambda: service.status("/livez") == 503, 60, "not live")
    assert not is_gone(runner) and service.status("/readyz") == 503
    with service:
        assert is_gone(runner) and service.status("/livez") == 200
        assert "a step of the warm-up does not end: its process is killed" in whole_log(service), service.log()
        assert complete(service, "Once")
        expect_as_before(service, undisturbed)


# Of a service that drafts with the model itself. The KV memory of each is as large as the other's.
DRAFTED = ["--speculative-config", json.dumps({"method": "draft_model", "model": str(MODEL), "num_speculative_tokens": 4, "adaptive": False}),
           "--kv-cache-memory", "64MiB", "--max-num-seqs", "4", "--max-num-batched-tokens", "64"]
FRANCE = "The capital of France"
PARIS = 7042
# What the draft model, which knows no grammars, has for it is " is Paris", so that it alone reads that.
NOT_PARIS = {"structured_outputs": {"regex": " is( [a-z]+){12}"}}


def test_steps_of_the_draft_model_that_end_the_runner_cost_nobody_a_token_and_after_three_there_are_no_drafts(service, start_service, monkeypatch):
    alone = complete(service, FRANCE, **NOT_PARIS)
    monkeypatch.setenv("TROUPE_CHAOS", f"runner_process:poison:{PARIS}")
    with start_service(*DRAFTED, "--skip-warmup") as drafting:
        complete(drafting, FRANCE[:3])  # the weights are touched
        before = drafting.resources()
        for ends in range(1, 4):
            assert complete(drafting, FRANCE, **NOT_PARIS) == alone
            assert drafting.restarts("model_runner") == ends, drafting.log()
        assert drafting.restarts("drafter") == 2, "the third is left out"
        assert whole_log(drafting).count("a step of the draft model failed: the runner process") == 3
        assert complete(drafting, FRANCE, **NOT_PARIS) == alone
        assert drafting.restarts("model_runner") == 3
        expect_as_before(drafting, before)


def test_a_step_of_the_draft_model_that_throws_ends_its_drafts_alone(service, start_service, monkeypatch):
    alone = complete(service, FRANCE)
    monkeypatch.setenv("TROUPE_CHAOS", "runner_process:throw:12")
    with start_service(*DRAFTED, "--skip-warmup") as drafting:
        complete(drafting, FRANCE[:3], max_tokens=1)
        before = drafting.resources()  # with the draft model, which is gone when it has failed
        # Most of the steps are the draft model's. One of the model's own that throws is computed again.
        for _ in range(20):
            assert complete(drafting, FRANCE) == alone
            if "the draft model failed and drafts no more: chaos" in whole_log(drafting):
                break
        else:
            pytest.fail(drafting.log())
        assert drafting.restarts("drafter") == 0
        expect_as_before(drafting, before)


# In a runner's process, where a file of that name is in the folder: `bells` loses every second wake-up of the service, of
# which each is a byte of `lost`; `memory` has none for the second KV cache.
SHIM = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
static int is_runner;
__attribute__((constructor)) static void look(void) {
  char command[64] = {0};
  int file = open("/proc/self/cmdline", O_RDONLY);
  if (file >= 0 && syscall(SYS_read, file, command, sizeof command - 1) > 0)
    is_runner = !strcmp(command + strlen(command) + 1, "runner-process");
  close(file);
}
static const char* place(const char* name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/%s", getenv("TROUPE_TEST_FAULTS"), name);
  return path;
}
static int is_asked_for(const char* name) { return is_runner && access(place(name), F_OK) == 0; }
ssize_t write(int file, const void* data, size_t bytes) {
  static unsigned rings;
  if (bytes != 8 || !is_asked_for("bells") || ++rings % 2 != 0) return syscall(SYS_write, file, data, bytes);
  int lost = open(place("lost"), O_WRONLY | O_CREAT | O_APPEND, 0600);
  syscall(SYS_write, lost, "x", 1);
  close(lost);
  return 8;
}
void* mmap(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
  static unsigned caches;
  if ((flags & MAP_ANONYMOUS) && bytes >= 62u << 20 && bytes <= 72u << 20 && is_asked_for("memory") && ++caches == 2) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return (void*)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}
void* mmap64(void* at, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap(at, bytes, protection, flags, file, offset);
}
"""


@pytest.fixture(scope="module")
def shimmed(tmp_path_factory):
    """A service that drafts, and the folder of the faults of its runner's process."""
    folder = tmp_path_factory.mktemp("faults")
    (folder / "shim.c").write_text(SHIM)
    subprocess.run(["c++", "-x", "c", "-shared", "-fPIC", "-O1", "-o", folder / "shim.so", folder / "shim.c"], check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LD_PRELOAD", str(folder / "shim.so"))
        patch.setenv("TROUPE_TEST_FAULTS", str(folder))
        starting = conftest.Service(folder / "log", *DRAFTED, "--skip-warmup")
    with starting as running:
        yield running, folder


def test_wake_ups_of_the_service_that_get_lost_cost_time_alone(shimmed):
    drafting, folder = shimmed
    undisturbed = complete(drafting, FRANCE)
    before = drafting.resources()
    (folder / "bells").touch()
    for _ in range(20):
        assert complete(drafting, FRANCE) == undisturbed
        if (folder / "lost").exists() and (folder / "lost").stat().st_size >= 5:
            break
    else:
        pytest.fail("no wake-up was lost")
    (folder / "bells").unlink()
    assert drafting.restarts("model_runner") == 0
    expect_as_before(drafting, before)


def test_a_draft_model_that_cannot_be_opened_again_ends_its_drafts_alone(shimmed):
    drafting, folder = shimmed
    undisturbed = complete(drafting, FRANCE)
    before, restarts = drafting.resources(), drafting.restarts("model_runner")
    (folder / "memory").touch()
    replace_runner(drafting)
    drafts = drafting.metric("vllm:spec_decode_num_drafts_total")
    assert complete(drafting, FRANCE) == undisturbed
    assert "there are no drafts any more" in whole_log(drafting), drafting.log()
    assert drafting.metric("vllm:spec_decode_num_drafts_total") == drafts > 0
    assert drafting.restarts("model_runner") == restarts + 1
    (folder / "memory").unlink()
    expect_as_before(drafting, before)


def test_steps_that_find_no_memory_on_the_device_end_no_process_and_cost_nobody_a_token(
        service, start_service, undisturbed, monkeypatch):
    prompts = [f"{FRANCE}, and {number} more of" for number in ("one", "two", "three", "four", "five", "six")]
    alone = [complete(service, prompt, max_tokens=40) for prompt in prompts]
    monkeypatch.setenv("TROUPE_CHAOS", "runner_process:starve:25")
    with start_service() as starving:
        of_the_start = runners(starving)
        with concurrent.futures.ThreadPoolExecutor(len(prompts)) as pool:
            for _ in range(3):
                asked = [pool.submit(complete, starving, prompt, max_tokens=40) for prompt in prompts]
                assert [each.result() for each in asked] == alone, starving.log()
        assert runners(starving) == of_the_start, "its process was ended"
        assert starving.metric("vllm:num_preemptions_total") > 0
        assert "whoever ran is preempted; steps may have" in whole_log(starving), starving.log()
        assert starving.status("/readyz") == 200
        expect_as_before(starving, undisturbed)


def test_a_draft_model_that_finds_no_memory_on_the_device_drafts_again(service, start_service, monkeypatch):
    alone = complete(service, FRANCE, max_tokens=40)
    monkeypatch.setenv("TROUPE_CHAOS", "runner_process:starve:25")
    with start_service(*DRAFTED, "--skip-warmup") as drafting:
        of_the_start = runners(drafting)
        drafted = 0
        for _ in range(20):
            assert complete(drafting, FRANCE, max_tokens=40) == alone
            if "the draft model finds no memory on the device: it computes anew" in whole_log(drafting):
                drafted = drafted or drafting.metric("vllm:spec_decode_num_draft_tokens_total")
                if drafting.metric("vllm:spec_decode_num_draft_tokens_total") > drafted:
                    break
        else:
            pytest.fail(drafting.log())
        assert "drafts no more" not in whole_log(drafting)
        assert runners(drafting) == of_the_start, "its process was ended"


def test_a_warm_up_that_finds_no_memory_on_the_device_makes_the_kv_cache_smaller(service, start_service, undisturbed, monkeypatch):
    alone = complete(service, FRANCE)
    monkeypatch.setenv("TROUPE_CHAOS", "runner_process:starve:7")
    small = ["--max-model-len", "256", "--max-num-seqs", "2", "--max-num-batched-tokens", "64", "--kv-cache-memory", "64MiB"]
    with start_service(*small, "--warmup", "full") as starving:
        said = whole_log(starving)
        shrunk = [int(blocks) for blocks in re.findall(r"the KV cache has (\d+) blocks in place of \d+", said)]
        assert shrunk and "finds no memory on the device: the KV cache shrinks" in said, said
        assert starving.metric("vllm:cache_config_info", num_gpu_blocks=str(shrunk[-1])) == 1
        assert len(runners(starving)) == said.count("runner process ") == 1, said
        assert complete(starving, FRANCE) == alone
        expect_as_before(starving, undisturbed)
