"""Sinks: a webhook, a command and the desktop are told once, tried again until they accept, and never after."""

import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.support import homes
from tests.support.patience import end_of

from bide.api import Jobs
from bide.model.errors import BadSettings
from bide.model.notice import pause_after
from bide.runtime import webhook
from bide.runtime.local import LocalJobs


class Receiver:
    """A webhook's other side: keeps what it was sent and answers as told."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.raw: list[bytes] = []
        self.statuses: list[int] = []
        self.location = ""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.raw.append(body)
                outer.bodies.append(json.loads(body))
                outer.headers.append({key.lower(): value for key, value in self.headers.items()})
                self.send_response(outer.statuses.pop(0) if outer.statuses else 204)
                self.send_header("Content-Length", "0")
                if outer.location:
                    self.send_header("Location", outer.location)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's own
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}/hook"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield receiver
    receiver.server.shutdown()
    receiver.server.server_close()
    thread.join()


@asynccontextmanager
async def with_sink(home: Path, lines: str) -> AsyncGenerator[Jobs]:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f"[outbox.sinks.one]\ngather = '0.05s'\n{lines}\n")
    async with homes.local(home) as jobs:
        yield jobs


async def until(holds: Callable[[], object]) -> None:
    with anyio.fail_after(20):
        while not holds():  # noqa: ASYNC110 - a server in a thread tells nobody
            await anyio.sleep(0.01)


async def test_a_webhook_gets_one_signed_message_for_what_happened_together(home: Path, receiver: Receiver) -> None:
    async with with_sink(home, f"webhook = '{receiver.url}'\nsecret = 'hush'") as jobs:
        ids = {(await jobs.run("exit 1", background=True)).job.id for _ in range(3)}
        await until(lambda: len({one["job"] for body in receiver.bodies for one in body["notices"]}) == 3)
        assert {one["job"] for body in receiver.bodies for one in body["notices"]} == ids
        assert sum(len(body["notices"]) for body in receiver.bodies) == 3
        at, _, signed = receiver.headers[0]["bide-signature"].removeprefix("t=").partition(",v1=")
        expected = hmac.new(b"hush", f"{at}.".encode() + receiver.raw[0], hashlib.sha256).hexdigest()
        assert signed == expected
        assert receiver.headers[0]["bide-delivery"] == receiver.bodies[0]["delivery"]


async def test_41_a_webhook_that_refuses_is_tried_again_and_42_one_that_accepted_never(
    home: Path, receiver: Receiver
) -> None:
    receiver.statuses = [500]
    async with with_sink(home, f"webhook = '{receiver.url}'") as jobs:
        job = (await jobs.run("exit 1", background=True)).job.id
        await until(lambda: len(receiver.bodies) == 1)
        await until(lambda: len(receiver.bodies) == 2)
        assert [body["notices"][0]["job"] for body in receiver.bodies] == [job, job]
        assert receiver.bodies[0]["delivery"] == receiver.bodies[1]["delivery"]
        await jobs.run("exit 2", background=True)
        await until(lambda: len(receiver.bodies) == 3)
        assert [one["job"] for one in receiver.bodies[2]["notices"]] != [job]
        (outlook,) = [one for one in await jobs.outbox.list() if one.consumer == "sink:one"]
        assert outlook.due == 0


async def test_055_a_drain_waits_until_every_sink_has_accepted(home: Path, receiver: Receiver) -> None:
    receiver.statuses = [500]
    async with with_sink(home, f"webhook = '{receiver.url}'\nall = true") as jobs:
        job = (await jobs.run("exit 1", background=True)).job.id
        await end_of(jobs, job)
        assert isinstance(jobs, LocalJobs)
        assert await jobs.outbox.drain(20) == {"sink:one": 0}
        assert [body["notices"][0]["job"] for body in receiver.bodies] == [job, job]


async def test_055_a_drain_ends_in_time_and_says_what_is_left(home: Path) -> None:
    async with with_sink(home, "webhook = 'http://127.0.0.1:1/nobody'\nall = true") as jobs:
        for _ in range(2):
            await end_of(jobs, (await jobs.run("exit 1", background=True)).job.id)
        began = anyio.current_time()
        assert isinstance(jobs, LocalJobs)
        assert await jobs.outbox.drain(1) == {"sink:one": 2}
        assert 0.9 < anyio.current_time() - began < 3


async def test_48_while_a_sink_fails_the_outlook_says_when_it_is_tried_again(home: Path) -> None:
    async with with_sink(home, "webhook = 'http://127.0.0.1:1/nobody'") as jobs:
        job = (await jobs.run("exit 1", background=True)).job.id
        with anyio.fail_after(20):
            while True:
                (outlook,) = [one for one in await jobs.outbox.list() if one.consumer == "sink:one"]
                if outlook.next_retry_at is not None:
                    break
                await anyio.sleep(0.01)
        assert outlook.jobs == (job,)


async def test_what_a_sink_did_not_accept_is_told_after_a_restart(home: Path, receiver: Receiver) -> None:
    async with with_sink(home, "webhook = 'http://127.0.0.1:1/nobody'") as jobs:
        job = (await jobs.run("exit 1", background=True)).job.id
        await jobs.outbox.pull("user", timeout=None)
    async with with_sink(home, f"webhook = '{receiver.url}'"):
        await until(lambda: receiver.bodies)
        assert receiver.bodies[0]["notices"][0]["job"] == job


async def test_a_sink_is_not_told_what_its_owner_was_told(home: Path, receiver: Receiver) -> None:
    async with with_sink(home, f"webhook = '{receiver.url}'") as jobs:
        await jobs.run("exit 1")
        second = (await jobs.run("exit 2", background=True)).job.id
        await until(lambda: receiver.bodies)
        assert [one["job"] for body in receiver.bodies for one in body["notices"]] == [second]


async def test_a_sink_that_wants_all_is_told_all(home: Path, receiver: Receiver) -> None:
    async with with_sink(home, f"webhook = '{receiver.url}'\nall = true") as jobs:
        job = (await jobs.run("exit 1")).job.id
        await until(lambda: receiver.bodies)
        assert receiver.bodies[0]["notices"][0]["job"] == job


class Slow:
    """The other side of a webhook that takes what it is sent and says one byte at a time, for ever."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"
        self.over = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        taken: list[socket.socket] = []
        self._listener.settimeout(0.02)
        while not self.over.is_set():
            with suppress(TimeoutError):
                taken.append(self._listener.accept()[0])
            for one in taken:
                with suppress(OSError):
                    one.send(b"H")
        for one in (*taken, self._listener):
            one.close()

    def close(self) -> None:
        self.over.set()
        self._thread.join()


