"""What the people who run a service see of it: its log, its process metrics, what it refuses to start with."""
import contextlib
import http.client
import json
import socket
import time

from test_cli import refused, troupe

from conftest import MODEL, free_port


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


def test_probes_have_a_port_of_their_own_from_the_first_second_to_the_last(start_service, monkeypatch):
    monkeypatch.setenv("TROUPE_CHAOS", "http_gateway:throw:20")
    port = free_port()
    service = start_service("--probe-port", str(port))

    def ask(path, method="GET"):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
            connection.request(method, path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def answers():
        with contextlib.suppress(OSError):
            return ask("/livez")[0] == 200
        return False

    service.wait_until(answers, 30, "listening")
    with service:
        assert f"probes on http://127.0.0.1:{port}" in messages(service)
        assert ask("/readyz")[0] == ask("/health")[0] == 200
        assert "vllm:num_requests_running" in ask("/metrics")[1]
        status, told = ask("/v1/completions", "POST")
        assert status == 404 and "/livez, /readyz, /health and /metrics" in told

        def is_replaced():
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError):  # the fault cuts somebody off
                service.post("/v1/completions", {"prompt": "Once", "max_tokens": 8})
                return service.restarts("http_gateway") >= 1
            return False

        service.wait_until(is_replaced, 60, "another gateway")
        service.wait_until(answers, 30, "its probes")
        assert service.status("/readyz") == ask("/readyz")[0] == 200
        service.wait_idle()


def test_a_port_for_probes_that_cannot_be_had_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        serve = ["serve", "--model", MODEL, "--port", "0", "--tcp-port", "-1", "--log-level", "error"]
        result = troupe(*serve, "--probe-port", port)
        assert result.returncode == 1 and "--probe-port" in result.stderr and port in result.stderr, result.stderr
    refused(troupe("serve", "--model", MODEL, "--port", "9000", "--probe-port", "9000"), 78, "HTTP and probes cannot share port 9000")
