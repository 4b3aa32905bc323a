"""The job's folder: what is complete, what is torn, and who writes first."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bide import Job, JobId, Limits, OnOutputCap, Reason, Spec
from bide.keeper import ends, folder

AT = datetime(2026, 5, 1, tzinfo=UTC)
ID = JobId("j0123456789")
JOB = Job(ID, Spec(("/bin/sh", "-c", "x"), "x", "/tmp"), AT, name="n", owner="o", key="k")
ORDERS = folder.Orders(env={"A": "caf\u00e9", "ODD": "\udcff"}, boot="boot/ns")


def prepared(path: Path, job: Job = JOB) -> str:
    folder.prepare(str(path), job, ORDERS)
    return str(path)


def keys(path: str) -> dict[str, str]:
    parts = Path(path, "spec").read_bytes().split(b"\0")
    return dict(os.fsdecode(part).split("=", 1) for part in parts if b"=" in part)


def test_a_prepared_folder_reads_as_the_job_that_was_asked_for(tmp_path: Path) -> None:
    path = prepared(tmp_path / "job")
    assert folder.read_spec(path) == (JOB, "boot/ns")
    assert sorted(os.listdir(path)) == ["ctl", "err.p", "out.p", "spec"]
    assert b"ODD=\xff" in Path(path, "spec").read_bytes()


@pytest.mark.parametrize(
    ("spec", "fifos"),
    [
        (Spec(("x",), "x", "/", merge=True), ["ctl", "out.p"]),
        (Spec(("x",), "x", "/", pty=True), ["ctl", "out.p"]),
        (Spec(("x",), "x", "/", stdin=True), ["ctl", "err.p", "in.p", "out.p"]),
    ],
)
def test_a_job_has_the_pipes_it_needs(tmp_path: Path, spec: Spec, fifos: list[str]) -> None:
    path = prepared(tmp_path / "job", Job(ID, spec, AT))
    assert sorted(name for name in os.listdir(path) if name != "spec") == fifos


def test_limits_are_orders_in_milliseconds_and_the_shortest_is_one(tmp_path: Path) -> None:
    limits = Limits(
        timeout=timedelta(microseconds=1),
        idle=timedelta(seconds=1.5),
        output_bytes=9,
        on_output_cap=OnOutputCap.KILL,
        memory_bytes=1000,
        pids=3,
        grace=timedelta(0),
    )
    enforced = (("memory", "sampled"), ("pids", "cgroup v1"))
    found = keys(prepared(tmp_path / "job", Job(ID, Spec(("x",), "x", "/", limits=limits, enforced=enforced), AT)))
    assert (found["timeout_ms"], found["idle_ms"], found["grace_ms"]) == ("1", "1500", "0")
    assert (found["cap"], found["cap_kills"]) == ("9", "1")
    assert (found["memory_sampled"], found["pids_sampled"]) == ("1000", "0")


def test_preparing_leaves_nothing_behind_if_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "job"
    with pytest.raises(UnicodeEncodeError):
        folder.prepare(str(path), JOB, folder.Orders(env={"BAD": "\ud800"}))
    assert not path.exists()


@pytest.mark.parametrize("cut", [0, 1, 10, 100])
def test_a_torn_spec_is_no_spec(tmp_path: Path, cut: int) -> None:
    path = prepared(tmp_path / "job")
    spec = Path(path, "spec")
    spec.write_bytes(spec.read_bytes()[: -cut - 1] if cut else b"")
    assert folder.read_spec(path) is None
    assert folder.read_spec(str(tmp_path / "nowhere")) is None


def test_a_start_without_its_newline_never_was(tmp_path: Path) -> None:
    file = tmp_path / "started"
    assert folder.read_started(str(tmp_path)) is None
    file.write_text("pid=7 ticks=8 mono=9 wall=1777593600000")
    assert folder.read_started(str(tmp_path)) is None
    file.write_text("pid=7 ticks=8 mono=9 wall=1777593600000\n")
    assert folder.read_started(str(tmp_path)) == folder.Started(7, 8, AT)


def record(reason: Reason) -> dict[str, object]:
    return ends.record_of(reason, error="why", now_ms=1777593600000)


def test_the_first_end_stays(tmp_path: Path) -> None:
    folder.write_end(str(tmp_path), record(Reason.LOST))
    folder.write_end(str(tmp_path), record(Reason.SPAWN_FAILED))
    found = folder.read_end(str(tmp_path))
    assert found is not None
    assert found["reason"] == "lost"
    assert os.listdir(tmp_path) == ["end"]


def test_a_complete_record_that_was_not_renamed_counts_once_no_keeper_is_alive(tmp_path: Path) -> None:
    folder.write_end(str(tmp_path), record(Reason.LOST))
    os.rename(tmp_path / "end", tmp_path / "end.tmp")
    assert folder.read_end(str(tmp_path)) is None
    assert folder.read_end(str(tmp_path), unfinished=True) is not None
    assert os.listdir(tmp_path) == ["end"]


def test_reserved_room_is_no_record(tmp_path: Path) -> None:
    (tmp_path / "end.tmp").write_bytes(b" " * 4095 + b"\n")
    assert folder.read_end(str(tmp_path), unfinished=True) is None


def test_a_witness_is_written_whole_and_the_last_one_counts(tmp_path: Path) -> None:
    folder.write_status(str(tmp_path), 256)
    folder.write_status(str(tmp_path), 512)
    assert (tmp_path / "status").read_text() == "512\n"
    assert os.listdir(tmp_path) == ["status"]


def test_nobody_listens_where_there_is_no_keeper(tmp_path: Path) -> None:
    path = prepared(tmp_path / "job")
    assert not folder.command(path, "in")
    assert not folder.command(str(tmp_path / "nowhere"), "in")
