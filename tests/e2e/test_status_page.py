"""GET / in a real browser: the figures of /metrics, light and dark, also on a phone, and nothing from elsewhere."""
import concurrent.futures
import signal
import urllib.request

import pytest

from browser import Browser
from test_metrics import Reading

READY = "document.getElementById('state').textContent === 'ready'"
# Each text's colour against the nearest ground behind it, as WCAG 2 computes contrast; the smallest of all.
CONTRAST = """(() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(c => c / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = e => { for (; e; e = e.parentElement) { const c = channels(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3]) return c; }
                        return [255, 255, 255]; };
  const shown = [...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && !["SCRIPT", "STYLE", "NOSCRIPT"].includes(e.tagName)
    && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()));
  return Math.min(...shown.map(e => { const [a, b] = [light(channels(getComputedStyle(e).color)), light(ground(e))];
                                      return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }));
})()"""
TINY = """Math.min(...[...document.querySelectorAll("body *")].filter(e => e.checkVisibility() && [...e.childNodes].some(
  n => n.nodeType === 3 && n.textContent.trim())).map(e => parseFloat(getComputedStyle(e).fontSize)))"""


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


def tile(page, name):
    return page.evaluate(f"document.querySelector('#tile-{name} output').textContent")


def test_it_is_one_page_that_asks_nobody_else(service):
    with urllib.request.urlopen(service.url + "/") as answer:
        text, headers = answer.read().decode(), answer.headers
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in headers["Content-Security-Policy"] and "connect-src 'self'" in headers["Content-Security-Policy"]
    assert len(text) < 32768
    for word in ("http:", "https:", "src=", "@import", "url("):
        assert word not in text, word
    assert service.status("/?x=1") == 200 and service.status("//") == 404


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width, height, mobile", [(1280, 900, False), (360, 740, True)])
def test_it_is_readable(browser, service, tmp_path, scheme, width, height, mobile):
    service.post("/v1/completions", {"prompt": "Once", "max_tokens": 5, "ignore_eos": True})
    page = browser.open(service.url + "/", width, height, scheme, mobile)
    page.wait_until(READY + " && document.querySelectorAll('#actors tbody tr').length > 5")
    page.screenshot(tmp_path / f"{scheme}-{width}.png")
    assert page.evaluate("document.documentElement.scrollWidth") <= width, "nobody scrolls sideways"
    assert page.evaluate(CONTRAST) >= 4.5
    assert page.evaluate(TINY) >= 12
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 247, 249)", "dark": "rgb(17, 20, 24)"}[scheme]
    asked = {event["request"]["url"].split("/")[2] for event in page.seen("Network.requestWillBeSent") if not event["request"]["url"].startswith("data:")}
    assert asked == {service.url.removeprefix("http://")}
    assert page.seen("Runtime.exceptionThrown") == page.seen("Log.entryAdded") == []


def test_its_figures_are_those_of_the_metrics(browser, start_service):
    with start_service("--max-num-seqs", "1", "--served-model-name", 'a <b> "c" \\ d') as service:
        page = browser.open(service.url + "/", 1000, 800, "light")
        page.wait_until(READY)
        body = {"prompt": "A long story:", "max_tokens": 4000, "ignore_eos": True, "model": 'a <b> "c" \\ d'}
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            open_requests = [pool.submit(service.post, "/v1/completions", {**body, "timeout": 10}) for _ in range(3)]
            page.wait_until("document.querySelector('#tile-waiting output').textContent === '2'")
            assert tile(page, "running") == "1"
            page.wait_until("parseFloat(document.querySelector('#tile-generated output').textContent) > 5")
            page.wait_until("/^\\d+(\\.\\d+)? (ms|s)$/.test(document.querySelector('#tile-inter output').textContent)")
            assert all(request.result()[0] in (200, 503) for request in open_requests)
        service.wait_idle()
        now = Reading(service.get("/metrics"))
        total = int(now.of("vllm:generation_tokens_total"))
        page.wait_until(f"document.querySelector('#tile-generated small').textContent === '{total:,} in all'")
        page.wait_until("document.querySelector('#tile-running output').textContent === '0'")
        assert page.evaluate("document.getElementById('model').textContent") == 'a <b> "c" \\ d'
        page.wait_until("document.querySelector('#tile-kv output').textContent === '0.0 %'")
        plot = page.evaluate("document.querySelector('#tile-running path').getAttribute('d')")
        assert plot.count("L") >= 3 and "1.00L" in plot, "it was at its top once"
        ends = page.evaluate("[...document.querySelectorAll('#ends th')].map((e, i) => [e.textContent, document.querySelectorAll('#ends td')[i].textContent])")
        assert dict(ends) == {reason: str(int(now.of("vllm:request_success_total", finished_reason=reason)))
                              for reason in ("stop", "length", "abort", "timeout", "error")}
        actors = page.evaluate("[...document.querySelectorAll('#actors tbody tr')].map(row => row.firstChild.textContent)")
        assert actors == sorted({s.labels["actor"] for s in now.samples if s.name == "troupe_actor_restarts_total"})
    page.wait_until("document.getElementById('state').textContent === 'no answer'")


def test_a_reload_that_was_refused_and_errors_are_seen(browser, start_service, tmp_path):
    config = tmp_path / "troupe.toml"
    config.write_text("max_num_seqs = 4\n")
    with start_service("--config", str(config)) as service:
        page = browser.open(service.url + "/", 600, 800, "light")
        page.wait_until(READY)
        troubles = "[...document.querySelectorAll('#troubles li')].map(each => each.textContent)"
        assert page.evaluate(troubles) == []
        config.write_text("max_num_seqs = many\n")
        service.process.send_signal(signal.SIGHUP)
        assert service.post("/v1/completions", {"prompt": "Once", "max_tokens": -1})[0] == 400
        page.wait_until(f"{troubles}.join() === 'the last reload was refused: the settings before it are in force, and the log says why'")
        page.wait_until("document.querySelector('#tile-errors small').textContent === '1 in all'")
        config.write_text("max_num_seqs = 3\n")
        service.process.send_signal(signal.SIGHUP)
        page.wait_until(f"{troubles}.length === 0")


def test_a_service_that_drains_says_so(browser, start_service):
    with start_service() as service:
        page = browser.open(service.url + "/", 600, 800, "light")
        page.wait_until(READY)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            last = pool.submit(service.post, "/v1/completions", {"prompt": "A long story:", "max_tokens": 4000, "ignore_eos": True, "timeout": 12})
            service.wait_until(lambda: service.metric("vllm:num_requests_running") == 1, 30, "running")
            service.process.send_signal(signal.SIGTERM)
            page.wait_until("document.getElementById('state').textContent === 'not ready: draining: the service is shutting down'")
            assert page.evaluate("document.getElementById('state').dataset.state") == "waiting"
            service.process.send_signal(signal.SIGTERM)
            last.result()
