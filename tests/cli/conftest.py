"""Homes for the command line: one that many tests share, and fresh ones."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.shell import Shell
from tests.cli.stub import Stub


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    folder = tmp_path_factory.mktemp("shared")
    shell = Shell(folder / "home", folder)
    yield shell
    shell.close()


@pytest.fixture
def bide(shared: Shell, tmp_path: Path) -> Shell:
    """A shell in a folder of the test's own, on a home that other tests use as well."""
    return Shell(shared.home, tmp_path)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Shell]:
    """A shell on a home of its own, for tests that do things to the daemon."""
    shell = Shell(tmp_path / "home", tmp_path)
    yield shell
    shell.close()


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[Stub]:
    """A stand-in for the daemon of a home at tmp_path."""
    found = Stub(tmp_path)
    yield found
    found.close()
