"""The database as a file: new, old, newer, damaged, moved, killed under, and on a full disk."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bide.api import Filter
from bide.model.errors import DatabaseNewer, DiskFull, HomeUnusable
from bide.model.job import Job
from bide.model.phase import Ended
from bide.store import seal
from bide.store.faults import DatabaseCorrupt
from bide.store.migrate import MIGRATIONS
from bide.store.store import Store

NOW = datetime(2026, 7, 1, 13, tzinfo=UTC)

WRITE_UNTIL_KILLED = """
import sys
from datetime import UTC, datetime
from bide.model.job import Job, JobId, Spec
from bide.model.phase import End, Ended, Reason
from bide.store.store import Store

store = Store(sys.argv[1])
now = datetime.now(UTC)
spec = Spec(argv=("true",), command="true", cwd="/")
for round in range(100_000):
    jobs = [Job(JobId(f"j{round}.{number}"), spec, now) for number in range(8)]
    writes = [store.insert(job) for job in jobs] + [store.end(job.id, Ended(now, End(Reason.EXITED))) for job in jobs]
    for write in writes:
        write.result()
    print(*(job.id for job in jobs), flush=True)
"""


def schema(path: str) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT name, sql FROM sqlite_schema ORDER BY name").fetchall()


def test_a_store_that_is_not_there_is_made(path: str) -> None:
    store = Store(path)
    assert store.created
    store.close()
    assert Path(path).stat().st_mode & 0o777 == 0o600


def test_an_empty_file_becomes_a_store(path: str) -> None:
    Path(path).touch()
    store = Store(path)
    assert store.created
    store.close()


def test_a_store_is_found_again_as_it_was_left(path: str, make: Callable[..., Job]) -> None:
    store = Store(path)
    job = store.insert(make()).result()
    store.close()
    again = Store(path)
    assert not again.created
    assert again.active() == [job]
    again.close()


def test_a_store_is_durable_at_every_commit(path: str, store: Store) -> None:
    assert store.created
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_migrations_are_numbered_without_a_gap() -> None:
    assert [int(migration.name[:4]) for migration in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))


def test_a_newer_file_is_refused_and_left_alone(path: str) -> None:
    Store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    seal.settle(Path(path), 99, 1)  # as a newer bide leaves it
    before = Path(path).read_bytes()
    with pytest.raises(DatabaseNewer) as refused:
        Store(path)
    assert refused.value.facts == {"path": path, "found": "99", "known": str(len(MIGRATIONS))}
    assert Path(path).read_bytes() == before


def test_a_header_that_names_a_newer_schema_than_its_seal_is_damaged(path: str) -> None:
    Store(path).close()
    with Path(path).open("r+b") as file:
        file.seek(63)
        file.write(b"\x63")
    with pytest.raises(DatabaseCorrupt, match="its header says schema 99"):
        Store(path)


def test_a_file_without_what_its_schema_has_is_damaged(path: str) -> None:
    Store(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP INDEX sessions_open")
    store = Store(path)
    with closing(store), pytest.raises(DatabaseCorrupt, match="no such index: sessions_open"):
        store.probe()


def test_a_migration_is_applied_once_and_keeps_what_was_there(
    path: str, make: Callable[..., Job], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(path)
    job = store.insert(make()).result()
    store.close()
    following = tmp_path / "0002_following.sql"
    following.write_text("CREATE TABLE following (n INTEGER) STRICT;")
    monkeypatch.setattr("bide.store.migrate.MIGRATIONS", [*MIGRATIONS, following])
    for _ in range(2):
        store = Store(path)
        assert not store.created
        assert store.get(job.id) == job
        store.close()
    assert "following" in dict(schema(path))


def test_a_migration_that_fails_leaves_nothing_of_itself(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Store(path).close()
    before = schema(path)
    failing = tmp_path / "0002_failing.sql"
    failing.write_text("CREATE TABLE half (n INTEGER) STRICT; INSERT INTO nowhere VALUES (1);")
    monkeypatch.setattr("bide.store.migrate.MIGRATIONS", [*MIGRATIONS, failing])
    with pytest.raises(Exception, match="nowhere"):
        Store(path)
    assert schema(path) == before


@pytest.mark.parametrize("damage", ["text", "truncated", "header"])
def test_a_file_that_is_no_database_is_reported_and_left_alone(path: str, damage: str) -> None:
    Store(path).close()
    whole = Path(path).read_bytes()
    damaged = {
        "text": b"this is not a database\n" * 500,
        "truncated": whole[: len(whole) // 2],
        "header": bytes(4096) + whole[4096:],
    }[damage]
    Path(path).write_bytes(damaged)
    with pytest.raises(DatabaseCorrupt, match=path):
        Store(path)
    assert Path(path).read_bytes() == damaged


def test_damage_found_while_reading_and_writing_is_reported(path: str, make: Callable[..., Job]) -> None:
    store = Store(path)
    job = store.insert(make()).result()
    store.close()
    with closing(sqlite3.connect(path)) as plain:
        pages = [
            page for (page,) in plain.execute("SELECT rootpage FROM sqlite_schema WHERE tbl_name = 'jobs'") if page
        ]
    whole = bytearray(Path(path).read_bytes())
    for page in pages:
        whole[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    Path(path).write_bytes(whole)
    store = Store(path)
    with pytest.raises(DatabaseCorrupt):
        store.get(job.id)
    with pytest.raises(DatabaseCorrupt):
        store.insert(make()).result()
    store.close()


def test_a_log_without_its_database_is_not_replayed_into_a_new_one(path: str, make: Callable[..., Job]) -> None:
    store = Store(path)
    store.insert(make()).result()
    log = Path(path + "-wal").read_bytes()
    store.close()
    Path(path).unlink()
    Path(path + "-wal").write_bytes(log)
    store = Store(path)
    assert store.created
    assert store.active() == []
    store.close()


def test_a_folder_that_is_not_there_is_unusable(tmp_path: Path) -> None:
    with pytest.raises(HomeUnusable) as refused:
        Store(str(tmp_path / "nowhere" / "bide.db"))
    assert refused.value.facts == {"home": str(tmp_path / "nowhere"), "detail": "No such file or directory"}


def test_a_folder_in_the_place_of_the_file_is_unusable(path: str) -> None:
    Path(path).mkdir()
    with pytest.raises(HomeUnusable, match="unable to open database file"):
        Store(path)


def test_a_path_may_have_any_characters(tmp_path: Path, make: Callable[..., Job]) -> None:
    store = Store(str(tmp_path / "a?b#c %20é.db"))
    job = store.insert(make()).result()
    assert store.get(job.id) == job
    store.close()
    assert {file.name for file in tmp_path.iterdir()} == {"a?b#c %20é.db", "a?b#c %20é.db-seal"}


def test_every_acknowledged_write_survives_kill_9(path: str) -> None:
    command = [sys.executable, "-c", WRITE_UNTIL_KILLED, path]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(25)]
        process.kill()
        lines += process.stdout.readlines()
    acknowledged = [job for line in lines if line.endswith("\n") for job in line.split()]
    assert len(acknowledged) >= 200
    store = Store(path)
    found = [store.get(job) for job in acknowledged]
    assert all(job is not None and isinstance(job.phase, Ended) for job in found)
    events = store.events(0, 1000, None)
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", disk], check=True)


@pytest.mark.root
def test_a_full_disk_fails_the_write_and_loses_nothing(
    small_disk: Path, make: Callable[..., Job], over: Callable[..., Ended]
) -> None:
    store = Store(str(small_disk / "bide.db"))
    kept = [store.insert(make()).result() for _ in range(5)]
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space left"):
        filler.write_bytes(bytes(1 << 20))
    jobs = [make() for _ in range(100)]
    with pytest.raises(DiskFull) as refused:
        kept.extend(store.insert(job).result() for job in jobs)
    failed = jobs[len(kept) - 5]
    assert refused.value.facts == {"home": str(small_disk)}
    assert store.get(failed.id) is None
    assert store.active() == kept
    filler.unlink()
    assert store.insert(failed).result() == failed
    assert store.end(kept[0].id, over()).result()
    assert len(store.page(Filter(), 1000, None).jobs) == len(kept) + 1
    store.close()
