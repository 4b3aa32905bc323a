"""The rebuild of the index dies at every system call that changes a file: what it leaves is never believed."""

import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests.crash.killer import NEVER, Killer
from tests.crash.patience import until
from tests.crash.place import Place

from bide.api import Filter
from bide.runtime.home import Home
from bide.runtime.index import open_index

REBUILD = """
import sys
from bide.runtime.home import Home
from bide.runtime.index import open_index

home = Home(sys.argv[1])
open(sys.argv[2], "rb").read(1)
open_index(home).close()
"""
Ruin = Callable[[Path], None]


def delete(database: Path) -> None:
    for suffix in ("", "-wal", "-seal"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)


def overwrite(database: Path) -> None:
    """Some bytes of a page in the middle."""
    with database.open("r+b") as file:
        file.seek(database.stat().st_size // 8192 * 4096 + 100)
        file.write(random.randbytes(200))


def replace(database: Path) -> None:
    """With something else of the same size."""
    database.write_bytes(random.randbytes(database.stat().st_size))


@pytest.mark.parametrize("ruin", [delete, overwrite, replace])
def test_a_rebuild_may_die_at_every_write(place: Place, killer: Killer, ruin: Ruin) -> None:
    jobs = {key: place.submit(["true"], key=key) for key in map(str, range(8))}
    place.ends(list(jobs.values()))
    jobs |= {"running": place.submit(["sleep", "1000"], key="running")}
    place.call("POST", "/v1/groups/held", {"limit": 0})
    jobs |= {"queued": place.submit(["true"], key="queued", turn={"group": "held"})}
    place.kill_daemon()
    gate = place.path / "begin"
    os.mkfifo(gate)
    word = os.open(gate, os.O_RDWR | os.O_NONBLOCK)  # so that nobody waits for one that is dead

    def once(call: int) -> None:
        ruin(place.home / "bide.db")
        killer.plan()
        with suppress(BlockingIOError):
            os.read(word, 1)  # what the one before did not live to read
        rebuilding = place.world.start([sys.executable, "-P", "-B", "-c", REBUILD, str(place.home), str(gate)])
        tracer = place.world.start([str(killer.program), "-w", str(rebuilding), str(call)])
        until(killer.said)
        os.write(word, b".")
        place.world.end_of(rebuilding)
        place.world.end_of(tracer)  # it has said what became of the other
        check(place.home, jobs)

    once(NEVER)
    for point in killer.points(12):
        once(point)
    os.close(word)
    place.start()
    assert {key: place.submit(["false"], key=key) for key in jobs} == jobs
    assert place.job(jobs["running"])["phase"] == "running"
    assert place.call("POST", f"/v1/jobs/{jobs['running']}/kill", {})["job"]["phase"] == "ended"


def check(home: Path, jobs: dict[str, str]) -> None:
    """The next one to open the index knows every job."""
    opened = Home(str(home))
    try:
        store = open_index(opened)
        try:
            assert {str(job.id) for job in store.page(Filter(), 100, None).jobs} == set(jobs.values())
            assert {str(job.id) for job in store.active()} == {jobs["running"], jobs["queued"]}
            assert [store.by_key("user", key) is not None for key in jobs] == [True] * len(jobs)
        finally:
            store.close()
    finally:
        opened.close()
