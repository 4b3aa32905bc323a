"""A browser without a screen: what one sends and is shown, over real HTTP on the loopback address."""

import http.client
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode, urljoin, urlsplit

from tests.support.http import Http
from tests.support.patience import PATIENCE


class Shown(HTMLParser):
    """A page: its elements with their attributes, its text, and the fields of each question's form."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.html = html
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.forms: dict[str, dict[str, str]] = {}
        self.buttons: dict[str, list[str]] = {}
        self.text = ""
        self._question = ""
        self.feed(html)
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {key: value or "" for key, value in attrs}
        self.elements.append((tag, found))
        if tag == "article":
            self._question = found["data-question"]
        if tag == "input" and self._question:
            self.forms.setdefault(self._question, {})[found["name"]] = found["value"]
        if tag == "button" and self._question:
            self.buttons.setdefault(self._question, []).append(found["value"])

    def handle_data(self, data: str) -> None:
        self.text += data


class Got(NamedTuple):
    """What was answered."""

    status: int
    headers: http.client.HTTPMessage
    page: Shown


class Visitor:
    """Whoever has an address of the page."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host, self.secret = parts.netloc, parts.path
        self.place = "/"
        self.cookie = ""

    def send(self, method: str, path: str, body: str | None = None, **headers: str) -> Got:
        """One request as it is, with these headers over the usual ones."""
        usual = {"Host": self.host, "Cookie": self.cookie, "Content-Type": "application/x-www-form-urlencoded"}
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        with closing(http.client.HTTPConnection(self.host, timeout=PATIENCE)) as line:
            line.request(method, path, body, usual | given)
            answer = line.getresponse()
            return Got(answer.status, answer.headers, Shown(answer.read().decode()))

    def sign_in(self) -> Got:
        """Use the address, and keep what it gives."""
        got = self.send("GET", self.secret)
        if got.status == 303:
            self.place = got.headers["Location"]
            self.cookie = got.headers["Set-Cookie"].partition(";")[0]
        return got

    def look(self, query: str = "") -> Shown:
        """The page as it is now."""
        got = self.send("GET", self.place + query)
        assert got.status == 200, got.page.html
        return got.page

    def answer(self, page: Shown, question: str, say: str, typed: str = "") -> Got:
        """Press a button of a question, after typing; where that leads elsewhere, what is there."""
        fields = dict(page.forms[question])
        name = "secret" if "secret" in fields else "text"
        body = urlencode(fields | ({name: typed} if name in fields else {}) | {"say": say})
        got = self.send("POST", self.place + "answer", body, Origin=f"http://{self.host}")
        if got.status == 303:
            return self.send("GET", urljoin(self.place + "answer", got.headers["Location"]))
        return got


def visitor(home: Path) -> Visitor:
    """Somebody to whom the daemon of this home has just given an address."""
    with closing(Http(home)) as line:
        status, body = line.ask("POST", "/v1/web", {})
        assert status == 200, body
        return Visitor(body["url"])
