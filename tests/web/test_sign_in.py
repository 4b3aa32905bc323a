"""Who gets to the page: by an address that works once, then by a cookie; nothing that another site can make a browser send."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.support.http import Http
from tests.support.patience import PATIENCE
from tests.support.visitor import Visitor, visitor
from tests.web.asking import asking

from bide.web.signins import LASTS, SECRET_LASTS, SignIns


@pytest.fixture
def inside(daemon: Path) -> Visitor:
    """Somebody who is signed in."""
    found = visitor(daemon)
    assert found.sign_in().status == 303
    return found


def test_an_address_works_once_and_is_exchanged_for_a_cookie(daemon: Path) -> None:
    one = visitor(daemon)
    got = one.sign_in()
    assert (got.status, got.page.html) == (303, "")
    name, *attributes = got.headers["Set-Cookie"].split("; ")
    assert name.startswith("bide=")
    assert attributes == [f"Path={one.place}", "HttpOnly", "SameSite=Strict"]
    assert one.secret.rpartition("/")[2] not in one.place + name
    assert "What jobs ask" in one.look().text
    again = one.send("GET", one.secret)
    assert (again.status, "run 'bide web' again" in again.page.text, again.headers["Set-Cookie"]) == (401, True, None)
    assert one.secret.rpartition("/")[2] not in (daemon / "daemon.log").read_text()


@pytest.mark.parametrize("path", ["", "answer", "sign-out", "?known=&wait=1"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_cookie_there_is_nothing(inside: Visitor, method: str, path: str) -> None:
    for cookie in ("", "bide=", "bide=guess", f"other={inside.cookie}"):
        got = inside.send(method, inside.place + path, "", Cookie=cookie)
        assert (got.status, "run 'bide web' at a terminal" in got.page.text) == (401, True)


def test_cookies_may_come_in_several_headers(inside: Visitor) -> None:
    with closing(HTTPConnection(inside.host, timeout=PATIENCE)) as line:
        line.putrequest("GET", inside.place, skip_host=True)
        for name, value in (("Host", inside.host), ("Cookie", "other=1"), ("Cookie", inside.cookie)):
            line.putheader(name, value)
        line.endheaders()
        assert line.getresponse().status == 200


def test_a_cookie_is_good_for_its_own_place_alone(daemon: Path, inside: Visitor) -> None:
    other = visitor(daemon)
    other.sign_in()
    assert other.place != inside.place
    assert inside.send("GET", other.place).status == 401


@pytest.mark.parametrize("path", ["/", "/v1/jobs", "/v1/questions", "/v1/web", "/favicon.ico", "/static/../browser.py"])
def test_nothing_else_is_served_on_that_port(inside: Visitor, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        assert inside.send(method, path).status in (401, 404)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (200, {}),
        (200, {"Origin": "http://{host}", "Sec_Fetch_Site": "same-origin"}),
        (200, {"Sec_Fetch_Site": "none"}),
        (421, {"Host": "evil.example"}),
        (421, {"Host": "evil.example:{port}"}),
        (421, {"Host": "127.0.0.1"}),
        (421, {"Host": "127.0.0.1.evil.example:{port}"}),
        (421, {"Host": ""}),
        (403, {"Origin": "http://evil.example"}),
        (403, {"Origin": "http://127.0.0.1:1"}),
        (403, {"Origin": "https://{host}"}),
        (403, {"Origin": "null"}),
        (403, {"Sec_Fetch_Site": "cross-site"}),
        (403, {"Sec_Fetch_Site": "same-site"}),
    ],
)
def test_what_another_site_or_another_name_leads_to_is_refused(
    inside: Visitor, status: int, headers: dict[str, str]
) -> None:
    port = inside.host.partition(":")[2]
    given = {key: value.format(host=inside.host, port=port) for key, value in headers.items()}
    assert inside.send("GET", inside.place, **given).status == status
    signed_out = inside.send("POST", inside.place + "sign-out", "token=guess", **given)
    assert signed_out.status == (status if status != 200 else 403)


def test_a_refused_request_does_not_use_the_address_up(daemon: Path) -> None:
    one = visitor(daemon)
    assert one.send("GET", one.secret, Sec_Fetch_Site="cross-site").status == 403
    assert one.send("GET", one.secret, Host="evil.example").status == 421
    assert one.sign_in().status == 303


def test_localhost_is_this_machine_as_well(daemon: Path) -> None:
    one = visitor(daemon)
    host = one.host.replace("127.0.0.1", "localhost")
    assert one.send("GET", one.secret, Host=host).status == 303


@pytest.mark.parametrize("token", ["", "guess", "é"])
def test_a_form_that_is_not_of_the_page_does_nothing(inside: Visitor, http: Http, token: str) -> None:
    posed = asking(http)
    page = inside.look()
    page.forms[posed["id"]]["token"] = token
    got = inside.answer(page, posed["id"], "yes")
    assert (got.status, "nothing was done" in got.page.text) == (403, True)
    assert http.ask("GET", f"/v1/questions/{posed['id']}") == (200, posed)


@pytest.mark.parametrize("body", ["&" * 99, "a=1&" * 99, "\xc3\xbf"])
def test_what_is_no_form_is_refused_in_a_sentence(inside: Visitor, body: str) -> None:
    got = inside.send("POST", inside.place + "answer", body)
    assert (got.status, got.page.text) == (400, "bide bide this is no form of this page")


def test_every_answer_forbids_what_a_page_does_not_need(inside: Visitor) -> None:
    for path in (inside.place, "/static/page.js", "/static/page.css", "/static/icon.svg", "/", inside.place + "x"):
        headers = inside.send("GET", path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert (headers["X-Content-Type-Options"], headers["Cache-Control"]) == ("nosniff", "no-store")
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Access-Control-Allow-Origin"] is None


def test_who_signs_out_is_out(inside: Visitor, http: Http) -> None:
    posed = asking(http)
    token = inside.look().forms[posed["id"]]["token"]
    got = inside.send("POST", inside.place + "sign-out", f"token={token}", Origin=f"http://{inside.host}")
    assert (got.status, "You are signed out" in got.page.text) == (200, True)
    assert inside.send("GET", inside.place).status == 401


def test_a_page_that_waits_while_its_reader_signs_out_shows_nothing_more(inside: Visitor, http: Http) -> None:
    posed = asking(http)
    page = inside.look()
    token = page.forms[posed["id"]]["token"]
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(inside.send, "GET", f"{inside.place}?wait=1&known={','.join(page.forms)}")
        inside.send("POST", inside.place + "sign-out", f"token={token}")
        asking(http)
    assert waits.result().status == 401


def test_a_request_that_is_too_large_is_refused_and_harms_nobody(inside: Visitor) -> None:
    for body, headers in (("x" * 200_000, {}), (None, {"X_Much": "x" * 200_000})):
        with suppress(ConnectionResetError, BrokenPipeError):
            assert inside.send("POST", inside.place + "answer", body, **headers).status == 413
    assert "What jobs ask" in inside.look().text


def test_a_daemon_that_no_browser_asks_has_not_loaded_the_page() -> None:
    code = "import sys, bide.daemon.main; print(*(name for name in sys.modules if name.startswith('bide.web')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"bide.web.browser", "bide.web.pages", "bide.web.filling"} & set(done.stdout.split()) == set()


def test_secrets_and_sign_ins_grow_old() -> None:
    now = 0.0
    signins = SignIns(lambda: now)
    late, used = signins.invite(), signins.invite()
    now = SECRET_LASTS - 1
    one = signins.enter(used)
    assert one is not None
    assert signins.enter(used) is None
    now = SECRET_LASTS
    assert signins.enter(late) is None
    assert signins.find(one.id, one.cookie) is one
    now = one.until
    assert now == SECRET_LASTS - 1 + LASTS
    assert signins.find(one.id, one.cookie) is None
