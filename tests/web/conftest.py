"""One daemon for all tests of the routes; each has names of its own."""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.support import homes
from tests.support.http import Http

from bide.client.start import ensure_daemon


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of a running daemon."""
    home = tmp_path_factory.mktemp("daemon") / "home"
    ensure_daemon(str(home))
    yield home
    pid = homes.daemon_pid(home)
    with closing(Http(home)) as http:
        http.ask("POST", "/v1/daemon/stop", {"kill": True})
    os.waitpid(pid, 0)


@pytest.fixture
def http(daemon: Path) -> Iterator[Http]:
    """A connection to it."""
    connection = Http(daemon)
    yield connection
    connection.close()
