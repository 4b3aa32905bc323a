"""What every test may use."""

import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.support import bounds, homes, processes
from tests.support.freezer import ROOT as FREEZERS
from tests.support.freezer import Freezer
from tests.support.gates import Gate

import bide
from bide.api import Jobs
from bide.client.start import ensure_daemon


def pytest_configure(config: pytest.Config) -> None:
    """Register the time bounds. One keeper made ahead is enough for jobs with and without one; four cost more than most tests."""
    config.pluginmanager.register(bounds)
    if "BIDE_TORTURE" not in os.environ:
        os.environ.setdefault("BIDE_SPARES", "1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if os.geteuid() == 0:
        return
    for item in items:
        if item.get_closest_marker("root"):
            item.add_marker(pytest.mark.skip(reason="needs root"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def torture() -> int:
    """How many jobs a crash test runs at once: few in the suite, many under scripts/torture."""
    return int(os.environ.get("BIDE_TORTURE", "24"))


@pytest.fixture(autouse=True)
def no_leaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing outlives a test: no process of its homes, no child of ours, no descriptor into them."""
    for name in ("BIDE_HOME", "BIDE_JOB", "BIDE_OWNER", "BIDE_PARENT"):
        monkeypatch.delenv(name, raising=False)
    since, before, children = processes.now(), processes.descriptors(tmp_path), processes.children()
    yield
    left = processes.left(tmp_path, since, children)
    for pid in left:
        processes.end(pid)
    assert left == {}
    assert processes.descriptors(tmp_path) == before


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Where a home will be."""
    return tmp_path / "home"


@pytest.fixture
async def local(home: Path) -> AsyncIterator[Jobs]:
    """The verbs in this process."""
    async with homes.local(home) as jobs:
        yield jobs


@pytest.fixture
async def remote(home: Path) -> AsyncIterator[Jobs]:
    """The verbs over the socket of a real daemon."""
    async with homes.remote(home) as jobs:
        yield jobs


@pytest.fixture(scope="module")
def daemons_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of a real daemon that the tests of a module share."""
    home = tmp_path_factory.mktemp("daemon") / "home"
    ensure_daemon(str(home))
    yield home
    processes.end(homes.daemon_pid(home), signal.SIGTERM)
    left = processes.left(home, 0, processes.children())
    for pid in left:
        processes.end(pid)
    assert left == {}


@pytest.fixture
async def shared_remote(daemons_home: Path) -> AsyncIterator[Jobs]:
    """The verbs over the socket of a real daemon that other tests use as well: ids and names of theirs are in its home."""
    async with bide.connect(daemons_home) as found, homes.cleaning(found):
        yield found


@pytest.fixture(params=["local", "remote"])
async def jobs(request: pytest.FixtureRequest, home: Path) -> AsyncIterator[Jobs]:
    """The verbs, both ways: what holds for one holds for the other."""
    door = homes.local if request.param == "local" else homes.served
    async with door(home) as found:
        yield found


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    """What a job waits at until the test opens it."""
    found = Gate(tmp_path / "gate")
    yield found
    found.close()


@pytest.fixture
def freezer() -> Iterator[Freezer]:
    """Makes processes that not even KILL ends; only for tests marked root."""
    if not (FREEZERS / "tasks").exists():
        pytest.skip("no cgroup v1 freezer is mounted here")
    found = Freezer()
    yield found
    found.close()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a filesystem of 2 MiB; only for tests marked root."""
    path = tmp_path / "disk"
    path.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", path], check=True)
    yield path
    for pid in processes.of_folder(path):
        processes.end(pid, signal.SIGKILL)
    subprocess.run(["umount", "--lazy", path], check=True)
