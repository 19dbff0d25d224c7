"""What the people who run a service see of it: its log, its process metrics, what it refuses to start with."""
import json
import time

from test_cli import refused, troupe

from conftest import MODEL


def messages(service):
    """Of the whole log."""
    with open(service.log_path, errors="replace") as log:
        return [json.loads(line)["message"] for line in log]


def test_metrics_tell_of_the_process_by_the_names_that_dashboards_know(service):
    started = service.metric("process_start_time_seconds")
    assert time.time() - 3600 < started <= time.time() + 1
    assert service.metric("process_resident_memory_bytes") > 10e6
    assert service.metric("troupe_runner_resident_memory_bytes") > 50e6  # the weights alone are more
    assert service.metric("troupe_runner_cpu_seconds_total") > 0
    assert abs(service.metric("process_open_fds") - service.open_descriptors()) <= 2  # the asking socket comes and goes
    assert service.metric("process_max_fds") > 100
    before = service.metric("process_cpu_seconds_total")
    service.post("/v1/completions", {"prompt": "Once", "max_tokens": 64, "ignore_eos": True})
    assert service.metric("process_cpu_seconds_total") > before


def test_a_kv_cache_that_the_machine_or_the_context_does_not_allow_is_refused():
    serve = ["serve", "--model", MODEL, "--port", "0", "--tcp-port", "0", "--log-level", "error"]
    refused(troupe(*serve, "--kv-cache-memory", "8TiB"), 78, "kv_cache_memory", "MiB are free")
    refused(troupe(*serve, "--max-model-len", "1"), 78, "max_model_len is 1: a token of the prompt and one of the answer take 2")
    refused(troupe(*serve, "--kv-cache-memory", "16MiB", "--max-model-len", "2048"), 78, "lower max_model_len",
            "raise kv_cache_memory")


def test_the_models_own_context_gives_way_to_a_small_kv_cache(start_service):
    with start_service("--kv-cache-memory", "16MiB") as service:
        held = json.loads(service.get("/v1/models"))["data"][0]["max_model_len"]
        assert 16 << 20 > held * 23040 > 15 << 20
        status, answer = service.post("/v1/completions", {"prompt": [7] * held, "max_tokens": 1})
        assert status == 400 and str(held) in answer["error"]["message"]
    assert len([line for line in messages(service) if "max_model_len" in line and "raise kv_cache_memory" in line]) == 1
