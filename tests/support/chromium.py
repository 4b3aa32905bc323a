"""A real browser: Debian's Chromium, driven through its ChromeDriver by the few commands of WebDriver that tests need."""

import base64
import http.client
import json
import shutil
import subprocess
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from tests.support.patience import PATIENCE

DRIVER, CHROMIUM = shutil.which("chromedriver"), shutil.which("chromium")
_FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run")
_QUIET = ("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage")
_ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
_READY = b"was started successfully on port "


class Tab:
    """One page of a browser."""

    def __init__(self, port: int, session: str) -> None:
        self._port = port
        self._path = f"/session/{session}"

    def do(self, method: str, path: str, body: object = None) -> Any:
        """One command."""
        return command(self._port, method, self._path + path, body)

    def open(self, url: str) -> None:
        self.do("POST", "/url", {"url": url})

    def run(self, script: str, *args: object) -> Any:
        """What a script that returns something returns."""
        return self.do("POST", "/execute/sync", {"script": script, "args": args})

    def until(self, condition: str) -> Any:
        """What an expression is, once it is something."""
        look = f"const found = {condition}; found ? done(found) : setTimeout(look, 10);"
        script = f"const done = arguments[0], look = () => {{ {look} }}; look();"
        return self.do("POST", "/execute/async", {"script": script, "args": []})

    def find(self, selector: str) -> str:
        return str(self.do("POST", "/element", {"using": "css selector", "value": selector})[_ELEMENT])

    def click(self, selector: str) -> None:
        self.do("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector: str, text: str) -> None:
        self.do("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def picture(self, path: Path) -> None:
        """All of the page as a PNG."""
        path.write_bytes(base64.b64decode(self.do("GET", "/screenshot")))

    def log(self) -> list[str]:
        """What it complained about."""
        found: list[dict[str, Any]] = self.do("POST", "/se/log", {"type": "browser"})
        return [str(line["message"]) for line in found]


def command(port: int, method: str, path: str, body: object = None) -> Any:
    """One command of the driver, and what it answers."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=3 * PATIENCE)) as line:
        line.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
        answer = line.getresponse()
        value = json.loads(answer.read())["value"]
        assert answer.status == 200, value
        return value


@contextmanager
def driver() -> Generator[int]:
    """A running ChromeDriver: its port."""
    assert DRIVER
    process = subprocess.Popen([DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout is not None
        line = b""
        while _READY not in line:
            line = process.stdout.readline()
            assert line
        yield int(line.split(_READY)[1].strip().rstrip(b"."))
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)


@contextmanager
def tab(port: int, folder: Path, *flags: str, size: tuple[int, int] = (1000, 900)) -> Generator[Tab]:
    """A browser of its own, with its files in this folder."""
    words = [*_FLAGS, *_QUIET, f"--user-data-dir={folder}", f"--window-size={size[0]},{size[1]}", *flags]
    wanted = {"goog:chromeOptions": {"args": words, "binary": CHROMIUM}, "goog:loggingPrefs": {"browser": "ALL"}}
    made = command(port, "POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
    found = Tab(port, made["sessionId"])
    try:
        found.do("POST", "/timeouts", {"script": int(1000 * PATIENCE)})
        yield found
    finally:
        found.do("DELETE", "")
