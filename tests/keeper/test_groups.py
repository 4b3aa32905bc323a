"""Control groups: v2 if it is there, else v1, else what is said."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bide import Limits
from bide.keeper import groups
from bide.keeper.groups import Base

ALL = Limits(memory_bytes=1000, cpus=0.5, pids=7)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of a cgroup hierarchy: files that exist take what is written to them."""

    def makedirs(path: str, *, exist_ok: bool = False) -> None:
        Path(path).mkdir(exist_ok=exist_ok)
        for name in ("memory.max", "memory.oom.group", "memory.limit_in_bytes", "pids.max", "cpu.max"):
            Path(path, name).touch()
        for name in ("cpu.cfs_period_us", "cpu.cfs_quota_us"):
            Path(path, name).touch()

    monkeypatch.setattr(os, "makedirs", makedirs)
    return tmp_path


def at(place: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "bases", lambda: dict.fromkeys(groups.CONTROLLERS, Base(version, str(place))))


def test_with_v2_all_limits_are_files_of_one_group(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(place, 2, monkeypatch)
    made = groups.make("j1", ALL)
    group = place / "bide-j1"
    assert made.enforced == {"memory": "cgroup v2", "cpu": "cgroup v2", "pids": "cgroup v2"}
    assert (group / "memory.max").read_text() == "1000"
    assert (group / "memory.oom.group").read_text() == "1"
    assert (group / "cpu.max").read_text() == "50000 100000"
    assert (group / "pids.max").read_text() == "7"
    assert made.orders["join"] == [f"{group}/cgroup.procs"]
    assert made.orders["remove"] == [str(group)]
    assert made.orders["cg_oom"] == [f"{group}/memory.events"]
    assert made.orders["cg_peak"] == [f"{group}/memory.peak"]


def test_with_v1_each_limit_is_a_file_of_its_hierarchy(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at(place, 1, monkeypatch)
    made = groups.make("j1", ALL)
    group = place / "bide-j1"
    assert set(made.enforced.values()) == {"cgroup v1"}
    assert (group / "memory.limit_in_bytes").read_text() == "1000"
    assert (group / "cpu.cfs_quota_us").read_text() == "50000"
    assert made.orders["cg_oom"] == [f"{group}/memory.oom_control"]
    assert made.orders["cg_event"] == [f"{group}/cgroup.event_control"]


def test_what_cannot_be_had_says_what_is_done_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "bases", lambda: {"pids": Base(1, str(tmp_path / "not" / "there"))})
    made = groups.make("j1", ALL)
    assert made.enforced == {"memory": "sampled", "cpu": "none", "pids": "sampled"}
    assert made.orders == {}


def test_without_limits_there_is_no_group() -> None:
    made = groups.make("j1", Limits())
    assert (made.enforced, made.orders) == ({}, {})


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Path]]:
    """Real groups of two jobs that nothing has entered, in a group of the test's own."""
    real = groups.bases().get("memory")
    if real is None:
        pytest.skip("no cgroup to make groups in")
    parent = Path(real.path, f"test-{os.getpid()}")
    parent.mkdir()
    monkeypatch.setattr(groups, "bases", lambda: {"memory": Base(real.version, str(parent))})
    found = [groups.make(job, Limits(memory_bytes=1 << 20)) for job in ("j1", "j2")]
    yield {"j1": parent / "bide-j1", "j2": parent / "bide-j2"}
    for group in found:
        groups.discard(group)
    parent.rmdir()


@pytest.mark.root
def test_old_groups_that_no_active_job_has_are_swept_away(made: dict[str, Path]) -> None:
    groups.sweep({"j2"}, older_than=0)
    assert not made["j1"].exists()
    assert made["j2"].is_dir()


@pytest.mark.root
def test_a_fresh_group_may_be_another_homes_and_is_left_alone(made: dict[str, Path]) -> None:
    groups.sweep(set())
    assert made["j1"].is_dir()
    assert made["j2"].is_dir()
