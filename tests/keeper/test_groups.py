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
def made() -> Iterator[dict[str, list[Path]]]:
    """Groups of two jobs that nothing has entered."""
    found = {job: groups.make(job, ALL) for job in ("jtestgroup1", "jtestgroup2")}
    yield {job: [Path(path) for path in group.orders["remove"]] for job, group in found.items()}
    for group in found.values():
        groups.discard(group)


real = pytest.mark.skipif(not groups.bases(), reason="no cgroup to make groups in")


@real
@pytest.mark.root
def test_old_groups_that_no_active_job_has_are_swept_away(made: dict[str, list[Path]]) -> None:
    others = {path.name.removeprefix("bide-") for base in groups.bases().values() for path in Path(base.path).iterdir()}
    groups.sweep(others - {"jtestgroup1"}, older_than=0)
    assert not any(path.exists() for path in made["jtestgroup1"])
    assert all(path.is_dir() for path in made["jtestgroup2"])


@real
@pytest.mark.root
def test_a_fresh_group_of_another_home_is_left_alone(made: dict[str, list[Path]]) -> None:
    groups.sweep(set())
    assert all(path.is_dir() for paths in made.values() for path in paths)
