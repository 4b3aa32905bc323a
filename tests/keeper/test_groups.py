"""Control groups: v2 if it is there, else v1, else what is said."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bide import Limits
from bide.keeper import groups, hierarchy
from bide.keeper.groups import Groups
from bide.keeper.hierarchy import Base, Mount
from bide.keeper.place import Place

ALL = Limits(memory_bytes=1000, cpus=0.5, pids=7)
FILES = (
    *("memory.max", "memory.swap.max", "memory.oom.group", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes"),
    *("pids.max", "cpu.max", "cpu.cfs_period_us", "cpu.cfs_quota_us", "cgroup.procs"),
    *("cpu.stat", "cpuacct.usage"),
)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in the place of a cgroup hierarchy: files that exist take what is written to them."""
    mkdir = os.mkdir

    def with_files(path: str, mode: int = 0o777) -> None:
        mkdir(path, mode)
        for name in FILES:
            Path(path, name).touch()

    monkeypatch.setattr(os, "mkdir", with_files)
    return tmp_path


def found_at(bases: dict[str, Base]) -> Callable[[str], Place]:
    return lambda _home: Place(bases)


def at(place: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> Groups:
    base = Base(version, str(place), "/mine", "", shared=False)
    monkeypatch.setattr(groups, "find", found_at(dict.fromkeys(hierarchy.CONTROLLERS, base)))
    return Groups(str(place))


def test_with_v2_all_limits_are_files_of_one_group(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = at(place, 2, monkeypatch).make("j1", ALL)
    group = place / "j1"
    assert made.enforced == {"memory": "cgroup v2", "cpu": "cgroup v2", "pids": "cgroup v2"}
    assert (group / "memory.max").read_text() == "1000"
    assert (group / "memory.swap.max").read_text() == "0"
    assert (group / "memory.oom.group").read_text() == "1"
    assert (group / "cpu.max").read_text() == "50000 100000"
    assert (group / "pids.max").read_text() == "7"
    assert made.orders["join"] == [f"{group}/cgroup.procs"]
    assert made.orders["remove"] == [str(group)]
    assert made.orders["inside"] == ["memory,cpu,pids :/mine/j1"]
    assert made.orders["cg_oom"] == [f"{group}/memory.events"]
    assert made.orders["cg_peak"] == [f"{group}/memory.peak"]
    assert made.orders["cg_cpu"] == [f"{group}/cpu.stat"]


def test_with_v1_each_limit_is_a_file_of_its_hierarchy(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = at(place, 1, monkeypatch).make("j1", ALL)
    group = place / "j1"
    assert set(made.enforced.values()) == {"cgroup v1"}
    assert (group / "memory.limit_in_bytes").read_text() == "1000"
    assert (group / "memory.memsw.limit_in_bytes").read_text() == "1000"
    assert (group / "cpu.cfs_quota_us").read_text() == "50000"
    assert made.orders["cg_oom"] == [f"{group}/memory.oom_control"]
    assert made.orders["cg_event"] == [f"{group}/cgroup.event_control"]
    assert made.orders["cg_cpu"] == [f"{group}/cpuacct.usage"]


def test_a_kernel_that_does_not_account_swap_limits_memory_all_the_same(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = at(place, 2, monkeypatch)
    os.mkdir(place / "j1")
    (place / "j1" / "memory.swap.max").unlink()
    assert found.make("j1", ALL).enforced["memory"] == "cgroup v2"


def test_what_cannot_be_had_says_what_is_done_instead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = Base(1, str(tmp_path / "not" / "there"), "/", "pids", shared=False)
    monkeypatch.setattr(groups, "find", found_at({"pids": base}))
    made = Groups(str(tmp_path)).make("j1", ALL)
    assert made.enforced == {"memory": "sampled", "cpu": "none", "pids": "sampled"}
    assert made.orders == {}


def test_without_limits_there_is_no_group(tmp_path: Path) -> None:
    made = Groups(str(tmp_path)).make("j1", Limits())
    assert (made.enforced, made.orders) == ({}, {})


def test_a_limit_that_no_group_holds_any_more_is_ordered_as_loose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(groups, "find", found_at({}))
    told = {"memory": "cgroup v2", "cpu": "none", "pids": "cgroup v2"}
    assert Groups(str(tmp_path)).make_again("j1", ALL, told) == {"loose": ["memory,pids"]}


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[tuple[Groups, Groups]]:
    """Two homes on one machine."""
    found: list[Groups] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        found.append(Groups(str(tmp_path / name)))
    if "memory" not in found[0].place().bases:
        pytest.skip("no cgroup to make groups in")
    yield found[0], found[1]
    for one in found:
        one.sweep(set())


LIMITED = Limits(memory_bytes=1 << 20)


def group(home: Groups, job: str) -> Path:
    return Path(home.place().bases["memory"].path, job)


@pytest.mark.root
def test_groups_that_no_active_job_has_are_swept_away(homes: tuple[Groups, Groups]) -> None:
    home = homes[0]
    for job in ("j1", "j2"):
        home.make(job, LIMITED)
    home.sweep({"j2"})
    assert not group(home, "j1").exists()
    assert group(home, "j2").is_dir()


@pytest.mark.root
def test_no_home_touches_the_groups_of_another(homes: tuple[Groups, Groups]) -> None:
    one, two = homes
    one.make("j1", LIMITED)
    two.sweep(set())
    two.remove("j1")
    two.close()
    assert group(one, "j1").is_dir()
    assert group(two, "j1") != group(one, "j1")


@pytest.mark.root
def test_a_home_without_groups_leaves_no_folder(homes: tuple[Groups, Groups]) -> None:
    home = homes[0]
    made = home.make("j1", LIMITED)
    parent = group(home, "j1").parent
    groups.discard(made)
    assert not parent.exists()
    assert home.make("j1", LIMITED).enforced["memory"].startswith("cgroup")
    home.remove("j1")
    home.close()
    assert not parent.exists()


@pytest.mark.root
@pytest.mark.parametrize("limits", [Limits(cpus=1e9), Limits(pids=99_999_999_999)])
def test_a_value_that_the_kernel_refuses_is_named_and_leaves_no_group(
    homes: tuple[Groups, Groups], limits: Limits
) -> None:
    home = homes[0]
    (name,) = ("cpu",) if limits.cpus else ("pids",)
    base = home.place().bases.get(name)
    if base is None:
        pytest.skip(f"no group with a limit of {name} can be made here")
    made = home.make("j1", limits)
    assert made.enforced == {name: "none" if name == "cpu" else "sampled"}
    assert made.orders == {}
    assert made.refused == {name: f"the kernel refuses {limits.cpus or limits.pids:.15g}: Invalid argument"}
    assert not Path(base.path, "j1").exists()


@pytest.mark.root
def test_a_group_goes_with_the_empty_groups_that_its_job_made_in_it(homes: tuple[Groups, Groups]) -> None:
    home = homes[0]
    for job in ("j1", "j2"):
        home.make(job, LIMITED)
        (group(home, job) / "a" / "b").mkdir(parents=True)
    home.remove("j1")
    assert not group(home, "j1").exists()
    home.sweep(set())
    assert not group(home, "j2").exists()


def test_a_group_is_found_below_what_a_container_has_mounted() -> None:
    mount = Mount(2, "/sys/fs/cgroup", "/docker/c1", (), read_only=False)
    inside = mount.at("/docker/c1/app")
    assert inside is not None
    assert inside.path == "/sys/fs/cgroup/app"
    assert mount.at("/docker/c10") is None
    whole = Mount(2, "/sys/fs/cgroup", "/", (), read_only=False).at("/")
    assert whole is not None
    assert whole.path == "/sys/fs/cgroup"
