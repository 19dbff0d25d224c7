"""monitoring/ through the real Prometheus: it scrapes a service under load, every rule is tested, every panel has data."""
import concurrent.futures
import json
import math
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from conftest import ROOT, Service, end, free_port

MONITORING = ROOT / "monitoring"
DASHBOARD = json.loads((MONITORING / "grafana" / "troupe.json").read_text())
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
MODEL_NAME = "SmolLM2-135M-Instruct"


def tool(name):
    """One that is installed, else the one that ./check has unpacked."""
    found = shutil.which(name) or str(ROOT / ".cache" / "prometheus" / "usr" / "bin" / name)
    assert pathlib.Path(found).exists(), f"{name} is missing; ./check unpacks it from Debian's package prometheus"
    return found


class Prometheus:
    """The real one, with monitoring/prometheus.yml pointed at a service and made quicker."""

    def __init__(self, folder, service_port):
        self.url = f"http://127.0.0.1:{free_port()}"
        config = (MONITORING / "prometheus.yml").read_text()
        for given, quick in [("127.0.0.1:8000", f"127.0.0.1:{service_port}"), ("scrape_interval: 5s", "scrape_interval: 250ms"),
                             ("evaluation_interval: 15s", "evaluation_interval: 1s")]:
            assert given in config
            config = config.replace(given, quick)
        (folder / "prometheus.yml").write_text(config)
        shutil.copy(MONITORING / "alerts.yml", folder)
        self.log = folder / "log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [tool("prometheus"), f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                 f"--web.listen-address={self.url.removeprefix('http://')}"], stdout=log, stderr=log, cwd=folder)

    def __enter__(self):
        try:
            self.wait_until(lambda: self.query("up"), "scraping")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        end(self.process)

    def api(self, path, **parameters):
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(parameters)}", timeout=20) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as refused:
            if refused.code >= 500:  # it starts
                raise
            pytest.fail(f"{parameters}: {refused.read().decode()}")

    def query(self, expression):
        """The values now, by labels."""
        try:
            return [(each["metric"], float(each["value"][1])) for each in self.api("query", query=expression)["result"]]
        except OSError:
            return []

    def wait_until(self, condition, what):
        end = time.monotonic() + 60
        while not condition():
            assert self.process.poll() is None and time.monotonic() < end, f"not {what}: {self.log.read_text()[-2000:]}"
            time.sleep(0.1)


def load(service, until):
    """Requests of many kinds, four at a time, until told to stop; how many."""
    def ask(i):
        body = {"prompt": f"Fact {i % 7} about rivers and rivers:", "max_tokens": 8 + i % 9, "ignore_eos": True, "temperature": 0}
        if i % 5 == 0:
            body.update(structured_outputs={"regex": f"[a-z]{{1,{3 + i % 4}}}"}, ignore_eos=False)
        assert service.post("/v1/completions", body)[0] == 200

    count = 0
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        while not until():
            list(pool.map(ask, range(count, count + 8)))
            count += 8
    return count


@pytest.fixture(scope="module")
def scraped(tmp_path_factory):
    """A service, and the Prometheus that has scraped it under load."""
    drafts = {"method": "suffix", "adaptive": False, "suffix_decoding_min_token_prob": 0.01, "num_speculative_tokens": 3}
    with Service(tmp_path_factory.mktemp("monitored") / "log", "--speculative-config", json.dumps(drafts)) as service, \
            Prometheus(tmp_path_factory.mktemp("prometheus"), service.port) as prometheus:
        end = time.monotonic() + 4
        load(service, lambda: time.monotonic() > end)
        yield service, prometheus


