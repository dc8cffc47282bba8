"""Headless Chromium, driven through the pipe of its DevTools protocol: pages are tested without further packages."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-pipe",
)
VIRTUAL_KEYS = {
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
    "Backspace": 8,
    "Enter": 13,
    "Tab": 9,
}


class Browser:
    """One page of a headless Chromium; a context manager.

    Parameters
    ----------
    profile : path
        Directory of the browser's profile, which keeps the pages' storage.
    downloads : path
        Where files that a page saves go.
    width, height : int
        Size of the window.
    """

    def __init__(self, profile, downloads, width=1000, height=800):
        to_browser, self._writing = os.pipe()
        self._reading, from_browser = os.pipe()

        def use_pipes():  # the protocol is spoken on the descriptors 3 and 4
            reading, writing = os.dup(to_browser), os.dup(from_browser)
            os.dup2(reading, 3)
            os.dup2(writing, 4)

        self._process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=use_pipes,
            pass_fds=(3, 4),
        )
        os.close(to_browser)
        os.close(from_browser)
        self._buffer, self._number, self._session = b"", 0, None
        self.requests = []  # addresses that the page asked for
        self.errors = []  # what its scripts threw
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        attached = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))

    def __enter__(self):
        return self

    def __exit__(self, *details):
        try:
            self._session = None
            self.call("Browser.close")
        except (OSError, RuntimeError):
            pass
        finally:
            try:
                self._process.wait(20)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            os.close(self._reading)
            os.close(self._writing)

    def call(self, method, timeout=60, **parameters):
        """A command of the protocol and its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._writing, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            answer = self._receive(end)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self._note(answer)
        raise RuntimeError(f"{method}: no answer in {timeout} seconds")

    def _receive(self, end):
        while b"\0" not in self._buffer:
            if not select.select([self._reading], [], [], max(0, end - time.monotonic()))[0]:
                return {}
            received = os.read(self._reading, 1 << 20)
            if not received:
                raise RuntimeError("the browser has ended")
            self._buffer += received
        message, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        details = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.requests.append(details["request"]["url"])
        elif event.get("method") == "Runtime.exceptionThrown":
            self.errors.append(details["exceptionDetails"])
        elif event.get("method") == "Log.entryAdded" and details["entry"]["level"] == "error":
            self.errors.append(details["entry"]["text"])

    def evaluate(self, expression):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def wait(self, expression, timeout=30):
        """Wait until an expression is true in the page."""
        end = time.monotonic() + timeout
        while not self._evaluate_while_loading(expression):
            assert time.monotonic() < end, f"{expression} is not true after {timeout} seconds"
            time.sleep(0.02)

    def _evaluate_while_loading(self, expression):
        try:
            return self.evaluate(expression)
        except RuntimeError as error:  # the page that was asked has just made way for the next
            if "navigated" not in str(error) and "context" not in str(error):
                raise
            return False

    def open(self, path):
        """Open a file."""
        self.call("Page.navigate", url=path.resolve().as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def leave(self):
        """Leave the page. (A browser that ends may take a while to write what pages have stored.)"""
        self.call("Page.navigate", url="about:blank")
        self.wait("document.readyState === 'complete' && location.protocol === 'about:'")

    def reload(self):
        """Load the page again."""
        self.evaluate("window.before = true")
        self.call("Page.reload")
        self.wait("document.readyState === 'complete' && !window.before")

    def press(self, key, repeat=False):
        """Press a key, or hold it down."""
        details = {"key": key, "code": key, "windowsVirtualKeyCode": VIRTUAL_KEYS[key]}
        if key == "Enter":
            details["text"] = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", autoRepeat=repeat, **details)
        self.call("Input.dispatchKeyEvent", type="keyUp", **details)

    def click(self, selector):
        """Click the middle of an element."""
        place = self.evaluate(
            f"(() => {{ const e = document.querySelector({selector!r}); e.scrollIntoView({{block: 'center'}});"
            "const box = e.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; })()"
        )
        details = {"x": place[0], "y": place[1], "button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type="mousePressed", **details)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", **details)

    def resize(self, width, height):
        """Set the size of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def screenshot(self, path):
        """Save a picture of the page."""
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))
