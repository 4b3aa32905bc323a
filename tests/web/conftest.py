"""One daemon for all tests of the routes; each has names of its own."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
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
    with closing(Http(home)) as http:
        http.ask("POST", "/v1/daemon/stop", {"kill": True})
    anyio.run(homes.stop_daemon, home)


@pytest.fixture
def http(daemon: Path) -> Iterator[Http]:
    """A connection to it."""
    connection = Http(daemon)
    yield connection
    connection.close()
