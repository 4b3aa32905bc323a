"""Starting a daemon, as its clients do."""

import sys
from concurrent.futures import ThreadPoolExecutor
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