def test_the_configuration_and_the_rules_are_well_formed():
    done = subprocess.run([tool("promtool"), "check", "config", MONITORING / "prometheus.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_alert_fires_when_it_should_and_not_when_it_should_not():
    done = subprocess.run([tool("promtool"), "test", "rules", MONITORING / "alerts_test.yml"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    alerts = set(re.findall(r"- alert: (\w+)", (MONITORING / "alerts.yml").read_text()))
    cases = re.findall(r"alertname: (\w+)[,\s]+exp_alerts:( \[\])?", (MONITORING / "alerts_test.yml").read_text())
    assert {name for name, none in cases if none} == {name for name, none in cases if not none} == alerts


def test_every_alert_is_explained_and_has_something_to_ask(scraped):
    """Each name in an alert is a metric of a running service, so that no alert is silent for a misspelling."""
    _, prometheus = scraped
    manual = (ROOT / "docs" / "monitoring.md").read_text()
    rules = [rule for group in prometheus.api("rules")["groups"] for rule in group["rules"]]
    assert len(rules) > 15
    for rule in rules:
        assert rule["type"] == "recording" or f"`{rule['name']}`" in manual, f"docs/monitoring.md does not tell of {rule['name']}"
        for name in metrics_in(rule["query"]):
            assert prometheus.query(f"count({name})"), f"{rule['name']} asks for {name}"


def test_no_alert_is_silent_for_a_broken_rule_and_none_fires_for_a_healthy_service(scraped):
    _, prometheus = scraped
    prometheus.wait_until(lambda: all(rule["health"] == "ok" for group in prometheus.api("rules")["groups"] for rule in group["rules"]),
                          "evaluating every rule")
    assert prometheus.api("alerts")["alerts"] == []


def test_prometheus_takes_every_sample_of_a_service_under_load(scraped):
    service, prometheus = scraped
    assert prometheus.query("up") == [({"__name__": "up", "instance": f"127.0.0.1:{service.port}", "job": "troupe"}, 1.0)]
    service.wait_idle()
    counted = service.metric("vllm:generation_tokens_total")
    prometheus.wait_until(lambda: prometheus.query("vllm:generation_tokens_total")[0][1] == counted, "up to date")
    (_, scraped_samples), = prometheus.query("scrape_samples_scraped")
    assert scraped_samples == len([line for line in service.get("/metrics").splitlines() if line and not line.startswith("#")])


def metrics_in(expression):
    return set(re.findall(r"\b(?:vllm:|troupe_)\w+", expression))


def with_values(expression):
    return expression.replace("$model_name", MODEL_NAME).replace("$__rate_interval", "1m")


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel["title"])
def test_every_panels_queries_return_numbers(scraped, panel):
    _, prometheus = scraped
    for target in panel["targets"]:
        values = prometheus.query(with_values(target["expr"]))
        assert values, target["expr"]
        assert all(math.isfinite(value) for _, value in values), (target["expr"], values)
        assert metrics_in(target["expr"]), target["expr"]
        # A query that falls back to zero returns a number whatever it asks for.
        for name in metrics_in(target["expr"]):
            assert prometheus.query(f"count({name})"), f"{panel['title']} asks for {name}"


def test_panels_of_what_is_off_show_zero(service, tmp_path):
    """No drafts, no grammars, no buckets: zeros, not "no data"."""
    rows = {panel["title"]: panel for panel in DASHBOARD["panels"] if panel["type"] == "row"}
    off = [panel for panel in PANELS if panel["gridPos"]["y"] > rows["Buckets"]["gridPos"]["y"]]
    assert len(off) > 8
    with Prometheus(tmp_path, service.port) as prometheus:
        service.post("/v1/completions", {"prompt": "Once", "max_tokens": 4})
        prometheus.wait_until(lambda: prometheus.query("count_over_time(up[1m]) > 3"), "scraping for a while")
        for panel in off:
            for target in panel["targets"]:
                values = prometheus.query(with_values(target["expr"]))
                assert values and all(math.isfinite(value) for _, value in values), (panel["title"], target["expr"], values)


def test_the_dashboard_is_what_its_maker_makes():
    made = subprocess.run([sys.executable, MONITORING / "make_dashboard.py"], capture_output=True, text=True, check=True)
    assert json.loads(made.stdout) == DASHBOARD, "run monitoring/make_dashboard.py > monitoring/grafana/troupe.json"


def test_what_services_of_vllms_own_have_too_is_asked_of_troupes_alone():
    queries = [target["expr"] for panel in PANELS for target in panel["targets"]]
    queries += [variable.get("definition", "") for variable in DASHBOARD["templating"]["list"]]
    rules = [line for line in (MONITORING / "alerts.yml").read_text().splitlines() if not line.lstrip().startswith("#")]
    selectors = re.findall(r"\bvllm:\w+(?:\{[^}]*\})?", "\n".join(queries + rules))
    assert len(selectors) > 80 and [each for each in selectors if 'job="troupe"' not in each] == []


def test_the_dashboard_has_vllms_panels_and_a_row_for_each_part():
    titles = [panel["title"] for panel in PANELS]
    assert titles[:12] == ["End-to-end request latency", "Token throughput", "Inter-token latency", "Scheduler state", "Time to first token",
                           "Cache utilisation", "Prompt length", "Generation length", "Finish reason", "Queue time",
                           "Prefill and decode time", "Max generation tokens"]
    assert [panel["title"] for panel in DASHBOARD["panels"] if panel["type"] == "row"] == \
        ["Service", "Health", "Actors", "Buckets", "Grammars", "Drafts", "Processes", "GPU"]
    assert sorted(panel["id"] for panel in DASHBOARD["panels"]) == list(range(1, len(DASHBOARD["panels"]) + 1))
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in PANELS]
    assert len(set(places)) == len(places)


def test_the_files_that_docker_compose_mounts_are_there():
    compose = (MONITORING / "docker-compose.yml").read_text()
    mounted = re.findall(r"- \./(\S+):\S+:ro", compose)
    assert len(mounted) == 4 and all((MONITORING / name).exists() for name in mounted)
    assert "127.0.0.1" in compose and "ports:" not in compose
