"""Headless Chromium, driven over its debugging pipe (the DevTools protocol); nothing listens."""
import base64
import itertools
import json
import os
import select
import shutil
import subprocess
import time

from conftest import end

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe", "--no-proxy-server",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]


class Browser:
    """Use as a context manager. `folder`: for the profile."""

    def __init__(self, folder):
        program = shutil.which("chromium")
        assert program, "chromium is missing; ./check installs it"
        from_us, self.to_browser = os.pipe()
        self.from_browser, to_us = os.pipe()
        with open(folder / "chromium.log", "wb") as log:
            self.process = subprocess.Popen(["bash", "-c", f'exec "$0" "$@" 3<&{from_us} 4>&{to_us}', program, *FLAGS, f"--user-data-dir={folder}/profile"],
                                            pass_fds=[from_us, to_us], stdout=log, stderr=log, env={**os.environ, "HOME": str(folder)})
        os.close(from_us)
        os.close(to_us)
        self.numbers, self.pending, self.events = itertools.count(1), b"", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        end(self.process)
        os.close(self.to_browser)
        os.close(self.from_browser)

    def read(self, seconds):
        """The next message."""
        end = time.monotonic() + seconds
        while b"\0" not in self.pending:
            ready, _, _ = select.select([self.from_browser], [], [], max(0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self.from_browser, 1 << 16)
            assert data, "the browser has ended"
            self.pending += data
        message, self.pending = self.pending.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, session=None, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to_browser, data):]
        while True:
            answer = self.read(60)
            if answer.get("id") == number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            self.events.append(answer)

    def open(self, url, width, height, scheme, mobile=False):
        return Page(self, url, width, height, scheme, mobile)


class Page:
    """One tab of one size and colour scheme."""

    def __init__(self, browser, url, width, height, scheme, mobile):
        self.browser = browser
        target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=url)
        self.wait_until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, (expression, result)
        return result["result"].get("value")

    def wait_until(self, expression, seconds=30):
        end = time.monotonic() + seconds
        while not self.evaluate(expression):
            assert time.monotonic() < end, f"never: {expression}; the page: {self.evaluate('document.body.innerText')}"
            time.sleep(0.1)

    def seen(self, method):
        """The parameters of the events of this kind until now."""
        self.evaluate("0")
        return [event["params"] for event in self.browser.events if event.get("method") == method and event.get("sessionId") == self.session]

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=True)["data"]))
