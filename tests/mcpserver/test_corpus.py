"""The corpus of failing logs is what its manifest says, and nothing of the machine that recorded it is in it."""

from pathlib import Path

import pytest
from tests.corpus.record import REGISTRIES
from tests.support.corpus import CLASSES, CUTS, FOLDER, Log, cut, load

LOGS = load()
FOREIGN = (b"/root/", b" /home/", bytes(Path(__file__).parents[2]) + b"/")
"""Paths that none of the recipes names."""


@pytest.mark.parametrize("log", LOGS, ids=lambda log: log.name)
def test_a_log_has_its_decisive_lines_and_its_size(log: Log) -> None:
    out, err = log.streams()
    assert (len(out), len(err)) == (log.out_size, log.err_size)
    assert log.exit_code != 0
    assert 1 <= len(log.decisive) <= 3
    assert log.shown_by((out + b"\n" + err).decode("utf-8", "replace"))
    assert [foreign for foreign in FOREIGN if foreign in out or foreign in err] == []
    assert REGISTRIES.findall(out + err) == []


def test_each_size_class_has_a_fair_part_of_the_logs_and_causes_of_all_kinds() -> None:
    assert len(LOGS) >= 60
    for name in CLASSES:
        members = [log for log in LOGS if log.size_class == name]
        assert len(members) >= len(LOGS) / 4, name
        assert {log.cause for log in members} == {"start", "middle", "end"}, name


def test_every_log_has_a_recipe_and_every_file_a_log() -> None:
    names = {log.name for log in LOGS}
    assert {path.stem for path in (FOLDER / "recipes").iterdir()} == names
    assert {path.name.rsplit(".", 2)[0] for path in (FOLDER / "logs").iterdir()} == names


def test_the_other_ways_of_cutting_keep_to_their_room() -> None:
    streams = b"error one\n" * 3000, b"quiet\n" * 300
    for way in CUTS:
        assert len(cut(way, streams, 8000)) <= 8002
    assert cut("the tail", (b"one", b"two"), 8000) == "one\ntwo"
