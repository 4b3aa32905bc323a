"""The index is damaged in every way, by bytes and files, while a daemon serves and while none does: the folders have all."""

from __future__ import annotations

import os
import random
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.crash import tally
from tests.crash.patience import pause
from tests.crash.place import Place
from tests.crash.size import SEEDS, seeds
from tests.support.gates import Gate

FILES = ("bide.db", "bide.db-wal", "bide.db-seal")
Ruin = Callable[["Home", random.Random], None]


class Home:
    """The index of a home, and a copy of how it was once."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.copy = home.with_name("copy")
        self.copy.mkdir(exist_ok=True)

    def files(self) -> list[Path]:
        return [path for name in FILES if (path := self.home / name).exists()]

    def keep_copy(self) -> None:
        for path in self.files():
            shutil.copy2(path, self.copy / path.name)


def overwrite(path: Path, at: int, data: bytes) -> None:
    with suppress(FileNotFoundError), path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def size(path: Path) -> int:
    return max(path.stat().st_size, 1)


def delete(home: Home, dice: random.Random) -> None:
    for path in dice.sample(files := home.files(), dice.randint(1, len(files))):
        path.unlink()


def truncate(home: Home, dice: random.Random) -> None:
    path = dice.choice(home.files())
    os.truncate(path, dice.randrange(size(path)))


def scatter(home: Home, dice: random.Random) -> None:
    """Bytes anywhere."""
    path = dice.choice(home.files())
    for _ in range(dice.randint(1, 20)):
        overwrite(path, dice.randrange(size(path)), dice.randbytes(dice.randint(1, 64)))


def flip(home: Home, dice: random.Random) -> None:
    """One byte of a value, which SQLite cannot notice."""
    path = home.home / "bide.db"
    data = path.read_bytes()
    word = dice.choice([b'"command"', b"queued", b"exited", b"shell", b"key-", b"user"])
    places = [at for at in range(len(data)) if data.startswith(word, at)] or [dice.randrange(len(data))]
    overwrite(path, dice.choice(places), dice.randbytes(1))


def zero(home: Home, dice: random.Random) -> None:
    """A page."""
    path = dice.choice(home.files())
    overwrite(path, dice.randrange(0, size(path), 4096), bytes(4096))


def garbage(home: Home, dice: random.Random) -> None:
    for path in home.files()[: dice.randint(1, 3)]:
        path.write_bytes(dice.randbytes(dice.choice([0, 10, 8192])))


def first_frame(home: Home, dice: random.Random) -> None:
    """SQLite drops everything after it, and says nothing."""
    overwrite(home.home / "bide.db-wal", 32 + dice.randrange(24 + 4096), b"\xa5" * 8)


def restore(home: Home, dice: random.Random) -> None:
    """Older files, with their times."""
    for path in dice.sample(kept := sorted(home.copy.iterdir()), dice.randint(1, len(kept))):
        shutil.copy2(path, home.home / path.name)


def shared_memory(home: Home, dice: random.Random) -> None:
    (home.home / "bide.db-shm").write_bytes(dice.randbytes(32768))


def append(home: Home, dice: random.Random) -> None:
    with dice.choice(home.files()).open("ab") as file:
        file.write(dice.randbytes(5000))


def swap(home: Home, dice: random.Random) -> None:
    """Two pages."""
    path = home.home / "bide.db"
    data = path.read_bytes()
    one, other = (4096 * dice.randrange(len(data) // 4096) for _ in range(2))
    overwrite(path, one, data[other : other + 4096])
    overwrite(path, other, data[one : one + 4096])


def displace(home: Home, dice: random.Random) -> None:
    """Something that is no file where a file belongs."""
    path = home.home / dice.choice([*FILES, "bide.db.new"])
    path.unlink(missing_ok=True)
    dice.choice([path.mkdir, lambda: os.mkfifo(path), lambda: path.symlink_to("/dev/zero"), lambda: _bind(path)])()


def _bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(str(path))


def forbid(home: Home, dice: random.Random) -> None:
    dice.choice(home.files()).chmod(0)


RUINS: tuple[Ruin, ...] = (
    *(delete, truncate, scatter, scatter, flip, zero, garbage),
    *(first_frame, restore, shared_memory, append, swap),
    *(displace, forbid, displace),
)


class Jobs:
    """The jobs of a home, each of which says in a file that it ran."""

    def __init__(self, place: Place, gate: Gate) -> None:
        self.place = place
        self.ran = place.path / "ran"
        self.ran.mkdir()
        self._gate = gate
        self.keys: dict[str, str] = {}
        """The id of each key."""
        self.started: set[str] = set()
        self.ended: set[str] = set()

    def add(self, count: int) -> None:
        """Some that end, some that run on and some that wait for a place that never comes."""
        for number in range(count):
            key = f"key-{len(self.keys)}"
            kind = ("ends", "ends", "runs", "waits")[number % 4]
            self._ask(key, kind)
            if kind != "waits":
                self.started.add(key)
            if kind == "ends":
                self.ended.add(key)
        self.place.ends([self.keys[key] for key in self.ended])

    def _ask(self, key: str, kind: str) -> str:
        code = f"echo ran >> {self.ran}/{key}; " + (f"{self._gate.wait}" if kind == "runs" else "exit 3")
        options: dict[str, object] = {"turn": {"group": "never"}} if kind == "waits" else {}
        return self.keys.setdefault(key, self.place.submit(["sh", "-c", code], key=key, name=key, **options))

    def check(self, dice: random.Random) -> None:
        """Nothing is lost, nothing runs twice, and nothing is answered with a fault of ours (the client would raise it)."""
        looks = [self._check_list, lambda: self._check_each(dice)]
        for look in dice.sample(looks, 2):
            look()
        self.place.call("GET", "/v1/sessions")
        self.place.call("GET", "/v1/groups")
        for key in self.started:
            assert (self.ran / key).read_text() == "ran\n"
        assert {path.name for path in self.ran.iterdir()} == self.started

    def _check_list(self) -> None:
        assert set(self._listed()) == set(self.keys.values())

    def _check_each(self, dice: random.Random) -> None:
        for key in dice.sample(sorted(self.keys), min(8, len(self.keys))):
            job = self.place.job(self.keys[key])
            phase = "ended" if key in self.ended else "running" if key in self.started else "queued"
            assert (job["name"], job["phase"]) == (key, phase)
            assert self.place.job(key)["id"] == self.keys[key]
            assert self.place.submit(["sh", "-c", f"echo again >> {self.ran}/{key}"], key=key) == self.keys[key]
            if key in self.ended:
                assert job["exit_code"] == 3

    def _listed(self) -> Iterator[str]:
        before: dict[str, Any] = {}
        while True:
            page = self.place.call("GET", "/v1/jobs", limit=7, **before)
            yield from (job["id"] for job in page["jobs"])
            if page["next"] is None:
                return
            before = {"before": page["next"]}


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    found = Gate(tmp_path / "fifo")
    yield found
    found.close()


@pytest.mark.timeout(0 if SEEDS > 20 else 60)
def test_no_damage_to_the_index_loses_a_job_or_runs_one_twice(tmp_path: Path, gate: Gate) -> None:
    place = Place(tmp_path / "place")
    try:
        _ruin_again_and_again(place, gate)
    finally:
        gate.open()
        place.close()


def _ruin_again_and_again(place: Place, gate: Gate) -> None:
    place.home.mkdir(mode=0o700)
    (place.home / "config.toml").write_text("[queue.groups]\nnever = 0\n")
    place.start()
    jobs, home = Jobs(place, gate), Home(place.home)
    jobs.add(12)
    home.keep_copy()
    for number, seed in enumerate(seeds()):
        ruin = RUINS[number % len(RUINS)]
        if number % 10 == 9:
            jobs.add(4)
        try:
            _ruin_once(jobs, home, ruin, random.Random(seed))
        except BaseException as error:
            error.add_note(f"after {number} others, by {ruin.__name__} with seed {seed}")
            raise
        tally.count("ways of damage to the index")


def _ruin_once(jobs: Jobs, home: Home, ruin: Ruin, dice: random.Random) -> None:
    place = jobs.place
    if dice.random() < 0.2:
        home.keep_copy()
    serving = dice.random() < 0.4
    if not serving:
        (place.kill_daemon if dice.random() < 0.7 else lambda: stop(place))()
    with suppress(FileNotFoundError, FileExistsError, ValueError, IndexError):  # no log, or nothing in it
        ruin(home, dice)
    if serving:
        jobs.check(dice)
        if dice.random() < 0.7:
            place.kill_daemon()
    while dice.random() < 0.3:
        _begin_and_die(place, dice)
    place.start()
    jobs.check(dice)


def stop(place: Place) -> None:
    with suppress(Exception):
        place.call("POST", "/v1/daemon/stop", {})
    place.world.end_of(place.daemon)


def _begin_and_die(place: Place, dice: random.Random) -> None:
    """A daemon that dies while it opens the index."""
    if place.answers():
        return
    place.daemon = place.world.start(place.command)
    pause(dice.uniform(0.1, 0.6))
    place.kill_daemon()
