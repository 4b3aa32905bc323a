"""What crash tests share: the programs they are made of, and places to break things in."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.crash.killer import Killer
from tests.crash.place import Place
from tests.crash.producing import Gate, Producers
from tests.crash.size import TIME, TORTURE

HERE = Path(__file__).parent


def pytest_collection_finish(session: pytest.Session) -> None:
    if TORTURE:
        TIME.begin(len(session.items))


def pytest_runtest_setup() -> None:
    if TORTURE and not TIME.next():
        pytest.skip("no time is left (TORTURE_SECONDS)")


COMPILER = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A program of this folder, compiled once."""
    compiler = COMPILER
    if compiler is None:
        pytest.skip("these tests compile small C programs, and there is no C compiler")
    folder = tmp_path_factory.mktemp("programs")

    def build(name: str) -> Path:
        program = folder / name
        if not program.exists():
            words = [
                compiler,
                "-O2",
                "-std=gnu11",
                "-D_GNU_SOURCE",
                "-Wall",
                "-o",
                str(program),
                str(HERE / f"{name}.c"),
            ]
            subprocess.run(words, check=True)
        return program

    return build


@pytest.fixture
def producers(compiled: Callable[[str], Path], tmp_path: Path) -> Producers:
    return Producers(compiled("producer"), tmp_path)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A home with a daemon."""
    found = Place(tmp_path)
    found.start()
    yield found
    found.close()


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A home for all tests of a module, where they name no job alike and leave the database alone."""
    found = Place(tmp_path_factory.mktemp("place"))
    yield found
    found.close()


@pytest.fixture
def killer(compiled: Callable[[str], Path], tmp_path: Path) -> Killer:
    return Killer(compiled("killat"), tmp_path / "killer")


@pytest.fixture
def swept(killer: Killer, tmp_path: Path) -> Iterator[Place]:
    """A place whose daemon, or whose client, can be killed at a system call."""
    found = Place(tmp_path, BIDE_KEEPER=str(killer.program))
    found.start()
    yield found
    found.close()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[Gate]:
    found = Gate(tmp_path / "gate")
    yield found
    found.open()
