"""A runner that is killed from outside, at the worst of times: nobody is to blame for that, and nobody pays."""
import concurrent.futures
import os
import random
import signal
import time

import pytest

from test_request_log import records

LONG = {"prompt": random.Random(1).choices(range(100, 40000), k=5000), "max_tokens": 3, "temperature": 0}


def completion(service, body):
    status, answer = service.post("/v1/completions", body, timeout=240)
    assert status == 200, answer
    return answer["choices"][0]["text"]


def kill_runner(service, but=None):
    """A runner that is not this one. Gives its number."""
    service.wait_until(lambda: service.children() not in ([], [but]), 60, "a service with a runner")
    (runner,) = service.children()
    os.kill(runner, signal.SIGKILL)
    return runner


def test_a_long_prompt_outlives_every_runner_that_is_killed_while_it_is_computed(start_service):
    # No cache, so that the prompt is computed each time.
    with start_service("--enable-prefix-caching=false") as service, concurrent.futures.ThreadPoolExecutor(1) as pool:
        undisturbed = completion(service, LONG)
        before = service.resources()
        answer = pool.submit(completion, service, LONG)
        killed = None
        for _ in range(4):
            chunks = service.metric("troupe_step_seconds_count", phase="execute")
            service.wait_until(lambda: service.metric("troupe_step_seconds_count", phase="execute") > chunks, 60, "in the prompt")
            assert not answer.done(), "the prompt is too short for this machine"
            killed = kill_runner(service, killed)
        assert answer.result() == undisturbed
        assert service.metric("vllm:num_preemptions_total") == 0, "nobody was preempted for want of blocks"
        service.wait_until(lambda: len(records(service)) >= 2, 20, "told in the log")
        line = records(service)[-1]
        assert line["queue_ms"] >= 0 and line["prefill_ms"] > 0 and line["decode_ms"] >= 0 and line["preemptions"] == 0
        service.wait_as_before(before)


def test_a_request_whose_first_step_is_lost_has_all_of_its_times(start_service):
    with start_service() as service, concurrent.futures.ThreadPoolExecutor(1) as pool:
        count = service.metric("vllm:request_queue_time_seconds_count")
        before = service.resources()
        (runner,) = service.children()
        os.kill(runner, signal.SIGSTOP)  # so that the first step is with it
        answer = pool.submit(completion, service, {"prompt": "Once", "max_tokens": 5, "ignore_eos": True, "n": 2, "temperature": 0.5, "seed": 1})
        try:
            service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 20, "at work")  # the other waits for its prompt
        finally:
            os.kill(runner, signal.SIGKILL)
        answer.result()
        service.wait_until(lambda: records(service), 20, "told in the log")
        line = records(service)[-1]
        assert line["queue_ms"] >= 0 and line["prefill_ms"] > 0 and line["decode_ms"] >= 0
        assert service.metric("vllm:request_queue_time_seconds_count") == count + 2
        assert service.metric("vllm:request_prefill_time_seconds_count") == service.metric("vllm:request_decode_time_seconds_count") == count + 2
        service.wait_as_before(before)


def test_a_runner_that_is_killed_as_soon_as_it_appears_is_started_until_it_may_live(start_service):
    with start_service() as service, concurrent.futures.ThreadPoolExecutor(4) as pool:
        body = {"prompt": "Once upon a time", "max_tokens": 200, "ignore_eos": True, "temperature": 0}
        undisturbed = completion(service, body)
        before = service.resources()
        answers = [pool.submit(completion, service, body) for _ in range(4)]
        service.wait_until(lambda: service.metric("vllm:num_requests_running") > 0, 20, "at work")
        killed = None
        for _ in range(8):
            killed = kill_runner(service, killed)
        assert [each.result() for each in answers] == [undisturbed] * 4
        service.wait_as_before(before)


@pytest.mark.parametrize("pause", [0.3, 0.8])
def test_short_requests_outlive_kills_that_follow_each_other_closely(start_service, pause):
    with start_service() as service, concurrent.futures.ThreadPoolExecutor(8) as pool:
        bodies = [{"prompt": f"Tell {i}", "max_tokens": 100, "ignore_eos": True, "temperature": 0} for i in range(8)]
        undisturbed = list(pool.map(lambda body: completion(service, body), bodies))
        before = service.resources()
        answers = [pool.submit(completion, service, body) for body in bodies]
        killed = None
        for _ in range(12):
            if all(each.done() for each in answers):
                break
            time.sleep(pause)
            killed = kill_runner(service, killed)
        assert [each.result() for each in answers] == undisturbed
        service.wait_as_before(before)
