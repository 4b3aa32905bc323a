"""The page in a real browser, with its script and without: only by `scripts/test -m chromium`, where Chromium is installed."""

import socket
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.support.chromium import CHROMIUM, DRIVER, Tab, driver, tab
from tests.support.http import Http
from tests.support.visitor import visitor
from tests.web.asking import asking

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(not (DRIVER and CHROMIUM), reason="needs Debian's chromium and chromium-driver"),
]


@pytest.fixture
def port() -> Iterator[int]:
    with driver() as found:
        yield found


@pytest.fixture
def browser(port: int, tmp_path: Path) -> Iterator[Tab]:
    with tab(port, tmp_path / "profile") as found:
        yield found


def article(posed: dict[str, str]) -> str:
    return f'article[data-question="{posed["id"]}"]'


def sign_in(browser: Tab, home: Path) -> None:
    one = visitor(home)
    browser.open(f"http://{one.host}{one.secret}")
    browser.until("document.querySelector('main')")


def became(browser: Tab, posed: dict[str, str]) -> str:
    return str(browser.until(f"document.querySelector('{article(posed)} .became')?.textContent"))


@contextmanager
def other_site(page: str) -> Generator[tuple[int, Callable[[], bytes]]]:
    """A server on another port of this address: the port, and what it was asked, once it was."""
    answer = f"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n{page}".encode()
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as pool:

        def serve() -> bytes:
            with server.accept()[0] as peer:
                asked = peer.recv(65536)
                peer.sendall(answer)
                return asked

        heard = pool.submit(serve)
        yield server.getsockname()[1], heard.result


def test_what_is_asked_shows_up_and_is_answered_and_nothing_that_is_typed_is_lost(
    browser: Tab, daemon: Path, http: Http
) -> None:
    name = asking(http, type="text", text="Which name?")
    sign_in(browser, daemon)
    browser.type(f"{article(name)} [name=text]", "half of a na")
    secret = asking(http, type="text", secret=True, text="Password:")
    deploy = asking(http, text="Deploy?")
    browser.until(f"document.querySelector('{article(deploy)}')")
    browser.type(f"{article(secret)} [name=secret]", "hunter2!")
    browser.click(f"{article(deploy)} [value=yes]")
    assert became(browser, deploy) == "It was answered by user: yes"
    browser.type(f"{article(name)} [name=text]", "me\ue007")
    assert became(browser, name) == "It was answered by user: half of a name"
    browser.click(f"{article(secret)} [value=text]")
    assert became(browser, secret) == "It was answered by user"
    assert browser.run(f"return document.querySelector('{article(secret)} [name=secret]').value") == ""
    assert http.ask("POST", f"/v1/questions/{secret['id']}/wait", {})[1]["value"] == "hunter2!"
    assert [line for line in browser.log() if "username fields" not in line] == []


def test_a_question_that_others_close_stays_in_its_place_with_what_was_typed(
    browser: Tab, daemon: Path, http: Http
) -> None:
    name, below = asking(http, type="text", text="Which name?"), asking(http, text="And below?")
    sign_in(browser, daemon)
    # On the page, not in the window: the driver scrolls to what it clicks, where other tests left more questions.
    top = f"return document.querySelector('{article(below)}').getBoundingClientRect().top + window.scrollY"
    browser.type(f"{article(name)} [name=text]", "Ada")
    before = browser.run(top)
    http.ask("POST", f"/v1/questions/{name['id']}/answer", {"value": "Bob", "by": "claude"})
    assert became(browser, name) == "It was answered by claude: Bob"
    assert browser.run(f"return document.querySelector('{article(name)} [name=text]').value") == "Ada"
    assert browser.run(f"return [...document.querySelectorAll('{article(name)} button')].every((b) => b.disabled)")
    assert browser.run(top) == before
    browser.click(f"{article(below)} [value=no]")
    assert became(browser, below) == "It was answered by user: no"
    assert browser.run(top) == before


def test_an_answer_that_does_not_fit_is_told_in_place(browser: Tab, daemon: Path, http: Http) -> None:
    posed = asking(http, type="text", text="Which name?")
    sign_in(browser, daemon)
    browser.click(f"{article(posed)} [value=text]")
    assert "Nothing was typed" in browser.until(f"document.querySelector('{article(posed)} .error').textContent")
    browser.type(f"{article(posed)} [name=text]", "Ada\ue007")
    assert became(browser, posed).endswith("by user: Ada")


def test_without_a_script_the_forms_do_the_same(port: int, tmp_path: Path, daemon: Path, http: Http) -> None:
    posed = asking(http, type="text", text="Which name?")
    with tab(port, tmp_path / "profile", "--blink-settings=scriptEnabled=false") as browser:
        one = visitor(daemon)
        browser.open(f"http://{one.host}{one.secret}")
        browser.type(f"{article(posed)} [name=text]", "Ada\ue007")
        notes = browser.do("GET", f"/element/{browser.find('#notes li')}/text")
    assert "Which name?" in notes
    assert "was answered by user: Ada" in notes


def test_a_script_in_a_question_does_nothing(browser: Tab, daemon: Path, http: Http) -> None:
    asking(http, text="<img src=x onerror=\"document.title='hit'\"><script>document.title='hit'</script>")
    sign_in(browser, daemon)
    assert browser.run("return document.querySelectorAll('main img, main script').length") == 0
    assert "bide asks" in browser.run("return document.title")
    assert browser.run("return document.cookie") == ""


def test_another_site_can_send_nothing_and_another_port_is_sent_no_cookie(
    browser: Tab, daemon: Path, http: Http
) -> None:
    posed = asking(http)
    sign_in(browser, daemon)
    address = browser.run("return location.href")
    with other_site(f"<form method=post action='{address}answer'><button>go</button></form>") as (port, asked):
        browser.open(f"http://127.0.0.1:{port}/")
        browser.click("button")
        assert "Another page led here" in browser.until(f"location.port != {port} && document.body.textContent")
    assert b"bide=" not in asked()
    assert http.ask("GET", f"/v1/questions/{posed['id']}")[1]["state"] == "open"