@pytest.fixture
def slow() -> Iterator[Slow]:
    found = Slow()
    yield found
    found.close()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 199, 400, 500])
def test_only_a_status_of_2xx_is_an_acceptance_and_no_redirect_is_followed(receiver: Receiver, status: int) -> None:
    receiver.statuses = [status, 204]
    receiver.location = receiver.url
    assert webhook.post(receiver.url, "", "d", b"{}") != ""
    assert len(receiver.bodies) == 1
    assert webhook.post(receiver.url, "", "d", b"{}") == ""


def test_a_webhook_that_hangs_is_given_up(slow: Slow) -> None:
    began = time.monotonic()
    assert webhook.post(slow.url, "", "d", b"{}", seconds=0.2) != ""
    assert time.monotonic() - began < 5


async def test_a_webhook_that_hangs_holds_up_nobody_else(home: Path, receiver: Receiver, slow: Slow) -> None:
    other = f"[outbox.sinks.two]\ngather = '0.05s'\nwebhook = '{receiver.url}'"
    async with with_sink(home, f"webhook = '{slow.url}'\n{other}") as jobs:
        job = (await jobs.run("exit 1", background=True)).job.id
        await until(lambda: receiver.bodies)
        assert receiver.bodies[0]["notices"][0]["job"] == job
        (outlook,) = [one for one in await jobs.outbox.list() if one.consumer == "sink:one"]
        assert outlook.delivering
        slow.over.set()


