"""Starting a daemon, as its clients do."""

import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from bide.client.start import ensure_daemon
from bide.model.errors import DaemonUnavailable


def test_threads_that_start_a_daemon_at_the_same_time_are_each_told_how_theirs_ended(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")

    def start(_: int) -> str:
        with pytest.raises(DaemonUnavailable) as failed:
            ensure_daemon(str(home))
        return str(failed.value)

    with ThreadPoolExecutor(16) as threads:
        said = set(threads.map(start, range(160)))
    assert len(said) == 1
    assert "it ended at once with status 1" in said.pop()


def test_a_program_with_thousands_of_open_files_can_start_one(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip("no program may have so many files open here")
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with ExitStack() as files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
        files.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            files.enter_context(open("/dev/null", "rb"))
        with pytest.raises(DaemonUnavailable, match="it ended at once with status 1"):
            ensure_daemon(str(home))
