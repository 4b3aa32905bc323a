"""News on the answers of the MCP door, with daemons that die on the way: the copier asks again, and nothing is lost."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.crash.killer import Killer
from tests.crash.patience import until
from tests.crash.place import Json, Place
from tests.crash.sweeping import sweep_daemon

_OPENING: Json = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "ann", "version": "1"}}


class Client:
    """A client on the stdio of `bide mcp`, one call after another."""

    def __init__(self, place: Place, folder: Path) -> None:
        ends = [folder / "to-server", folder / "from-server"]
        for end in ends:
            os.mkfifo(end)
        words = [sys.executable, "-P", "-m", "bide", "--home", str(place.home), "mcp", "--owner", "ann"]
        place.world.start(["/bin/sh", "-c", f'exec "$@" < {ends[0]} > {ends[1]}', "sh", *words])
        self.stdin, self.stdout = ends[0].open("wb", buffering=0), ends[1].open("rb")
        self._number = 0
        self._ask("initialize", _OPENING)
        self._say({"method": "notifications/initialized"})

    def news(self) -> list[str]:
        """The ids of what came with the answer to one more call."""
        answer = self._ask("tools/call", {"name": "jobs", "arguments": {"name": "nothing"}})
        return [one["id"] for one in answer["result"]["structuredContent"].get("notices", [])]

    def _say(self, message: Json) -> None:
        self.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def _ask(self, method: str, params: Json) -> Json:
        self._number += 1
        self._say({"id": self._number, "method": method, "params": params})
        while (answer := json.loads(self.stdout.readline())).get("id") != self._number:
            pass
        return answer


@pytest.fixture
def client(swept: Place, tmp_path: Path) -> Iterator[Client]:
    found = Client(swept, tmp_path)
    yield found
    found.stdin.close()
    found.stdout.close()


@pytest.mark.slow
def test_the_daemon_may_die_at_every_system_call_of_an_answer_that_brings_news(
    swept: Place, killer: Killer, client: Client
) -> None:
    expected: list[str] = []
    told: list[str] = []

    def ended() -> None:
        """Something is due. The copier may have started this daemon."""
        swept.daemon = swept.call("GET", "/v1/daemon")["pid"]
        assert client.news() == []
        expected.append(f"{swept.submit('exit 3', owner='ann')}:end")
        until(lambda: swept.call("POST", "/v1/outbox/ann/pull", {})["notices"])

    def do() -> None:
        told.extend(client.news())
        assert expected[-1] in told, "lost"
        told.extend(client.news())

    sweep_daemon(swept, killer, 24, do, before=ended)
    assert client.news() == []
    assert set(told) == set(expected)