async def test_a_sink_that_failed_for_an_hour_is_told_once_it_accepts(home: Path, receiver: Receiver) -> None:
    async with with_sink(home, "webhook = 'http://127.0.0.1:1/nobody'") as jobs:
        assert isinstance(jobs, LocalJobs)
        rows, written = jobs.core.store.outbox, jobs.core.hub.settled
        job = (await jobs.run("exit 1", background=True)).job.id
        await until(lambda: rows.next_retry("sink:one"))
        at, tries = datetime.now(UTC), 1
        until_then = at + timedelta(hours=1)
        while at < until_then:
            tries += 1
            at += pause_after(tries, 0.5)
            await written(rows.fail("sink:one", [f"{job}:end"], at))
        assert 110 < tries < 130
        await written(rows.fail("sink:one", [f"{job}:end"], datetime.now(UTC)))
    async with with_sink(home, f"webhook = '{receiver.url}'") as jobs:
        await until(lambda: receiver.bodies)
        await jobs.run("exit 2", background=True)
        await until(lambda: len(receiver.bodies) == 2)
    assert [one["job"] for body in receiver.bodies for one in body["notices"]].count(job) == 1


async def test_a_sink_has_flags_and_an_owner(home: Path, receiver: Receiver) -> None:
    async with with_sink(home, f"webhook = '{receiver.url}'\nowner = 'ann'\non_success = false") as jobs:
        await jobs.run("exit 1", background=True)
        await jobs.run("true", background=True, owner="ann")
        job = (await jobs.run("exit 3", background=True, owner="ann")).job.id
        await until(lambda: receiver.bodies)
        assert [one["job"] for body in receiver.bodies for one in body["notices"]] == [job]


async def test_a_command_gets_the_message_on_its_stdin_and_nobody_is_told_of_it(home: Path, tmp_path: Path) -> None:
    line = f"command = ['sh', '-c', 'cat > {tmp_path}/got.new && mv {tmp_path}/got.new {tmp_path}/got']"
    async with with_sink(home, line) as jobs:
        job = (await jobs.run("exit 5", background=True)).job.id
        await until((tmp_path / "got").exists)
        told = json.loads((tmp_path / "got").read_text())
        assert [(one["job"], one["exit_code"]) for one in told["notices"]] == [(job, 5)]
        assert [one.consumer for one in await jobs.outbox.list() if one.due] == ["user"]


async def test_the_desktop_is_told_by_notify_send(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "notify-send"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/shown.new && mv {tmp_path}/shown.new {tmp_path}/shown\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    async with with_sink(home, "desktop = true") as jobs:
        job = (await jobs.run("exit 5", background=True, name="a")).job.id
        await until((tmp_path / "shown").exists)
        shown = (tmp_path / "shown").read_text().splitlines()
        assert shown[:4] == ["--app-name=bide", "--urgency=critical", "--", f"{job} (a) exited with 5"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[outbox.sinks.one]\nowner = 'a'", "needs one of webhook, command or desktop"),
        ("[outbox.sinks.one]\nwebhook = 'ftp://x'", "must be an http or https URL"),
        ("[outbox.sinks.one]\ndesktop = 'yes'", "must be true or false"),
        ("[outbox.sinks]\none = 1", "must be a section"),
        ("[outbox]\non_sucess = true", "did you mean outbox.on_success"),
        ("[outbox]\non_success = 1", "must be true or false"),
        ("[outbox]\nstalled_after = 5", "must be a time"),
    ],
)
async def test_settings_that_cannot_be_meant_are_refused_by_name(home: Path, text: str, says: str) -> None:
    home.mkdir()
    (home / "config.toml").write_text(text)
    with pytest.raises(BadSettings, match=says):
        async with homes.local(home):
            pass
